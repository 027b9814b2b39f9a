package surface_test

import (
	"fmt"
	"strings"
	"testing"

	"hatchel/hcl/surface"
)

// forms are ways to write a tool that do the same, in lists.
var forms = map[string][]string{
	"a name of a local": {
		`allow = "caller.subject in local.map.a"`, `allow = "caller.subject in local['map'].a"`,
		`allow = "caller.subject in local?.map.a"`, `allow = "caller.subject in (local).map.a"`,
		`allow = "caller.subject in local?.map?.a"`, `allow = "caller['subject'] in local.map['a']"`,
		`allow = "(caller?.subject) in (local.map.a)"`, `allow = "caller.subject in local.other"`,
		"allow = <<-E\n    caller.subject // who\n      in /* one of */ local.map.a\n  E\n",
	},
	"a value": {
		`title = "Order of ann"`, "title = \"Order of ${local.name}\"", "title = \"Order of ${local[\"name\"]}\"",
		`title = "Order of ${(local).name}"`,
	},
	"a request": {
		`http { get = "https://a.example/${local.map.b}/${input.x}" }`,
		`http { get = "https://a.example/${local["map"].b}/${input["x"]}" }`,
		`http { get = "https://a.example/${(local).map["b"]}/${(input).x}" }`,
		"http {\n    # a comment\n    get = (\"https://a.example/${local.map.b /* b */}/${ input.x }\")\n  }",
	},
	"a list": {
		`http {
    post = "https://a.example/"
    json = { a = [1, 2], "b" = local.name }
  }`, `http {
    post = "https://a.example/"
    json = {
      "a" = [
        1,
        2, // the last
      ],
      b = local["name"]
    }
  }`,
	},
	"a statement": {
		`sql "db" { exec = "DELETE FROM a WHERE id = ${input.x} AND b = 'x  y'" }`,
		"sql \"db\" { exec = \"DELETE  FROM a\\n WHERE id=${input.x}  AND b = 'x  y'\" }",
		"sql \"db\" {\n    exec = <<-SQL\n      DELETE FROM a -- all\n      WHERE id = ${input.x}\n        AND b = 'x  y'\n    SQL\n  }",
	},
	"a rule": {
		`allow = "caller.subject == 'ann' and not ('x' in caller.groups)"`,
		`allow = "(caller.subject == 'ann') && 'x' not in caller.groups"`,
		"allow = \"caller.subject == \\\"ann\\\" && !('x' in caller['groups'])\"",
	},
	"an optional member of an object without a type": {`result = "input.any.a.b"`},
	"one that may be null":                           {`result = "input.any.a?.b"`},
	"literals": {
		`http {
    post = "https://a.example/"
    json = { n = 1, m = -1, t = "a", l = local.name, o = { p = true }, q = [null, 2] }
  }`, `http {
    post = ("https://a.example/")
    json = ({ n = (1), m = (-1), t = ("a"), l = ("${local.name}"), o = ({ p = (true) }), q = [(null), (2)] })
  }`, `http {
    post = "https://a.example/"
    json = { n = ((1)), m = -(1), t = (("a")), l = "${(local["name"])}", o = { p = ((true)) }, q = ([null, (2)]) }
  }`,
	},
	"words in parentheses": {
		`shell { pipe = [["cat", "/etc/hosts"], { command = ["grep", "x"], ok_codes = [0, 1] }] }`,
		`shell { pipe = [["cat", ("/etc/hosts")], { "command" = ["grep", "x"], "ok_codes" = [0, (1)] }] }`,
	},
	"a condition":                    {`text = input.x == 1 ? "a" : "b"`, `text = (input.x) == (1) ? ("a") : "b"`},
	"other operands":                 {`text = input.x == 1 ? "b" : "a"`},
	"a text with an if":              {`text = "%{if input.x == 1}a%{else}b%{endif}\n"`, "text = <<-T\n%{if input.x == 1 ~}\na\n%{~ else ~}\nb\n%{~ endif ~}\n\n  T\n"},
	"white space in a literal":       {`allow = "caller.subject == 'a  b'"`},
	"other white space in a literal": {`allow = "caller.subject == 'a b'"`},
	"a comment that ends a rule":     {"allow = <<-E\n    caller.subject == 'ann' // who and 'x' in caller.groups\n  E\n"},
	"a rule that no comment ends":    {"allow = <<-E\n    caller.subject == 'ann' // who\n    and 'x' in caller.groups\n  E\n"},
	"a program that runs":            {"shell {\n    command = [\"python3\"]\n    stdin = <<-P\n      if x:\n        y()\n      z()\n    P\n  }"},
	"a program that does not":        {"shell {\n    command = [\"python3\"]\n    stdin = <<-P\n      if x:\n        y()\n        z()\n    P\n  }"},
	"words of a command":             {`shell { command = ["a", "b c"] }`},
	"other words of a command":       {`shell { command = ["a", "b", "c"] }`},
	"a stage":                        {`shell { pipe = [["a"], ["b"]] }`},
	"a word that looks like a stage": {`shell { command = ["a", "|", "b"] }`},
	"a text with braces":             {`shell { command = ["a", "{x}"] }`},
	"a text with a value":            {`shell { command = ["a", "${input.x}"] }`},
	"a dollar":                       {`text = "$${input.x}"`},
	"a value of the call":            {`text = "${input.x}"`},
	"a name with a dot":              {`result = "input.any['a.b']"`, `result = "input['any']['a.b']"`},
	"a sum":                          {`result = "input.x - (1 - 2)"`},
	"another sum":                    {`result = "input.x - 1 - 2"`, `result = "(input.x - 1) - 2"`},
	"a dynamic name":                 {`text = local[input.any.n]`},
}

func formSurface(t *testing.T, argument string) string {
	t.Helper()
	text := fmt.Sprintf(`locals {
  map   = { a = ["ann"], b = "x" }
  other = ["ann"]
  name  = "ann"
}
connection "sqlite" "db" { file = "a.db" }
tool "t" {
  description = "Does it."
  input "x" { type = integer }
  input "any" { type = any }
  check "x" { that = "input.x > 0 and input.any != null" }
  %s
}
`, argument)
	if !strings.Contains(argument, "http") && !strings.Contains(argument, "sql") && !strings.Contains(argument, "shell") &&
		!strings.Contains(argument, "result") && !strings.Contains(argument, "text") {
		text = strings.Replace(text, argument, argument+"\n  text = \"done\"", 1)
	}
	return string(surfaceOfText(t, text).Lock())
}

// TestALockSaysWhatIsMeant compares the locks of tools that do the same, and of tools that do not.
func TestALockSaysWhatIsMeant(t *testing.T) {
	locks := map[string]string{}
	for claim, ways := range forms {
		first := formSurface(t, ways[0])
		for _, way := range ways[1:] {
			if got := formSurface(t, way); got != first {
				t.Errorf("%s: %s has another lock than %s:\n%s", claim, way, ways[0],
					firstDifference([]byte(got), []byte(first)))
			}
		}
		if other, twice := locks[first]; twice {
			t.Errorf("%s has the same lock as %s", claim, other)
		}
		locks[first] = claim
	}
}

// TestTheNameOfALocalHasNoMeaning renames locals.
func TestTheNameOfALocalHasNoMeaning(t *testing.T) {
	base := read(t, "testdata/base.hcl")
	renamed := strings.ReplaceAll(base, "ledger_file", "password_of_ledger")
	if changes := surface.Compare(surfaceOfText(t, base), surfaceOfText(t, renamed)).Changes; len(changes) > 0 {
		t.Errorf("%v", changes)
	}
}
