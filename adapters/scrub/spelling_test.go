package scrub

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

// spellings write a text as programs do.
var spellings = map[string]func(string) string{
	"percent": func(s string) string { return each(s, "%%%02X") }, "percent in lower case": func(s string) string { return each(s, "%%%02x") },
	"some percents": func(s string) string { return fmt.Sprintf("%%%02x", s[0]) + s[1:] }, "query": url.QueryEscape, "path": url.PathEscape,
	"JSON":         func(s string) string { b, _ := json.Marshal(s); return string(b[1 : len(b)-1]) },
	`\u`:           func(s string) string { return eachUTF16(s, `\u%04x`) },
	`\u{}`:         func(s string) string { return eachRune(s, `\u{%X}`) },
	`\U`:           func(s string) string { return eachRune(s, `\U%08X`) },
	`\x`:           func(s string) string { return each(s, `\x%02x`) },
	"octal":        func(s string) string { return each(s, `\%03o`) },
	`JSON with \/`: func(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, `"`, `\"`), "/", `\/`) },
	"HTML":         html.EscapeString, "decimal references": func(s string) string { return eachRune(s, "&#%d;") },
	"hexadecimal references": func(s string) string { return eachRune(s, "&#x%X;") },
	"named references": func(s string) string {
		return strings.NewReplacer("/", "&sol;", "+", "&plus;", "=", "&equals;", "-", "&#45;", `"`, "&quot;", "ö", "&ouml;").Replace(html.EscapeString(s))
	},
	"hex":            func(s string) string { return hex.EncodeToString([]byte(s)) },
	"HEX":            func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
	"base64":         func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64 of URLs": func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	"base64 of u:":   func(s string) string { return base64.StdEncoding.EncodeToString([]byte("u:" + s + "!")) },
	"base64 of us:":  func(s string) string { return base64.URLEncoding.EncodeToString([]byte("us:" + s + "\n")) },
	"base64 in lines": func(s string) string {
		return lines(base64.StdEncoding.EncodeToString([]byte("-----BEGIN-----\n"+s+"\n-----END-----")), 19, "\r\n")
	},
	"hex in lines":             func(s string) string { return lines(hex.EncodeToString([]byte("--"+s+"--")), 11, "\n  ") },
	"hex with spaces":          func(s string) string { return fmt.Sprintf("% x", s) },
	"HEX with colons":          func(s string) string { return strings.ReplaceAll(fmt.Sprintf("% X", s), " ", ":") },
	`\x{}`:                     func(s string) string { return eachRune(s, `\x{%x}`) },
	"%u":                       func(s string) string { return eachUTF16(s, "%%u%04X") },
	"references with zeros":    func(s string) string { return eachRune(s, "&#%016d;") },
	"hex references and zeros": func(s string) string { return eachRune(s, "&#X%012X;") },
	"Markdown, shell and patterns": func(s string) string {
		return regexp.MustCompile(`[ -/:-@[-\x60{-~]`).ReplaceAllStringFunc(s, func(c string) string { return `\` + c })
	},
	"CSV":              func(s string) string { return strings.ReplaceAll(s, `"`, `""`) },
	"SQL":              func(s string) string { return strings.ReplaceAll(s, "'", "''") },
	"quotes of shells": func(s string) string { return strings.ReplaceAll(s, "'", `'\''`) },
	"base64 of a shell": func(s string) string {
		return lines(base64.StdEncoding.EncodeToString([]byte("---"+s)), 20, "\\\n")
	},
}

// doubled are spellings of spellings that are found; others may be.
var doubled = [][]string{
	{"percent", "percent"}, {"percent", "percent", "percent"}, {"JSON", "JSON"}, {`\u`, "percent"}, {"percent", "JSON"}, {"HTML", "JSON", "query"},
	{"decimal references", "percent"}, {"base64", "query"}, {"base64", "JSON"}, {"base64 in lines", "JSON"}, {"base64 in lines", "JSON", "JSON"},
	{"JSON", "base64"}, {"query", "base64 of u:"}, {"JSON", "hex"}, {"base64", "base64"}, {"base64 of u:", "base64"}, {"base64 of us:", "base64 of u:"},
	{"JSON", "JSON", "JSON"}, {"CSV", "JSON"}, {"quotes of shells", "JSON"},
	{"references with zeros", "percent"}, {"hex", "percent"}, {"HEX", `\u`}, {"hex in lines", "JSON"}, {"base64 of URLs", "some percents", "HTML"},
}

func each(s, format string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, format, s[i])
	}
	return b.String()
}

