package mcp

import (
	"strings"
	"testing"

	"hatchel/hcl/jsonscan"
)

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
