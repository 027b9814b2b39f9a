package http_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf16"

	"hatchel/adapters/adaptertest"
)

func inUTF16(text string, bigEndian bool) string {
	var out strings.Builder
	for _, u := range utf16.Encode([]rune(text)) {
		if bigEndian {
			out.Write([]byte{byte(u >> 8), byte(u)})
		} else {
			out.Write([]byte{byte(u), byte(u >> 8)})
		}
	}
	return out.String()
}

// TestTextsInEveryEncodingAreDecoded names encodings by a Content-Type, by a byte order mark, and by the argument.
func TestTextsInEveryEncodingAreDecoded(t *testing.T) {
	const document = `{"a": "é"}`
	want := map[string]any{"a": "é"}
	for _, x := range []struct{ kind, body, argument string }{
		{"application/json", document, ""},
		{"application/json; charset=utf-8", document, ""},
		{`application/json; charset="UTF-8"`, "\ufeff" + document, ""},
		{"application/json; charset=iso-8859-1", "{\"a\": \"\xe9\"}", ""},
		{"application/json; charset=ISO-8859-1", document, ""}, // in UTF-8, whatever the header says
		{"application/json; charset=windows-1252", "{\"a\": \"\xe9\"}", ""},
		{"application/json; charset=ibm037", "\xc0\x7f\x81\x7f\x7a\x40\x7f\x51\x7f\xd0", ""},
		{"application/json; charset=utf-16", "\xff\xfe" + inUTF16(document, false), ""},
		{"application/json; charset=utf-16", "\xfe\xff" + inUTF16(document, true), ""},
		{"application/json; charset=utf-16", inUTF16(document, true), ""},
		{"application/json; charset=utf-16", inUTF16(document, false), ""},
		{"application/json; charset=utf-16le", inUTF16(document, false), ""},
		{"application/json", inUTF16(document, true), ""},
		{"application/json; charset=utf-8", inUTF16(document, false), ""},
		{"application/json", "\xff\xfe" + inUTF16(document, false), ""},
		{"application/json; charset=no-such-charset", document, ""},
		{"text/html", "{\"a\": \"\x8e\"}", "macintosh"},
		{"application/json; charset=utf-16", "{\"a\": \"\xe9\"}", "latin1"},
		{"application/json", "\xef\xbb\xbf" + document, "windows-1252"}, // the mark precedes
	} {
		for _, as := range []string{"json", "jsonl", "text"} {
			if as == "text" && (strings.Contains(x.kind, "no-such") || strings.Contains(x.kind, "ISO-8859-1") || strings.Contains(x.body, "\x00") && !strings.Contains(x.kind, "16") && x.body[0] != '\xff') {
				continue // a text is what its header says
			}
			t.Run(fmt.Sprintf("%s %q as %s", x.kind, x.body[:3], as), func(t *testing.T) {
				s := serve(t, respondWith(200, x.kind, x.body))
				block := fmt.Sprintf("    get = \"/\"\n    as = %q\n", as)
				if x.argument != "" {
					block += fmt.Sprintf("    encoding = %q\n", x.argument)
				}
				out, err := adaptertest.Bind(t, source(s.URL, "", "", block)).Do(t.Context(), `{}`)
				if err != nil {
					t.Fatal(err)
				}
				var expected any = want
				switch as {
				case "text":
					expected = document
				case "jsonl":
					expected = []any{want}
				}
				if got := resolved(t, out["body"]); !reflect.DeepEqual(got, expected) {
					t.Errorf("%#v", got)
				}
			})
		}
	}
}

// TestAnEncodedAnswerShowsNoSecret has services that repeat the credentials of a request in UTF-16.
func TestAnEncodedAnswerShowsNoSecret(t *testing.T) {
	s := serve(t, respondWith(400, "text/plain; charset=utf-16be", inUTF16("wrong key s3cret-k3y é", true)))
	_, err := adaptertest.Bind(t, source(s.URL, "  auth {\n    bearer = secret.key\n  }", "", `    get = "/"`)).Do(t.Context(), `{}`)
	wantPart(t, wantFault(t, err).Message, "the service returned 400 Bad Request: wrong key (secret) é")
}

func TestTextThatIsNotInItsEncodingIsRefused(t *testing.T) {
	for _, x := range []struct{ as, kind, body, want string }{
		{"json", "application/json", "{\"a\":\n \"caf\xe9\"}", `not UTF-8: 0xE9 at byte 12, in line 2; the tool must name the encoding, such as encoding = "windows-1252"`},
		{"jsonl", "application/x-ndjson", "{}\n{\"a\": \"\xe9\"}", "not UTF-8: 0xE9 at byte 11, in line 2"},
		{"json", "application/json; charset=utf-16", "\xff\xfe{\x00\x00\xd8}\x00", "not utf-16le: 0x00 0xD8 at byte 5"},
		{"json", "application/json; charset=no-such-charset", "{\"a\": \"\xe9\"}", "the service's response is text in no-such-charset, which is not supported"},
		{"text", "text/plain; charset=euc-kr", "\xff", "not euc-kr: 0xFF at byte 1"},
	} {
		s := serve(t, respondWith(200, x.kind, x.body))
		_, err := adaptertest.Bind(t, source(s.URL, "", "", fmt.Sprintf("    get = \"/\"\n    as = %q", x.as))).Do(t.Context(), `{}`)
		wantPart(t, wantFault(t, err).Message, x.want)
	}
}
