package mcpheader

import (
	"encoding/base64"
	"strings"
	"testing"
)

// FuzzDecodeInvertsEncode decodes values with and without the encoding of the protocol.
func FuzzDecodeInvertsEncode(f *testing.F) {
	for _, s := range []string{"", "plain", "größe", "=?base64?SGVsbG8=?=", "=?base64?SGVsbG8?=", "=?base64?", "=?base64?=", "=?BASE64?SGVsbG8=?=", "=?base64?\n?=", " x", "a\x7f", "a\tb"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		encoded := "=?base64?" + base64.StdEncoding.EncodeToString([]byte(value)) + "?="
		if got, ok := Decode(encoded); !ok || got != value {
			t.Fatalf("%q came back as %q, %t", encoded, got, ok)
		}
		if got, ok := Decode(Encode(value)); !ok || got != value {
			t.Fatalf("%q is sent as %q, and comes back as %q, %t", value, Encode(value), got, ok)
		}
		got, ok := Decode(value)
		marked := strings.HasPrefix(value, "=?base64?") && strings.HasSuffix(value, "?=") && len(value) >= len("=?base64??=")
		switch {
		case !marked && (!ok || got != value):
			t.Fatalf("%q, which is not encoded, was read as %q, %t", value, got, ok)
		case marked && ok && "=?base64?"+base64.StdEncoding.EncodeToString([]byte(got))+"?=" != value:
			t.Fatalf("%q was read as %q, whose encoding differs", value, got)
		}
	})
}

// TestEncodeSendsWhatAHeaderContains has the examples of the specification, and the characters around the limits.
func TestEncodeSendsWhatAHeaderContains(t *testing.T) {
	for text, want := range map[string]string{
		"us-west1": "us-west1", "": "", "a b~": "a b~", "Hello, 世界": "=?base64?SGVsbG8sIOS4lueVjA==?=", " padded ": "=?base64?IHBhZGRlZCA=?=",
		"line1\nline2": "=?base64?bGluZTEKbGluZTI=?=", "=?base64?literal?=": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=", "\x7f": "=?base64?fw==?=",
	} {
		if got := Encode(text); got != want {
			t.Errorf("%q is sent as %q, not %q", text, got, want)
		}
	}
	for name, want := range map[string]bool{"Region": true, "x-1_~": true, "": false, "a b": false, "a:b": false, "é": false, "a\n": false} {
		if IsName(name) != want {
			t.Errorf("%q may be the name of a header: %t", name, !want)
		}
	}
}
