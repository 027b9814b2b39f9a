package value

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestDecodedValuesKeepEveryDigit(t *testing.T) {
	for _, text := range []string{
		`9007199254740993`, `18446744073709551616`, `0.1`, `3.141592653589793238462643383279`, `-0.5`, `1e400`,
		`[1,"a",null,true,{"b":[]}]`,
	} {
		t.Run(text, func(t *testing.T) {
			v, err := Decode([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if out, err := AppendJSON(nil, v); err != nil || string(out) != text {
				t.Errorf("encoded as %s (%v)", out, err)
			}
		})
	}
}

func TestIntegerIsAnIntInAnyNotation(t *testing.T) {
	for _, text := range []string{"1", "1.0", "1e0", "0.1e1"} {
		if v, _ := Decode([]byte(text)); v != 1 {
			t.Errorf("%s decoded as %T %v", text, v, v)
		}
	}
}

func TestSyntaxErrorHasTheOffset(t *testing.T) {
	for text, want := range map[string]int{
		`{"a":1,"a":2}`: 7, `[1,]`: 3, `01`: 0, `"\ud800"`: 1, "\"\xff\"": 1, `{} x`: 3, `tru`: 0, "\"a\nb\"": 2, ``: 0,
	} {
		t.Run(text, func(t *testing.T) {
			_, err := Decode([]byte(text))
			if e, ok := err.(*SyntaxError); !ok || e.Offset != want {
				t.Errorf("got %v, want an error at byte %d", err, want)
			}
		})
	}
}

func TestEqualComparesNumbersByTheirExactValue(t *testing.T) {
	for _, c := range []struct {
		a, b any
		want bool
	}{
		{1, json.Number("1.0"), true},
		{0.5, json.Number("5e-1"), true},
		{json.Number("9007199254740993"), 9007199254740992, false},
		{"1", 1, false},
	} {
		if Equal(c.a, c.b) != c.want {
			t.Errorf("Equal(%#v, %#v) is %v", c.a, c.b, !c.want)
		}
	}
}

func TestResolveAllDecodesAtEveryDepth(t *testing.T) {
	plain := []any{map[string]any{"a": 1}}
	v, err := ResolveAll(map[string]any{"deep": []any{later("[1]")}, "plain": plain})
	if want := map[string]any{"deep": []any{[]any{1}}, "plain": plain}; err != nil || !reflect.DeepEqual(v, want) {
		t.Errorf("got %v, %v", v, err)
	}
	if _, err := ResolveAll([]any{later("")}); err == nil {
		t.Error("a value that cannot be decoded was resolved")
	}
}

func TestResolveAllSharesWhatIsDecoded(t *testing.T) {
	plain := any([]any{map[string]any{"a": 1}})
	if n := testing.AllocsPerRun(10, func() { ResolveAll(plain) }); n > 0 {
		t.Errorf("%v allocations", n)
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
			t.Fatalf("%q was accepted", src)
		}
		out, err := AppendJSON(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if json.Unmarshal(src, &a) != nil {
			return // a number beyond float64, which Decode keeps as text
		}
		if err := json.Unmarshal(out, &b); err != nil || !reflect.DeepEqual(a, b) {
			t.Fatalf("%q became %q (%v)", src, out, err)
		}
	})
}
