package jsonscan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

// acceptable decides with encoding/json whether a Scanner should accept data.
func acceptable(data []byte, depth int) bool {
	if !json.Valid(data) || !utf8.Valid(data) || loneSurrogate(data) {
		return false
	}
	type level struct {
		keys  map[string]bool
		isKey bool
	}
	var open []level
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err == io.EOF {
			return true
		}
		if err != nil {
			return false
		}
		if n := len(open); n > 0 && open[n-1].keys != nil && token != json.Delim('}') {
			l := &open[n-1]
			if l.isKey = !l.isKey; l.isKey {
				if l.keys[token.(string)] {
					return false
				}
				l.keys[token.(string)] = true
			}
		}
		switch token {
		case json.Delim('{'):
			open = append(open, level{keys: map[string]bool{}})
		case json.Delim('['):
			open = append(open, level{})
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
		if len(open) > depth {
			return false
		}
	}
}

// loneSurrogate reports whether valid JSON has an unpaired surrogate.
func loneSurrogate(data []byte) bool {
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		n := escapeLen(data[i:])
		if n == 0 || isLoneSurrogate(data[i:], n) {
			return true
		}
		i += n - 1
	}
	return false
}

// scan reads data as one JSON text without duplicate keys.
func scan(data []byte, maxDepth int) ([]byte, error) {
	var s Scanner
	s.Reset(data, maxDepth)
	value, err := s.Value()
	if err == nil && !s.AtEnd() {
		err = s.Fail("more text after the value")
	}
	return value, err
}

