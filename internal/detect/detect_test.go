package detect_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"hatchel/internal/detect"
)

const all = detect.Email | detect.IBAN | detect.Card | detect.Phone

func TestValuesAreReplaced(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{"Write to ada@example.com.", "Write to [email]."},
		{"<ada.l+x@mail.example.co.uk>", "<[email]>"},
		{"mailto:ADA_L@EXAMPLE.COM?x=1", "mailto:[email]?x=1"},
		{"müller@example.de", "[email]"},
		{"联系ada@example.com谢谢", "联系[email]谢谢"},
		{"a@b.de,c@d.de;e@f.de", "[email],[email];[email]"},
		{"x=ada@example.com&y", "[email]&y"},
		{"'ada@example.com'", "'[email]'"},
		{"ada@example.com-", "[email]-"},
		{"ada@xn--bcher-kva.xn--p1ai", "[email]"},
		{"o'brien@example.com", "[email]"},
		{"DE89370400440532013000", "[iban]"},
		{"IBAN: DE89 3704 0044 0532 0130 00, please", "IBAN: [iban], please"},
		{"gb29 nwbk 6016 1331 9268 19", "[iban]"},
		{"NO93 8601 1117 947", "[iban]"},
		{"MT84MALT011000012345MTLCAST001S", "[iban]"},
		{"4111111111111111", "[card]"},
		{"Card 4111 1111 1111 1111!", "Card [card]!"},
		{"5500-0055-5555-5559", "[card]"},
		{"378282246310005 and 6011111111111117", "[card] and [card]"},
		{"3530111333300000", "[card]"},
		{"4111 1111 1111 1111 2 or 4111 1111 1111 1111 1234", "[card] 2 or [card] 1234"},
		{"3056 930902 5904 and 0049-30-1234567", "[card] and [phone]"},
		{"Call +49 30 1234567 now", "Call [phone] now"},
		{"+1 (555) 123-4567", "[phone]"},
		{"+14155552671", "[phone]"},
		{"0049 30 1234567", "[phone]"},
		{"tel:+4930/1234567.", "tel:[phone]."},
		{"+44 20 7946 0958 or +44 20 7946 0959", "[phone] or [phone]"},
	} {
		var n detect.Counts
		if got := all.Text(x.text, &n); got != x.want {
			t.Errorf("%q: %q, want %q", x.text, got, x.want)
		}
		if got := string(all.Bytes([]byte(x.text), &n)); got != x.want {
			t.Errorf("%q as bytes: %q", x.text, got)
		}
	}
}

