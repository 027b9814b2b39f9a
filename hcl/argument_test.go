package hcl

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// offered is a configuration of one file without errors.
func offered(t *testing.T, src string) *Config {
	config, diags := Load(files("a.hcl", src), testKinds(), Options{})
	if diags.HasErrors() {
		t.Fatalf("%s", printed(t, diags, config.Sources))
	}
	return config
}

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
		values, violations := p.FromTexts(given)
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
	if _, violations := p.FromTexts(map[string]string{"count": "x", "flag": "y"}); len(violations) != 3 {
		t.Errorf("not every mistake is reported: %v", violations)
	}
}

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
	f := callFrame(t.Context())
	values, violations := c.FromTexts(map[string]string{"id": "1"})
	if len(violations) > 0 {
		t.Fatal(violations)
	}
	f.Input = values
	f.Output = map[string]any{"status": 200, "body": map[string]any{"ids": []any{"12", "21"}}}
	got, err := c.Result.Eval(f, f.Output)
	if err != nil || !reflect.DeepEqual(got, []any{"12"}) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestAToolsetHoldsWhatItsPatternsName(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"*", "", true}, {"*", "a.b", true}, {"a*", "a", true}, {"a*", "ba", false}, {"*a", "ba", true},
		{"a*a", "a", false}, {"a*a", "aa", true}, {"a*b*c", "aXbYc", true}, {"a*b*c", "acb", false}, {"*b*", "abc", true}, {"a**c", "abc", true}, {"a*b*b*c", "abc", false},
	} {
		s := &Toolset{Tools: []string{"other", c.pattern}}
		if got := s.HasTool(c.name); got != c.want {
			t.Errorf("%q in %q: %t", c.name, c.pattern, got)
		}
	}
	var all *Toolset
	if !all.HasTool("a") || !all.HasPrompt("a") || !all.HasResource("a") || (&Toolset{}).HasPrompt("a") {
		t.Error("everything is offered without a toolset, and nothing that a toolset does not name")
	}
}

func TestAResourceHoldsWhatItsBackendGives(t *testing.T) {
	config := offered(t, `connection "sqlite" "db" { file = "a.db" }
resource "a_rows" {
  uri = "r://rows"
  sql "db" { query = "SELECT 1" }
}
resource "b_file" {
  uri_template = "r://{+name}"
  file { read = input.name }
}
resource "c_text" {
  uri  = "r://text"
  text = "x"
}`)
	f := callFrame(t.Context())
	for i, c := range []struct {
		output any
		uri    string
		want   any
		media  string
	}{
		{map[string]any{"rows": []any{1}}, "r://rows", []any{1}, "application/json"},
		{map[string]any{"content": "# x"}, "r://a.md", "# x", "text/markdown"},
		{map[string]any{"content": "# x"}, "r://a", "# x", "text/plain"},
	} {
		r := config.Resources[min(i, 1)]
		f.Output = c.output
		got, err := r.Body.Eval(f)
		if err != nil || !reflect.DeepEqual(got, c.want) || r.MediaType(c.uri, got) != c.media {
			t.Errorf("%s: got %v as %s, %v", c.uri, got, r.MediaType(c.uri, got), err)
		}
	}
	if config.Resources[2].Body != nil {
		t.Error("a resource with a text has a body")
	}
}
