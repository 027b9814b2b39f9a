// Package mcpheader encodes texts for the headers of the Model Context Protocol over HTTP: Mcp-Name and Mcp-Param-NAME,
// which repeat parts of a message. The rules are those of the specification 2026-07-28, transport "Streamable HTTP",
// section "Value Encoding" (SEP-2243).
package mcpheader

import (
	"encoding/base64"
	"strings"
)

const prefix, suffix = "=?base64?", "?="

// Encode returns a text as the value of a header. Printable ASCII is sent as it is. A text with other characters, with
// spaces at its ends, or that looks encoded is sent in Base64 between "=?base64?" and "?=", so that Decode gives back
// every text.
func Encode(text string) string {
	isPlain := !strings.HasPrefix(text, prefix) && strings.TrimSpace(text) == text
	for _, c := range []byte(text) {
		isPlain = isPlain && ' ' <= c && c <= '~'
	}
	if isPlain {
		return text
	}
	return prefix + base64.StdEncoding.EncodeToString([]byte(text)) + suffix
}

// Decode returns the text of a header. A value that is not between the two marks is the text itself. It reports false
// for one whose Base64 is not valid.
func Decode(value string) (string, bool) {
	content, ok := strings.CutPrefix(value, prefix)
	if !ok {
		return value, true
	}
	if content, ok = strings.CutSuffix(content, suffix); !ok {
		return value, true
	}
	b, err := base64.StdEncoding.Strict().DecodeString(content)
	return string(b), err == nil && !strings.ContainsAny(content, "\r\n") // the decoder skips line breaks
}

// IsName reports whether a header can have a name: a token of RFC 9110, section 5.6.2.
func IsName(text string) bool {
	for _, c := range []byte(text) {
		isAlphanumeric := '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !isAlphanumeric && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return text != ""
}
