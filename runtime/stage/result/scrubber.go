package result

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/jsonscan"
	"hatchel/hcl/value"
)

// Scrubber removes known secrets from what leaves the process. A nil Scrubber knows none. It is
// safe for concurrent use.
type Scrubber struct {
	secrets []string // in all encodings, longest first, so that a secret that contains another is replaced whole
	forms   [][]byte // the secrets as they are written in a text or in JSON

	// prefixEnds are the ends of all proper prefixes of forms. They rule out most texts at once.
	prefixEnds map[secretEnd]bool
}

// secretEnd is the end of a prefix of a secret.
type secretEnd [adapters.MinSecretLength]byte

// NewScrubber returns a Scrubber for these secrets. It ignores secrets that are so short that they
// occur by chance.
func NewScrubber(secrets []string) *Scrubber {
	s := new(Scrubber)
	for _, secret := range secrets {
		if len(secret) < adapters.MinSecretLength {
			continue
		}
		s.secrets = append(s.secrets, encodings(secret)...)
	}
	if len(s.secrets) == 0 {
		return nil
	}
	slices.SortFunc(s.secrets, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	s.secrets = slices.Compact(s.secrets)
	for _, secret := range s.secrets {
		for _, form := range written(secret) {
			if !slices.ContainsFunc(s.forms, func(f []byte) bool { return string(f) == form }) {
				s.forms = append(s.forms, []byte(form))
			}
		}
	}
	s.prefixEnds = map[secretEnd]bool{}
	for _, f := range s.forms {
		for n := adapters.MinSecretLength; n < len(f); n++ {
			s.prefixEnds[secretEnd(f[n-adapters.MinSecretLength:])] = true
		}
	}
	return s
}

// SecretForms returns the forms in which a secret may be sent: as it is, encoded for URLs, in hexadecimal and in
// base64, and each of them as it is written in JSON.
func SecretForms(secret string) (forms []string) {
	for _, encoded := range encodings(secret) {
		forms = append(forms, written(encoded)...)
	}
	return forms
}

func encodings(secret string) []string {
	inHex := hex.EncodeToString([]byte(secret))
	return append(base64Forms(secret), secret, url.QueryEscape(secret), url.PathEscape(secret), inHex)
}

// written returns a text as it is written in a text, and in JSON.
func written(text string) []string {
	inJSON := string(jsonscan.AppendStringContent(nil, text))
	return []string{text, inJSON, strings.ReplaceAll(inJSON, "/", `\/`)}
}

// minBase64 is how many characters of base64 do not occur by chance.
const minBase64 = 8

// base64Forms returns a secret as it occurs within base64, as in the header of basic
// authentication: one form for each alignment, without the characters at both ends that encode
// adjacent bytes, too.
func base64Forms(secret string) (codes []string) {
	for before := range 3 {
		padded := append(make([]byte, before), secret...)
		from, to := (8*before+5)/6, len(padded)*8/6
		if to-from < minBase64 {
			continue
		}
		for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			code := alphabet.EncodeToString(padded)[from:to]
			codes = append(codes, code, url.QueryEscape(code))
		}
	}
	return codes
}

// containsSecret reports whether any secret occurs.
func (s *Scrubber) containsSecret(b []byte) bool {
	return slices.ContainsFunc(s.forms, func(f []byte) bool { return bytes.Contains(b, f) })
}

// Bytes returns a text without secrets, and without the beginnings of secrets that were truncated.
// It returns the text itself when there is nothing to remove.
func (s *Scrubber) Bytes(b []byte) []byte {
	if s == nil {
		return b
	}
	if s.containsSecret(b) {
		for _, f := range s.forms {
			b = bytes.ReplaceAll(b, f, []byte(hcl.Hidden))
		}
	}
	return s.hideTruncated(b)
}

// ellipsis marks where a message has truncated what it quotes. A closing quote may precede it.
const ellipsis = "…"

// hideTruncated hides text before an ellipsis that may be the beginning of a secret, because code
// that truncates quotations does not know the secrets.
func (s *Scrubber) hideTruncated(b []byte) []byte {
	var out []byte
	done := 0 // bytes of b that are in out
	for at := 0; ; at += len(ellipsis) {
		i := bytes.Index(b[at:], []byte(ellipsis))
		if i < 0 {
			break
		}
		at += i
		if from, to := s.truncatedSecret(b[done:at]); from < to {
			out = append(append(out, b[done:done+from]...), hcl.Hidden...)
			done += to
		}
	}
	if done == 0 {
		return b
	}
	return append(out, b[done:]...)
}

// truncatedSecret returns where the longest beginning of a secret is at the end of a text, ignoring
// a quote after it; nothing for none.
func (s *Scrubber) truncatedSecret(b []byte) (from, to int) {
	for _, quote := range []string{"", `"`, `\"`, " "} {
		quoted, ok := bytes.CutSuffix(b, []byte(quote))
		start := len(quoted) - adapters.MinSecretLength
		if !ok || start < 0 || !s.prefixEnds[secretEnd(quoted[start:])] {
			continue
		}
		for _, f := range s.forms {
			for n := min(len(f)-1, len(quoted)); n > to-from && n >= adapters.MinSecretLength; n-- {
				if bytes.HasSuffix(quoted, f[:n]) {
					from, to = len(quoted)-n, len(quoted)
				}
			}
		}
	}
	return from, to
}

// Text is Bytes for a string.
func (s *Scrubber) Text(text string) string {
	if s == nil {
		return text
	}
	return string(s.Bytes([]byte(text)))
}

// JSON returns a JSON text without secrets. All other tokens stay as they are.
func (s *Scrubber) JSON(b []byte) []byte {
	if s == nil || !s.containsSecret(b) && !bytes.Contains(b, []byte(ellipsis)) {
		return b
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); {
		n := jsonTokenLen(b[i:])
		out = s.appendToken(out, b[i:i+n])
		i += n
	}
	return out
}

// jsonTokenLen returns the length of the first token of b: a string, a number or word, or one byte.
func jsonTokenLen(b []byte) int {
	if b[0] == '"' {
		for i := 1; i < len(b); i++ {
			switch b[i] {
			case '\\':
				i++
			case '"':
				return i + 1
			}
		}
		return len(b)
	}
	if n := bytes.IndexAny(b, "{}[],: \t\r\n\""); n > 0 {
		return n
	} else if n < 0 {
		return len(b)
	}
	return 1
}

func (s *Scrubber) appendToken(dst, t []byte) []byte {
	if t[0] != '"' {
		if slices.Contains(s.secrets, string(t)) {
			return append(dst, `"`+hcl.Hidden+`"`...)
		}
		return append(dst, t...)
	}
	v, err := value.Decode(t)
	text, ok := v.(string)
	if err != nil || !ok {
		return append(dst, t...)
	}
	clean := text
	for _, secret := range s.secrets {
		clean = strings.ReplaceAll(clean, secret, hcl.Hidden)
	}
	if strings.Contains(clean, ellipsis) {
		clean = string(s.hideTruncated([]byte(clean)))
	}
	if clean == text {
		return append(dst, t...)
	}
	return value.AppendString(dst, clean)
}