func eachRune(s, format string) string {
	var b strings.Builder
	for _, r := range s {
		fmt.Fprintf(&b, format, r)
	}
	return b.String()
}

func eachUTF16(s, format string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(s)) {
		fmt.Fprintf(&b, format, u)
	}
	return b.String()
}

func lines(s string, width int, end string) string {
	var b strings.Builder
	for ; len(s) > width; s = s[width:] {
		b.WriteString(s[:width] + end)
	}
	return b.String() + s
}

var spelledSecrets = []string{
	"token-123456", "s3/cr\"t+t&k=9911~?>Z", "zwölf Boxkämpfer", "0123456789abcdef0123456789abcdef", "sk_live_51H8x%41bcDEF", `back\slash\nand\u0041`,
	"-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\nAASCBKcwggSjAgEA\n-----END KEY-----", strings.Repeat("long-secret/", 40),
	"it's \"mine\" & yours", "pass😀word", "{\n  \"type\": \"service\",\n  \"private_key\": \"-----BEGIN-----\\nMIIEvQIBADANBgkq\\n-----END-----\\n\"\n}\n", "q7Zk", "s3cr3t",
}

// checkRemoved checks that a text is another one without parts: what stays of it is there in this order.
func checkRemoved(t *testing.T, what, text, got string) {
	t.Helper()
	rest := text
	pieces := strings.Split(got, "(secret)")
	for i, piece := range pieces {
		at := strings.Index(rest, piece)
		if at < 0 || i == 0 && at != 0 || i == len(pieces)-1 && !strings.HasSuffix(rest, piece) {
			t.Fatalf("%s: %q became %q", what, text, got)
		}
		rest = rest[at+len(piece):]
	}
}

// A secret is found in each spelling, alone and among secrets, in a text and in JSON, and nothing but it is removed.
func TestASecretIsFoundHoweverItIsSpelled(t *testing.T) {
	all := New(append(scrubbedSecrets(20), spelledSecrets...))
	chains := doubled
	for name := range spellings {
		chains = append(chains, []string{name})
	}
	for _, secret := range spelledSecrets {
		one := New([]string{secret})
		for _, chain := range chains {
			spelled := secret
			for _, name := range chain {
				spelled = spellings[name](spelled)
			}
			what := fmt.Sprintf("%q by %q", secret, chain)
			if len(secret) == 4 && strings.Count(strings.Join(chain, " "), "base64") > 1 {
				continue // it is as short as what occurs by chance
			}
			if utf8.RuneCountInString(secret) != len(secret) && strings.Contains(strings.Join(chain, " "), "percent") && !utf8.ValidString(spelled) {
				continue
			}
			for i, s := range []*Scrubber{one, all} {
				text := `before "%41 \n &amp; ` + spelled + " after, é\n100%"
				got := string(s.Bytes([]byte(text)))
				if !strings.Contains(got, "(secret)") || i == 0 && strings.Count(got, "(secret)") > 4 {
					t.Errorf("%s: %q became %q", what, text, got)
				}
				checkRemoved(t, what, text, got)
				encoded, _ := json.Marshal(map[string]any{"a é": []any{1, text, "x"}, "b": "\u2028<"})
				again := string(s.JSON(encoded))
				if !json.Valid([]byte(again)) || !strings.Contains(again, "(secret)") {
					t.Errorf("%s in JSON: %s became %s", what, encoded, again)
				}
				checkRemoved(t, what, string(encoded), again)
			}
		}
	}
}

