package value

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

var documents = []string{
	``, ` `, `null`, ` true `, `[]`, `{ }`, `[ 1 , -0.5e+3 , "a b" ]`, `{"a" : {"b" : [ ]} , "c":"\u00e9\ud83d\ude00\n"}`,
	"\ufeff{}", `"é"`, `{"a":1,}`, `[1,]`, `[,1]`, `01`, `1.`, `-`, `1e`, `tru`, `"a`, "\"a\nb\"", `"\x"`, `"\u12"`,
	`"\ud800"`, `"\udc00"`, "\"\xff\"", `{} {}`, `{1:2}`, `{"a"}`, `nullx`,
	`{"a":1,"a":2}`, ` {  "ab" : 1 , "cd" : {"ab" : 2 , "ab" :3}}`, `{ "a" : 1, "\u0061" : 2 }`, `[ {"a":  1}, {"a" :2} ]`,
	strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth), strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1),
}

func TestTextThatIsNotJSONIsCompactedUpToTheError(t *testing.T) {
	for src, want := range map[string]string{
		`{"error"  :  "some text"  oops} and  more`: `{"error":"some text"oops} and  more`,
		`[1, 2]  3`: `[1,2]3`, `no  JSON`: `no  JSON`, `[1 ,`: `[1,`, `[1 ,"a`: `[1,"a`,
	} {
		if got, _, err := Compact([]byte(src)); err == nil || string(got) != want {
			t.Errorf("%s became %s, %v", src, got, err)
		}
	}
}

// FuzzCompact compares Compact with Decode, which reads what Compact accepts, and with
// encoding/json.
func FuzzCompact(f *testing.F) {
	for _, d := range documents {
		f.Add([]byte(d))
	}
	f.Add([]byte(` [ "\ud83d" , {"\uDE00a":"\ud83d\ud83d\ude00"} ] `))
	f.Add([]byte(`{"a": 8e3838}`)) // an exponent that no number may have
	f.Fuzz(func(t *testing.T, src []byte) {
		before := bytes.Clone(src)
		got, replaced, err := Compact(src)
		text := bytes.TrimPrefix(before, byteOrderMark)
		if err == nil && len(got) == 0 {
			if len(bytes.Trim(text, " \t\r\n")) > 0 {
				t.Fatalf("%q became nothing", before)
			}
			return
		}
		v, counted, decoded := DecodeLossy(text, nil)
		if (err == nil) != (decoded == nil) {
			t.Fatalf("%q: Compact says %v, the decoder %v", before, err, decoded)
		}
		if err != nil {
			return
		}
		var want bytes.Buffer
		if counted != replaced {
			t.Fatalf("%q: Compact counts %d lone surrogates, the decoder %d", before, replaced, counted)
		}
		if replaced > 0 {
			again, err := Decode(got)
			if err != nil || !Equal(v, again) {
				t.Fatalf("%q became %q, %v", before, got, err)
			}
			return
		}
		if err := json.Compact(&want, text); err != nil || !bytes.Equal(want.Bytes(), got) {
			t.Fatalf("%q became %q, not %q (%v)", before, got, want.Bytes(), err)
		}
	})
}

func BenchmarkCompact(b *testing.B) {
	doc := []byte(`{"rows": [` + strings.Repeat(`{"id": 1001, "name": "A vendor"}, `, 29) + `{"id": 1}]}`)
	buf := make([]byte, len(doc))
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		copy(buf, doc)
		if _, _, err := Compact(buf); err != nil {
			b.Fatal(err)
		}
	}
}
