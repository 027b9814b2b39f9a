package hcl_test

import (
	"fmt"
	"strings"
	"testing"

	"hatchel/hcl/schema"
)

const textual = `prompt "p" {
  description = "Takes texts."
  argument "text" {}
  argument "note" { type = optional(string) }
  argument "count" { type = optional(integer, 3) }
  argument "ratio" { type = optional(number) }
  argument "flag" { type = optional(bool) }
  argument "color" { type = optional(enum("red", "blue")) }
  argument "level" {
    type     = optional(integer)
    complete = [1, "2"]
  }
  argument "tags" { type = optional(list(string), []) }
  argument "size" { type = optional(object({ w = integer })) }
  message "user" { text = jsonencode(input) }
}`

func TestTextsBecomeWhatTheirTypeSays(t *testing.T) {
	p := offered(t, textual).Prompts[0]
	for _, c := range []struct {
		given map[string]string
		want  string // the inputs that differ from those of a text alone, or the violations
	}{
		{map[string]string{}, "count:3 tags:[]"},
		{map[string]string{"note": "", "count": "5", "ratio": "0.5", "flag": "true", "color": "red"}, "color:red count:5 flag:true note: ratio:0.5 tags:[]"},
		{map[string]string{"count": "", "ratio": "", "flag": "", "color": "", "tags": "", "size": ""}, "count:3 tags:[]"},
		{map[string]string{"count": "1e2", "tags": `["a", "b"]`, "size": `{"w": 1.0}`}, "count:100 size:map[w:1] tags:[a b]"},
		{map[string]string{"count": "many"}, `count: must be an integer, got the string "many"`},
		{map[string]string{"count": "1.5"}, `count: must be an integer, got the number 1.5`},
		{map[string]string{"count": "007"}, `count: must be an integer, got the string "007"`},
		{map[string]string{"count": "null"}, `count: must be an integer, got the string "null"`},
		{map[string]string{"flag": "yes"}, `flag: must be true or false, got the string "yes"`},
		{map[string]string{"color": "green"}, `color: must be one of "red", "blue", got the string "green"`},
		{map[string]string{"tags": "a,b"}, `tags: must be a list, got the string "a,b"`},
		{map[string]string{"tags": "[1]"}, `tags[0]: must be a string, got the number 1`},
		{map[string]string{"colour": "red"}, `unknown argument "colour"`},
	} {
		given := map[string]string{"text": "5"}
		for name, text := range c.given {
			given[name] = text
		}
		values, violations, _ := p.ParseTexts(given, schema.Unlimited)
		got := strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(values), "map["), "]")
		if len(violations) > 0 {
			got = violations[0].String()
		} else if values["text"] != "5" {
			t.Errorf("%v: the text is %v", c.given, values["text"])
		}
		got = strings.TrimSpace(strings.Replace(strings.Replace(got, " text:5", "", 1), "text:5", "", 1))
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%v: got %s, want %s", c.given, got, c.want)
		}
	}
	if _, violations, _ := p.ParseTexts(map[string]string{"count": "x", "flag": "y"}, schema.Unlimited); len(violations) != 3 {
		t.Errorf("not every mistake is reported: %v", violations)
	}
}
