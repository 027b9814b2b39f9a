package schema_test

import (
	"strings"
	"testing"

	. "hatchel/hcl/schema"
)

func TestAFormIsReadAsItIsWritten(t *testing.T) {
	for from, want := range map[string]string{
		`{"type":"object","properties":{}}`: ``,
		`{"type":"object","properties":{"z":{"type":"string","title":"Name","minLength":1,"maxLength":9,"format":"email"},"a":{"type":"integer","minimum":0,"maximum":9,"default":3}},"required":["z"]}`: ``,
		`{"type":"object","properties":{"b":{"type":"boolean","default":true},"n":{"type":"number"}}}`:                                                                                                   ``,
		`{"type":"object","properties":{"c":{"type":"string","enum":["x","y"]}}}`:                                                                                                                        ``,
		`{"type":"object","properties":{"c":{"type":"string","oneOf":[{"const":"x","title":"X"}]}}}`:                                                                                                     ``,
		`{"type":"object","properties":{"c":{"type":"array","items":{"type":"string","enum":["x","y"]},"minItems":1}}}`:                                                                                  ``,
		`{"type":"object","properties":{"c":{"type":"string","enum":["x"],"enumNames":["X"]}}}`:                                                                                                          `{"type":"object","properties":{"c":{"type":"string","oneOf":[{"const":"x","title":"X"}]}}}`,
		`{"$schema":"s","type":"object","properties":{"c":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]}}}}`:                                                                              `{"type":"object","properties":{"c":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]}}}}`,
	} {
		if want == "" {
			want = from
		}
		form, err := ReadForm([]byte(from))
		if err != nil {
			t.Errorf("%s: %v", from, err)
			continue
		}
		written := string(form.AppendForm(nil))
		if written != want {
			t.Errorf("%s\nbecame %s", from, written)
		}
		if again, err := ReadForm([]byte(written)); err != nil || string(again.AppendForm(nil)) != written {
			t.Errorf("%s is read again with %v", written, err)
		}
	}
}

func TestWhatIsNoFormIsRefused(t *testing.T) {
	many := `"a":{"type":"string"},`
	for i := range 70 {
		many += `"f` + string(rune('0'+i%10)) + strings.Repeat("x", i/10) + `":{"type":"bool"},`
	}
	for _, text := range []string{
		``, `null`, `[]`, `{}`, `{"type":"string"}`, `{"type":"object","properties":[]}`,
		`{"type":"object","properties":{"a":{"type":"object","properties":{}}}}`,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}}`,
		`{"type":"object","properties":{"a":{"type":"string","pattern":"^a$"}}}`,
		`{"type":"object","properties":{"a":{"type":"string","format":"password"}}}`,
		`{"type":"object","properties":{"a":{"$ref":"https://evil.example/"}}}`,
		`{"type":"object","properties":{"a":{"type":"string","enum":["x","x"]}}}`,
		`{"type":"object","properties":{"a":{"type":"string","enum":[1]}}}`,
		`{"type":"object","properties":{"a":{"type":"string","default":7}}}`,
		`{"type":"object","properties":{"a":{"type":"string","minLength":-1}}}`,
		`{"type":"object","properties":{"a":{"type":"number","minimum":"x"}}}`,
		`{"type":"object","properties":{"a":true}}`, `{"type":"object","properties":{},"required":["a"]}`,
		`{"type":"object","properties":{` + strings.TrimSuffix(many, ",") + `}}`,
	} {
		if form, err := ReadForm([]byte(text)); err == nil {
			t.Errorf("%s became %s", text, form.AppendForm(nil))
		}
	}
}

// FuzzForm reads texts as forms, and what it reads again as it is written.
func FuzzForm(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"string","enum":["x"],"enumNames":["X"]}},"required":["a"]}`)
	f.Add(`{"type":"object","properties":{"a":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]},"default":["x"]}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		form, err := ReadForm([]byte(text))
		if err != nil {
			return
		}
		for _, m := range form.Members {
			if problem := m.FormError(); problem != "" {
				t.Errorf("%s: %s", text, problem)
			}
		}
		form.Compile()
		written := string(form.AppendForm(nil))
		if again, err := ReadForm([]byte(written)); err != nil || string(again.AppendForm(nil)) != written {
			t.Errorf("%s became %s, which is read with %v", text, written, err)
		}
	})
}
