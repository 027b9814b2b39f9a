package surface

import (
	"bytes"
	"encoding/json"

	"hatchel/hcl/value"
)

// canonical returns v as canonical JSON.
func canonical(v any) []byte { return value.AppendCanonical(nil, toJSON(v)) }

// toJSON returns v as maps, lists and scalars; numbers keep their digits.
func toJSON(v any) (out any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic("surface: " + err.Error())
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&out); err != nil {
		panic("surface: " + err.Error())
	}
	return out
}
