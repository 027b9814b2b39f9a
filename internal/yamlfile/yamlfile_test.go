package yamlfile

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

func TestMistakesArePlacedOnTheirLine(t *testing.T) {
	for name, test := range map[string]struct{ src, want string }{
		"an indent":                     {"tools:\n  t:\n    kind: x\n   bad: y\n", "4:1: did not find expected key"},
		"a list among members":          {"# c\n\na:\n  b: {c: x}\nd:\n  e:\n    f: x\n  - bad\ng: h\n", "8:1: did not find expected key"},
		"a second colon":                {"a:\n  b: c: d\n", "2:1: mapping values are not allowed in this context"},
		"a tab":                         {"a:\n  b:\n    c: x\n\td: e\n", "4:1: found a tab character that violates indentation"},
		"a list that is not closed":     {"a:\n  b: [x, y\n\n  c: d\ne: f\n", "2:1: did not find expected ',' or ']'"},
		"a mapping that is not closed":  {"a: {b: c}\nd: {\n  e: f\n", "3:1: did not find expected ',' or '}'"},
		"quotes that are not closed":    {"a: b\n---\nc: d\ne: \"f\n\ng: h\n", "4:1: found unexpected end of stream"},
		"an anchor that is not there":   {"a: b\nc:\n- *d\n- e\n", "3:1: unknown anchor 'd' referenced"},
		"a character that YAML lacks":   {"a: b\n# \x01\nc: d\n", "2:1: control characters are not allowed"},
		"a second document":             {"a: b\n---\nc:\n  d: e\n - f\ng: h\n", "5:1: did not find expected key"},
		"the first line":                {"{a", "1:1: did not find expected ',' or '}'"},
		"lines that end in CR and LF":   {"a:\r\n  b: c\r\n d: e\r\n", "3:1: did not find expected key"},
		"an earlier list on more lines": {"a: [b,\n  c]\nd: [e,\n  f: [g\n", "4:1: did not find expected ',' or ']'"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseAll([]byte(test.src)); err == nil || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestKeysThatAreSetTwiceAreRefused(t *testing.T) {
	many := "a: 1\nm:\n  k: 0\n"
	for c := 'a'; c <= 'z'; c++ {
		many += "  " + string(c) + "x: 1\n"
	}
	for name, test := range map[string]struct{ src, want string }{
		"of the document":       {"paths: {}\ninfo: {}\npaths: {}\n", `3:1: the key "paths" is set twice; line 1 sets it first`},
		"below":                 {"a:\n- b: {c: 1, d: 2,\n    c: 3}\n", `3:5: the key "c" is set twice; line 2 sets it first`},
		"of a large mapping":    {many + "  k: 2\n", `30:3: the key "k" is set twice; line 3 sets it first`},
		"written differently":   {"200: a\n\"200\": b\n", `2:1: the key "200" is set twice; line 1 sets it first`},
		"by an alias":           {"- &x k\n- k: 1\n  *x : 2\n", `3:3: the key "k" is set twice; line 2 sets it first`},
		"of an anchor":          {"a: &x\n  k: 1\n  k: 2\nb: *x\n", `3:3: the key "k" is set twice; line 2 sets it first`},
		"of the next document":  {"a: 1\n---\nb: 1\nb: 2\n", `4:1: the key "b" is set twice; line 3 sets it first`},
		"with hidden letters":   {"\"a\\u202e\": 1\n\"a\\u202e\": 2\n", `2:1: the key "a\u202e" is set twice; line 1 sets it first`},
		"a key of another case": {"a: 1\nA: 2\n", ""},
		"keys of other levels":  {"a: {a: {a: 1}}\n---\na: 1\n", ""},
		"merged members":        {"x: &x {a: 1}\ny: {<<: *x, a: 2}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseAll([]byte(test.src)); test.want == "" && err != nil || test.want != "" &&
				(err == nil || err.Error() != test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestOnlyTheFirstDocumentIsParsed(t *testing.T) {
	for src, want := range map[string]string{"a: 1\n---\nb: [\n": "a", "": "", "# nothing\n": "", "---\nc: 1\n": "c"} {
		n, err := Parse([]byte(src))
		got := ""
		if n != nil && len(n.Content) > 0 {
			got = n.Content[0].Value
		}
		if err != nil || got != want {
			t.Errorf("%q gives %q, %v; want %q", src, got, err, want)
		}
	}
}

func TestDecodeRefusesWhatTakesLong(t *testing.T) {
	src := []byte("a:\n")
	for i := range maxMembers + 1 {
		src = fmt.Appendf(src, "  k%d: 1\n", i)
	}
	n, err := Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	want := "the mapping in line 2 has more than 10000 members"
	if err := Decode(n, new(map[string]any)); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func FuzzFilesAreParsedOrRefusedWithAPlace(f *testing.F) {
	for _, src := range []string{"a: 1\nb: [", "- &a {<<: *a}", "\x01", "? [a]\n: b\n? [a]\n: c", "%TAG ! x\n---\n!y z",
		"a: 1\n...\nb"} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		_, err := ParseAll([]byte(src))
		if err == nil {
			return
		}
		text, _, _ := strings.Cut(err.Error(), ":")
		if line, err := strconv.Atoi(text); err != nil || line < 1 || line > len(src) {
			t.Errorf("%q has a mistake in line %q", src, text)
		}
	})
}