// Whatever a text is, a Scrubber only removes parts of it, and the JSON stays JSON.
func TestNothingIsChangedButWhatIsRemoved(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 9))
	secrets := []string{"abcd", "bcde", "a%41b", `n"123456`, "deadbeef", "cd ef\ngh", "ééééé", "&amp;&amp;", "Ω\\u0041x"}
	units := append([]string{"a", "b", "c", "d", "e", "%", "%4", "%61", "%2562", `\`, `\n`, `\u00`, `\u0061`, "&", "&#", "&#97;", "&amp;", ";", "\n", "\r\n  ",
		"é", "Ω", "\xff", `"`, "YWJj", "ZA==", "6465", "…", " ", "(secret)"}, secrets...)
	s := New(secrets)
	removed := 0
	for range 5_000 {
		var b strings.Builder
		for range r.IntN(30) {
			b.WriteString(units[r.IntN(len(units))])
		}
		text := b.String()
		got := string(s.Bytes([]byte(text)))
		for _, secret := range secrets {
			if strings.Contains(strings.ReplaceAll(got, "(secret)", "\x00"), secret) {
				t.Fatalf("%q: %q is in %q", text, secret, got)
			}
		}
		if strings.Contains(text, "(secret)") {
			continue
		}
		checkRemoved(t, "text", text, got)
		removed += strings.Count(got, "(secret)")
		encoded, _ := json.Marshal(map[string]any{"k": text, "n": 1})
		again := string(s.JSON(encoded))
		if !json.Valid([]byte(again)) {
			t.Fatalf("%s became %s", encoded, again)
		}
		checkRemoved(t, "JSON", string(encoded), again)
	}
	if removed < 10_000 {
		t.Errorf("%d parts were removed", removed)
	}
}

// Programs answer a text of several lines as a list of lines, or begin each line with a prefix.
func TestTheLinesOfASecretAreSecretOnTheirOwn(t *testing.T) {
	pem := "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\nAASCBKcwggSjAgEA\nq7Zk\n-----END PRIVATE KEY-----\n"
	account, _ := json.Marshal(map[string]any{"type": "service_account", "private_key": pem})
	for _, secret := range []string{pem, strings.ReplaceAll(pem, "\n", "\r\n"), string(account)} {
		s := New([]string{secret})
		for text, want := range map[string]string{
			`["-----BEGIN PRIVATE KEY-----","MIIEvQIBADANBgkqhkiG9w0BAQEF","AASCBKcwggSjAgEA"]`: `["-----BEGIN PRIVATE KEY-----","(secret)","(secret)"]`,
			`"# MIIEvQIBADANBgkqhkiG9w0BAQEF\n# AASCBKcwggSjAgEA\n# q7Zk"`:                      `"# (secret)\n# (secret)\n# q7Zk"`,
			`{"type":"service_account"}`: `{"type":"service_account"}`,
		} {
			if got := string(s.JSON([]byte(text))); got != want {
				t.Errorf("%q: %s became %s", secret, text, got)
			}
		}
		if got := s.Text("<" + secret + ">"); got != "<(secret)>" {
			t.Errorf("%q became %q", secret, got)
		}
	}
}

// Two secrets that overlap are removed as a whole, and two that follow each other are two.
func TestSecretsThatOverlapAreRemovedAsAWhole(t *testing.T) {
	s := New([]string{"abcdef", "defghi", "cdefg", "123456789"})
	for text, want := range map[string]string{
		"x abcdefghi y": "x (secret) y", "abcdefabcdef": "(secret)(secret)", "abcd%65f%67hi": "(secret)", "x12345678": "x12345678",
	} {
		if got := s.Text(text); got != want {
			t.Errorf("%s became %s", text, got)
		}
	}
}

// A short secret is not looked for across a break of a line, where two columns of numbers may be it.
func TestAShortSecretIsNoPartOfTwoLines(t *testing.T) {
	s := New([]string{"1234", "12345678", "0123456789abcdefXYZ!"})
	for text, want := range map[string]string{
		"12\n34": "12\n34", "1234\n5678": "(secret)\n5678", "0123456789ab\n  cdefXYZ!": "(secret)", `{"a": "12\n34"}`: `{"a": "12\n34"}`,
	} {
		if got := s.Text(text); got != want {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// Breaks of lines that follow each other are read at once, also if they are escaped.
func TestBreaksThatFollowEachOtherAreReadAtOnce(t *testing.T) {
	for _, lineBreak := range []string{"\n", "\r\n", "\n  ", `\r\n`} {
		v := unescape([]byte("se"+strings.Repeat(lineBreak, 1000)+"cret"), ofAllBreaks, nil, true)
		if string(v.text) != "secret" || len(v.spans) != 2 {
			t.Errorf("%q: %q with %d spans", lineBreak, v.text, len(v.spans))
		}
	}
}
