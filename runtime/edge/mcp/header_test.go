package mcp

import (
	"encoding/base64"
	"strings"
	"testing"

	"hatchel/hcl/jsonscan"
)

// FuzzDecodeHeaderInvertsTheEncoding decodes values with and without the encoding of the protocol.
func FuzzDecodeHeaderInvertsTheEncoding(f *testing.F) {
	for _, s := range []string{"", "plain", "größe", "=?base64?SGVsbG8=?=", "=?base64?SGVsbG8?=", "=?base64?", "=?base64?=", "=?BASE64?SGVsbG8=?=", "=?base64?\n?="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		encoded := "=?base64?" + base64.StdEncoding.EncodeToString([]byte(value)) + "?="
		if got, ok := decodeHeader(encoded); !ok || got != value {
			t.Fatalf("%q came back as %q, %t", encoded, got, ok)
		}
		got, ok := decodeHeader(value)
		marked := strings.HasPrefix(value, "=?base64?") && strings.HasSuffix(value, "?=") && len(value) >= len("=?base64??=")
		switch {
		case !marked && (!ok || got != value):
			t.Fatalf("%q, which is not encoded, was read as %q, %t", value, got, ok)
		case marked && ok && "=?base64?"+base64.StdEncoding.EncodeToString([]byte(got))+"?=" != value:
			t.Fatalf("%q was read as %q, whose encoding differs", value, got)
		}
	})
}

// FuzzHeaderMatchesOnlyItsArgument checks that a header matches only the same string, boolean or
// integer.
func FuzzHeaderMatchesOnlyItsArgument(f *testing.F) {
	f.Add("text", "text")
	f.Add("42", "42.0")
	f.Add("true", "false")
	f.Add("1e3", "1000")
	f.Fuzz(func(t *testing.T, header, value string) {
		if !sameValue(value, jsonscan.AppendString(nil, value)) && strings.ToValidUTF8(value, "\ufffd") == value {
			t.Fatalf("%q does not match itself", value)
		}
		if header != value && sameValue(header, jsonscan.AppendString(nil, value)) && strings.ToValidUTF8(value, "\ufffd") == value {
			t.Fatalf("%q matches the text %q", header, value)
		}
		if header != "true" && sameValue(header, []byte("true")) || sameValue(header, []byte("{}")) || sameValue(header, []byte("[]")) {
			t.Fatalf("%q matches another value", header)
		}
	})
}
