package mcp

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

// acceptable says with encoding/json what the scanner should say.
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

// loneSurrogate looks for half a pair in valid JSON.
func loneSurrogate(data []byte) bool {
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		n := escapeLen(data[i:])
		if n == 0 {
			return true
		}
		i += n - 1
	}
	return false
}

func FuzzScannerAcceptsWhatEveryReaderUnderstandsAlike(f *testing.F) {
	for _, seed := range []string{
		benchCall, `[]`, `{}`, ` [1, -2.5e+10, 0, true, false, null, "\u00e9\ud83d\ude00\n"] `, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`,
		`[[[[[[[[[[]]]]]]]]]]`, `01`, `1.`, `-`, `"\ud800"`, "\"\xff\"", "\"\x01\"", `{"a":}`, `[1,]`, `{"a":1,}`, `1 2`, `nul`, ``, "\x00", `"`, `"\`,
		`{"jsonrpc":"2.0","id":1,"method":"m","params":null}`, `[{"jsonrpc":"2.0","id":1,"method":"m"},7]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const depth = 8
		p, err := parse(bytes.Clone(data), depth)
		if want := acceptable(data, depth); want != (err == nil) {
			t.Fatalf("%q: accepted %v, should be %v (%v)", data, err == nil, want, err)
		}
		if err != nil {
			var s *scanError
			if !errors.As(err, &s) || s.at > len(data) {
				t.Fatalf("%q: %v", data, err)
			}
			return
		}
		for _, m := range p.messages {
			for _, part := range [][]byte{m.id, m.params, m.name, m.arguments, m.meta, m.metaVersion, m.progressToken, m.result} {
				if part != nil && !json.Valid(part) {
					t.Fatalf("%q was cut into %q", data, part)
				}
			}
		}
		p.release()
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
		if got, ok := text(raw); !ok || got != want {
			t.Fatalf("%s reads as %q, want %q", raw, got, want)
		}
	})
}

func FuzzCursorIsOneThatWasGivenOutOrRefused(f *testing.F) {
	f.Add("")
	f.Add("YWZ0ZXI6bnVtYmVy")
	f.Add("YWZ0ZXI6")
	f.Add("not base64")
	f.Fuzz(func(t *testing.T, cursor string) {
		name, ok := cursorName(cursor)
		if ok && string(appendCursor(nil, name)) != cursor {
			t.Fatalf("%q stands for %q, which is given out as %q", cursor, name, appendCursor(nil, name))
		}
	})
}

func TestLargeObjectIsCheckedForKeysThatAppearTwice(t *testing.T) {
	object := func(n int, last string) []byte {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"key%d":{"key%d":1},`, i, i)
		}
		return []byte(`{` + b.String() + last + `:1}`)
	}
	if _, err := parse(object(1000, `"another"`), 8); err != nil {
		t.Error(err)
	}
	if _, err := parse(object(1000, `"\u006bey500"`), 8); err == nil || !strings.Contains(err.Error(), `"key500" appears twice`) {
		t.Errorf("got %v", err)
	}
}