// What looks like a value and is none stays: identifiers, times, numbers, code and logs.
func TestOtherTextsStay(t *testing.T) {
	for _, text := range []string{
		"", "@", "a@", "@b.de", "a@b", "ada@localhost", "user@10.0.0.1", "pkg@1.2.3", "@scope/pkg@2.0.0", "a@b.c",
		"getty@tty1.service", "image@2x.png", "a@@b", "ada@example..com", "ada@-example.com",
		"DE00370400440532013000", "DE8937040044053201300", "XX89370400440532013000", "DE89370400440532013000123",
		"xDE89370400440532013000", "DE", "de12",
		"4111111111111112", "1234567812345678", "411111111111111", "id-4111111111111111", "4111111111111111-7",
		"41111111111111110000000", "x4111111111111111", "4111111111111111x", "0x4111111111111111",
		"1764500000", "1764500000000", "1764500000000000000", "2026-11-30T13:02:50+00:00", "2026-11-30 13:02:50.123456",
		"+0000", "-0700", "00 00 00 00 00 00 00", "00491234567", "0012", "+1", "+123", "1+12345678", "x+12345678",
		"a+b+c", "@@ -1,10 +12345,6 @@", "+49", "+1234567890123456789", "030 1234567",
		"550e8400-e29b-41d4-a716-446655440000", "d41d8cd98f00b204e9800998ecf8427e", "192.168.178.100", "1.5e+10000000",
		"3.14159265358979", "12345678", "12,345,678.90", "0.4380140111111111", "4111111111111111.0",
		"23 22 21 20 19 18 17 16", "00000130  64 67 69 74 73 20 50 74", "0044-03-15 12:00:00 BC",
		"Thu Feb 04 21:00:57 +1130 2010", "[email]", "a***@example.com", "m_abcdefghijklmnop", "***4567",
	} {
		var n detect.Counts
		if got := all.Text(text, &n); got != text || n != (detect.Counts{}) {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// Only the kinds that a mask names are looked for, and each is counted.
func TestKindsAreApart(t *testing.T) {
	const text = "ada@example.com DE89370400440532013000 4111111111111111 +49 30 1234567"
	for i, word := range detect.Words {
		var n detect.Counts
		got := detect.KindOf(word).Text(text, &n)
		if strings.Count(got, "[") != 1 || !strings.Contains(got, "["+word+"]") || n[i] != 1 {
			t.Errorf("%s: %q, %v", word, got, n)
		}
	}
	if detect.KindOf("name") != 0 {
		t.Error("there is a kind for names")
	}
}

func TestTextsInJSONAreLookedAt(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{`{"a":"ada@example.com","n":4111111111111111}`, `{"a":"[email]","n":4111111111111111}`},
		{`{"ada@example.com":1}`, `{"ada@example.com":1}`},
		{`["x\"ada@example.com\"","\u0061@b.de"]`, `["x\"[email]\"","[email]"]`},
		{`{"a" : "b" }`, `{"a" : "b" }`},
		{`"<ada@example.com>"`, `"<[email]>"`},
		{`"unterminated ada@example.com`, `"unterminated ada@example.com`},
	} {
		var n detect.Counts
		got := string(all.JSON([]byte(x.text), &n))
		if got = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(got); got != x.want && x.text[1] != 'u' {
			t.Errorf("%s: %s, want %s", x.text, got, x.want)
		}
	}
}

// Every text that a value is put into loses it, whatever is around it.
func TestValuesAreFoundAmongAnything(t *testing.T) {
	values := []string{"ada@example.com", "DE89 3704 0044 0532 0130 00", "4111 1111 1111 1111", "+49 30 1234567"}
	noise := []string{" ", "\n", "(", ")", "\"", ":", ";", ",", "<", ">", "=", "|", "[", "]", "{", "}", "€", "文", "@ ", "+ ",
		"word ", " 12", " DE", "\t", " 0"}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		var before, after string
		for range r.IntN(4) {
			before += noise[r.IntN(len(noise))]
			after += noise[r.IntN(len(noise))]
		}
		value := values[r.IntN(len(values))]
		if last := before; last != "" && strings.ContainsAny(last[len(last)-1:], "0123456789E") {
			before += ";" // what touches a digit or a letter is a part of it
		}
		text := before + value + "," + after
		var n detect.Counts
		if got := all.Text(text, &n); strings.Contains(got, value) {
			t.Fatalf("%q: %q", text, got)
		}
	}
}

// benchmarkText is 1 MiB of log lines with few values.
func benchmarkText() []byte {
	var out bytes.Buffer
	for i := 0; out.Len() < 1<<20; i++ {
		fmt.Fprintf(&out, "2026-11-30T13:02:%02d.%06dZ INFO request id=550e8400-e29b-41d4-a716-%012d status=200 ms=%d\n",
			i%60, i, i, i%500)
		if i%50 == 0 {
			fmt.Fprintf(&out, "user person.%d@example.com called +49 30 %07d\n", i, i)
		}
	}
	return out.Bytes()
}

// 1 MiB of text takes at most 12 ms.
func BenchmarkDetect(b *testing.B) {
	text := benchmarkText()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		var n detect.Counts
		all.Bytes(text, &n)
	}
}
