package scrub

import (
	"bytes"

	"hatchel/adapters"
)

// truncatedForms finds the beginnings of secrets that code which quotes texts has truncated without knowing them.
type truncatedForms struct {
	forms [][]byte // the secrets as they are written in a text or in JSON

	// prefixEnds are the ends of all proper prefixes of forms. They rule out most texts at once.
	prefixEnds map[secretEnd]bool
}

// secretEnd is the end of a prefix of a secret.
type secretEnd [adapters.MinSecretLength]byte

func newTruncatedForms(secrets map[string]bool) truncatedForms {
	t := truncatedForms{prefixEnds: map[secretEnd]bool{}}
	known := map[string]bool{}
	for secret := range secrets {
		for _, form := range Forms(secret) {
			if !known[form] {
				known[form] = true
				t.forms = append(t.forms, []byte(form))
			}
		}
	}
	for _, f := range t.forms {
		for n := adapters.MinSecretLength; n < len(f); n++ {
			t.prefixEnds[secretEnd(f[n-adapters.MinSecretLength:])] = true
		}
	}
	return t
}

// ellipsis marks where a message has truncated what it quotes. A closing quote may precede it.
const ellipsis = "…"

// find returns the parts of a text before an ellipsis that may be the beginning of a secret.
func (t *truncatedForms) find(b []byte) (parts []part) {
	done := 0
	for at := 0; ; at += len(ellipsis) {
		i := bytes.Index(b[at:], []byte(ellipsis))
		if i < 0 {
			return parts
		}
		at += i
		if from, to := t.beginning(b[done:at]); from < to {
			parts = append(parts, part{done + from, done + to})
			done += to
		}
	}
}

// beginning returns where the longest beginning of a secret is at the end of a text, ignoring
// a quote after it; nothing for none.
func (t *truncatedForms) beginning(b []byte) (from, to int) {
	for _, quote := range []string{"", `"`, `\"`, " "} {
		quoted, ok := bytes.CutSuffix(b, []byte(quote))
		start := len(quoted) - adapters.MinSecretLength
		if !ok || start < 0 || !t.prefixEnds[secretEnd(quoted[start:])] {
			continue
		}
		for _, f := range t.forms {
			for n := min(len(f)-1, len(quoted)); n > to-from && n >= adapters.MinSecretLength; n-- {
				if bytes.HasSuffix(quoted, f[:n]) {
					from, to = len(quoted)-n, len(quoted)
				}
			}
		}
	}
	return from, to
}
