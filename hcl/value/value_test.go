package value

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestDecodedValuesKeepEveryDigit(t *testing.T) {
	for _, text := range []string{`9007199254740993`, `18446744073709551616`, `0.1`, `3.141592653589793238462643383279`, `-0.5`, `1e400`, `[1,"a",null,true,{"b":[]}]`} {
		v, err := Decode([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		out, err := AppendJSON(nil, v)
		if err != nil || string(out) != text {
			t.Errorf("%s came back as %s (%v)", text, out, err)
		}
	}
}

func TestWholeNumbersAreIntegersHoweverWritten(t *testing.T) {
	for _, text := range []string{"1", "1.0", "1e0", "0.1e1"} {
		if v, _ := Decode([]byte(text)); v != 1 {
			t.Errorf("%s decoded as %T %v", text, v, v)
		}
	}
}

func TestMalformedJSONIsRefusedWithItsPlace(t *testing.T) {
	for _, c := range []struct {
		text string
		at   int
	}{{`{"a":1,"a":2}`, 7}, {`[1,]`, 3}, {`01`, 2}, {`"\ud800"`, 7}, {"\"\xff\"", 2}, {`{} x`, 3}, {`tru`, 0}, {"\"a\nb\"", 2}, {``, 0}} {
		_, err := Decode([]byte(c.text))
		e, ok := err.(*SyntaxError)
		if !ok || e.Offset != c.at {
			t.Errorf("%q: got %v, want an error at %d", c.text, err, c.at)
		}
	}
}

func TestEqualComparesNumbersExactly(t *testing.T) {
	if !Equal(1, json.Number("1.0")) || Equal(json.Number("9007199254740993"), 9007199254740992) || !Equal(0.5, json.Number("5e-1")) || Equal("1", 1) {
		t.Error("numbers must compare by exact value, and never equal a string")
	}
}

func FuzzDecodeAgreesWithEncodingJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5,"x\u00e9\n"],"b":null}`, `"\ud83d\ude00"`, `-0`, `1E5`, `{"a":1,"a":1}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		v, err := Decode(src)
		if err != nil {
			return
		}
		if !json.Valid(src) {
			t.Fatalf("accepted what encoding/json refuses: %q", src)
		}
		out, err := AppendJSON(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if json.Unmarshal(src, &a) != nil {
			return // a number beyond float64, which we keep as text
		}
		if err := json.Unmarshal(out, &b); err != nil || !reflect.DeepEqual(a, b) {
			t.Fatalf("%q became %q (%v)", src, out, err)
		}
	})
}