func FuzzScannerAcceptsWhatEveryReaderUnderstandsAlike(f *testing.F) {
	for _, seed := range []string{
		`{"a":{"b":[1,{"c":null}]},"d":"e"}`, `[]`, `{}`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `[[[[[[[[[[]]]]]]]]]]`,
		` [1, -2.5e+10, 0, true, false, null, "\u00e9\ud83d\ude00\n"] `, `01`, `1.`, `-`, `1e`, `"\ud800"`, "\"\xff\"",
		"\"\x01\"", `{"a":}`, `[1,]`, `{"a":1,}`, `1 2`, `nul`, ``, "\x00", `"`, `"\`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const maxDepth = 8
		value, err := scan(bytes.Clone(data), maxDepth)
		if want := acceptable(data, maxDepth); want != (err == nil) {
			t.Fatalf("%q: accepted %v, should be %v (%v)", data, err == nil, want, err)
		}
		if err == nil {
			if !bytes.Equal(value, bytes.Trim(data, " \t\r\n")) {
				t.Fatalf("%q was read as %q", data, value)
			}
			return
		}
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || syntax.Offset > len(data) {
			t.Fatalf("%q: %v", data, err)
		}
	})
}

func FuzzStringsSurviveTheirEncoding(f *testing.F) {
	f.Add([]byte("plain"))
	f.Add([]byte("\x00\x1f\"\\\n\r\t\b\f</script>\u2028é😀\xff\xc3"))
	f.Fuzz(func(t *testing.T, s []byte) {
		raw := AppendString(nil, s)
		var want string
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatalf("%q became %s: %v", s, raw, err)
		}
		if want != strings.ToValidUTF8(string(s), "\ufffd") && utf8.Valid(s) {
			t.Fatalf("%q became %q", s, want)
		}
		if got, ok := Text(raw); !ok || got != want {
			t.Fatalf("%s reads as %q, want %q", raw, got, want)
		}
	})
}

func TestDuplicateKeyOfALargeObjectIsRefused(t *testing.T) {
	object := func(last string) []byte {
		var b strings.Builder
		for i := range 1000 {
			fmt.Fprintf(&b, `"key%d":{"key%d":1},`, i, i)
		}
		return []byte(`{` + b.String() + last + `:1}`)
	}
	if _, err := scan(object(`"another"`), 8); err != nil {
		t.Error(err)
	}
	if _, err := scan(object(`"\u006bey500"`), 8); err == nil || !strings.Contains(err.Error(), `"key500" appears twice`) {
		t.Errorf("got %v", err)
	}
}

func TestErrorSaysWhereAndWhy(t *testing.T) {
	for text, want := range map[string]string{
		``:              "byte 0: the text ends where a value is expected",
		`[1 2]`:         "byte 3: a comma or a closing bracket is expected",
		`{"a":1 "b":2}`: "byte 7: a comma or a closing brace is expected",
		`{1:2}`:         "byte 1: a key is expected",
		`{"a" 1}`:       "byte 5: a colon is expected",
		`[01]`:          "byte 1: a number that JSON does not have",
		`"a`:            "byte 2: the text ends inside a string",
		"\"a\n\"":       "byte 2: a control character inside a string",
		`["\x"]`:        "byte 2: an escape sequence that JSON does not have",
		"\"\xff\"":      "byte 1: invalid UTF-8",
		`{"a":1,"a":2}`: `byte 7: the key "a" appears twice in one object`,
		`[[[1]]]`:       "byte 2: more than 2 levels of nesting",
		`1 2`:           "byte 2: more text after the value",
	} {
		t.Run(text, func(t *testing.T) {
			_, err := scan([]byte(text), 2)
			if err == nil || err.Error() != "invalid JSON at "+want {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

func TestNestingErrorIsErrTooDeep(t *testing.T) {
	if _, err := scan([]byte(`[[]]`), 1); !errors.Is(err, ErrTooDeep) {
		t.Errorf("got %v", err)
	}
}

func TestLookupFindsNestedMembers(t *testing.T) {
	object := []byte(` {"a" : {"b" : [1, {}], "c\u0064" : "x\ny"}, "e" : null} `)
	for _, c := range []struct {
		path []string
		want string
	}{
		{[]string{"a", "b"}, `[1, {}]`},
		{[]string{"a", "cd"}, `"x\ny"`},
		{[]string{"e"}, `null`},
		{[]string{"a", "none"}, ""},
		{[]string{"e", "f"}, ""},
	} {
		if got, ok := Lookup(object, c.path...); string(got) != c.want || ok != (c.want != "") {
			t.Errorf("%q: got %q, %v", c.path, got, ok)
		}
	}
	if got, ok := LookupText(object, "a", "cd"); got != "x\ny" || !ok {
		t.Errorf("got %q, %v", got, ok)
	}
}

func TestLookupDoesNotAllocate(t *testing.T) {
	object := []byte(`{"a":{"b":1,"c":2,"d":{"e":[1,2,3]}}}`)
	if n := testing.AllocsPerRun(100, func() { Lookup(object, "a", "d", "e") }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestTextsAreDecodedAsEncodingJSONDoes(t *testing.T) {
	pieces := []string{"", "plain", "é", `\n`, `\"`, `\\`, `\/`, `\u00e9`, `\u20AC`, `\ud83d\ude00`, `\ud83d`, `\ude00`, `\u0000`}
	for _, a := range pieces {
		for _, b := range pieces {
			for _, c := range pieces {
				value := []byte(`"` + a + b + c + `"`)
				var want string
				if err := json.Unmarshal(value, &want); err != nil {
					t.Fatal(err)
				}
				got, ok := Text(value)
				appended, _ := AppendText([]byte("x"), value)
				if !ok || got != want || string(appended) != "x"+want {
					t.Errorf("%s is decoded as %q and %q", value, got, appended)
				}
			}
		}
	}
}

// TestLongTextsAreDecodedAsEncodingJSONDoes has escapes at each distance of one another, and a text that is longer than
// the buffers that are kept.
func TestLongTextsAreDecodedAsEncodingJSONDoes(t *testing.T) {
	var all strings.Builder
	for _, escape := range []string{`\n`, `\\`, `\u003c`, `\ud83d\ude00`} {
		for before := range 40 {
			for _, after := range []int{0, 1, 7, 8, 9, 30} {
				text := strings.Repeat("p", before) + escape + strings.Repeat("q", after)
				all.WriteString(text)
				compareText(t, text+escape)
			}
		}
	}
	compareText(t, all.String())
	compareText(t, strings.Repeat(all.String(), 1+maxDecoded/all.Len()))
}

func compareText(t *testing.T, content string) {
	t.Helper()
	value := []byte(`"` + content + `"`)
	var want string
	if err := json.Unmarshal(value, &want); err != nil {
		t.Fatal(err)
	}
	got, _ := Text(value)
	appended, _ := AppendText([]byte("x"), value)
	if got != want || string(appended) != "x"+want {
		t.Errorf("%s is decoded as %s and %s", Excerpt(content), Excerpt(got), Excerpt(appended))
	}
}

func TestAnObjectHasTheMembersThatItIsWrittenWith(t *testing.T) {
	s := New([]byte(` {"a":1,"\u0062":{"a":"x\n"},"c":"y"} rest`), 4)
	o, err := s.Object()
	text, isText := o.Text("c")
	if _, isNumber := o.Text("a"); err != nil || len(o) != 3 || string(o.Get("b")) != `{"a":"x\n"}` || o.Get("d") != nil ||
		text != "y" || !isText || isNumber || s.Peek() != 'r' {
		t.Errorf("got %s, %v", o, err)
	}
	for _, wrong := range []string{`[]`, `{"a"`, `{"a":}`, ``} {
		s := New([]byte(wrong), 4)
		if _, err := s.Object(); err == nil {
			t.Errorf("%s is read", wrong)
		}
	}
}
