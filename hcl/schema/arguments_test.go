package schema

import (
	"reflect"
	"testing"

	"hatchel/hcl/value"
)

func FuzzArgumentsDecodeAsEveryOtherJSON(f *testing.F) {
	for _, s := range []string{sixArguments, `{"a":[1,-2,0.5,-0.0,1e3,1.50,12345678901234567890,0.1234567890123456789],"b":{"c":"x\n","d":"é"}}`, ` { } `, `{"a":1,"a":2}`,
		"{\"a\":\"\xff\"}", `[01]`, `[1.]`, `[.5]`, `[-]`, `[1 2]`, `{"a" 1}`, `"\ud800"`, `[truex]`, `[]]`, `{"a":1,}`, `00.5`, `0.5`, `-0`, `1.2.3`, `9007199254740993.0`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) == 0 {
			return
		}
		want, wantErr := value.Decode(raw)
		got, err := decodeArguments(raw)
		if !reflect.DeepEqual(err, wantErr) || err == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: got %#v, %v; want %#v, %v", raw, got, err, want, wantErr)
		}
	})
}
