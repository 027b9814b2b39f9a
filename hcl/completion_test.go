package hcl_test

import (
	"reflect"
	"testing"

	"hatchel/hcl/schema"
)

func TestATypeCompletesItself(t *testing.T) {
	p := offered(t, textual).Prompts[0]
	for name, want := range map[string][]string{"color": {"red", "blue"}, "flag": {"true", "false"}, "level": {"1", "2"}, "text": nil, "nothing": nil} {
		var got []string
		if c := p.Completion(name); c != nil {
			got = c.Values
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s is completed by %q, want %q", name, got, want)
		}
	}
}

func TestACompletionReadsWhatWasTyped(t *testing.T) {
	config := offered(t, `prompt "p" {
  description = "Is completed."
  argument "kind" { type = enum("a", "b") }
  argument "id" {
    type = integer
    complete {
      http { get = "https://a.example/${input.kind == null ? "any" : input.kind}/${input.id}" }
      result = "output.body.ids | filter(# startsWith input.id)"
    }
  }
  message "user" { text = "${input.id} of ${input.kind}" }
}`)
	c := config.Prompts[0].Completion("id")
	values, violations, _ := c.ParseTexts(map[string]string{"id": "1"}, schema.Unlimited)
	if len(violations) > 0 {
		t.Fatal(violations)
	}
	f := frameOf(t, values)
	f.Output = map[string]any{"status": 200, "body": map[string]any{"ids": []any{"12", "21"}}}
	got, err := c.Result.Eval(f, f.Output)
	if err != nil || !reflect.DeepEqual(got, []any{"12"}) {
		t.Errorf("got %v, %v", got, err)
	}
}
