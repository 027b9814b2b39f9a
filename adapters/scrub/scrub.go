// Package scrub removes secrets from texts, in every spelling in which programs write them.
package scrub

import (
	"bytes"
	"encoding/hex"
	"math"
	"net/url"
	"strings"
	"sync"
	"unicode/utf8"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/jsonscan"
	"hatchel/internal/cut"
)

// Scrubber removes known secrets from what leaves the process, in every spelling of needlesOf, whatever characters are
// escaped. A nil Scrubber knows none. It is safe for concurrent use.
type Scrubber struct {
	secrets  map[string]bool
	shortest int // in characters; no spelling has fewer
	matchers []*matcher

	// truncated returns the beginnings of secrets, for quotations that end with an ellipsis. They are many, and few
	// texts have one.
	truncated func() truncatedForms
}

// New returns a Scrubber for these secrets. It ignores secrets that are so short that they
// occur by chance.
func New(secrets []string) *Scrubber {
	s := &Scrubber{secrets: map[string]bool{}}
	for _, secret := range secrets {
		if len(secret) >= adapters.MinSecretLength {
			s.secrets[secret] = true
		}
	}
	if len(s.secrets) == 0 {
		return nil
	}
	s.shortest = math.MaxInt
	for secret := range s.secrets {
		s.shortest = min(s.shortest, utf8.RuneCountInString(secret))
	}
	var needles []needle
	for secret := range s.secrets {
		needles = append(needles, needlesOf(secret)...)
	}
	s.matchers = newMatchers(needles)
	s.truncated = sync.OnceValue(func() truncatedForms { return newTruncatedForms(s.secrets) })
	return s
}

// Forms returns the forms in which a secret may be sent: as it is, encoded for URLs, in hexadecimal and in
// base64, and each of them as it is written in JSON.
func Forms(secret string) (forms []string) {
	for _, encoded := range encodings(secret) {
		forms = append(forms, written(encoded)...)
	}
	return forms
}

func encodings(secret string) []string {
	all := []string{secret, url.QueryEscape(secret), url.PathEscape(secret), hex.EncodeToString([]byte(secret))}
	for _, code := range base64Codes(secret) {
		all = append(all, code, url.QueryEscape(code))
	}
	return all
}

// written returns a text as it is written in a text, and in JSON.
func written(text string) []string {
	inJSON := string(jsonscan.AppendStringContent(nil, text))
	return []string{text, inJSON, strings.ReplaceAll(inJSON, "/", `\/`)}
}

// Bytes returns a text without secrets, and without the beginnings of secrets that were truncated.
// It returns the text itself when there is nothing to remove, and changes nothing else.
func (s *Scrubber) Bytes(b []byte) []byte {
	if s == nil {
		return b
	}
	return remove(b, s.hidden(b))
}

// hidden returns what is removed from a text: the parts are sorted and do not overlap.
func (s *Scrubber) hidden(text []byte) []part {
	parts := s.find(text)
	if !bytes.Contains(text, []byte(ellipsis)) {
		return parts
	}
	t := s.truncated()
	if truncated := t.find(text); truncated != nil {
		return mergeParts(append(parts, truncated...))
	}
	return parts
}

// remove replaces parts of a text.
func remove(b []byte, parts []part) []byte {
	if parts == nil {
		return b
	}
	out, done := make([]byte, 0, len(b)), 0
	for _, p := range parts {
		out = append(append(out, b[done:p.from]...), hcl.Hidden...)
		done = p.to
	}
	return append(out, b[done:]...)
}

// Text is Bytes for a string.
func (s *Scrubber) Text(text string) string {
	if s == nil || len(text) < s.shortest && !strings.Contains(text, ellipsis) {
		return text
	}
	return string(s.Bytes([]byte(text)))
}

// JSON returns a JSON text without secrets. A string loses the part that is a secret, and a number that is one becomes
// a string; everything else stays byte by byte.
func (s *Scrubber) JSON(b []byte) []byte {
	if s == nil || !bytes.Contains(b, []byte(ellipsis)) && !s.finds(b, true) {
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
		if s.secrets[string(t)] {
			return append(dst, `"`+hcl.Hidden+`"`...)
		}
		return append(dst, t...)
	}
	if len(t) < 2 || t[len(t)-1] != '"' {
		return append(dst, t...) // it is not JSON
	}
	content := t[1 : len(t)-1]
	read := unescape(content, ofJSON, nil, true)
	if read.text == nil {
		read.text = content
	}
	parts := s.hidden(read.text)
	for i, p := range parts { // a string of JSON consists of whole characters
		parts[i] = read.original(part{cut.Before(read.text, p.from), cut.After(read.text, p.to)})
	}
	return append(append(append(dst, '"'), remove(content, mergeParts(parts))...), '"')
}
