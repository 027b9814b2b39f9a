package shelltext

import (
	"os"
	"strings"
	"testing"

	hclv2 "github.com/hashicorp/hcl/v2"

	"hatchel/hcl/template/templatetest"
)

// compileLine compiles a line of a list of commands: what a caller controls besides input.s (env, stdin), the kind of
// the command, and the command, in which \n begins a new line of a script.
func compileLine(t *testing.T, line string) hclv2.Diagnostics {
	t.Helper()
	types := templatetest.Types(t, "s string\nX string")
	in := Inputs{}
	kind, text, _ := strings.Cut(line, " ")
	for ; kind == "env" || kind == "stdin"; kind, text, _ = strings.Cut(text, " ") {
		if kind == "stdin" {
			in.Stdin = "input.s"
		} else {
			in.Env = map[string]InputValue{"X": {"input.s", types["X"]}}
		}
	}
	var diags hclv2.Diagnostics
	switch kind {
	case "command":
		_, diags = CompileArgv(argsOf(t, types, text), in)
	case "pipe":
		_, diags = CompilePipe(argsOf(t, types, text), in)
	case "bash":
		text = "#!/bin/bash\n" + text
		fallthrough
	default:
		_, diags = CompileScript(templatetest.Parse(t, types, strings.ReplaceAll(text, `\n`, "\n")), in)
	}
	return diags
}

func firstError(diags hclv2.Diagnostics) string {
	for _, d := range diags {
		if d.Severity == hclv2.DiagError {
			return d.Summary
		}
	}
	return ""
}

func eachLine(t *testing.T, file string, check func(line string, diags hclv2.Diagnostics)) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		check(line, compileLine(t, strings.TrimSuffix(line, "\n")))
	}
}

func TestCommandsThatRunTheTextOfACallerAreRefused(t *testing.T) {
	eachLine(t, "runs_text.txt", func(line string, diags hclv2.Diagnostics) {
		if err := firstError(diags); err == "" || err == "Shell syntax error" || err == "Not in this shell" {
			t.Errorf("%q: %s", err, line)
		}
	})
}

func TestCommandsOfUnknownProgramsThatGetTheTextOfACallerAreWarnedOf(t *testing.T) {
	eachLine(t, "runs_text_unknown.txt", func(line string, diags hclv2.Diagnostics) {
		if !hasWarning(diags) || diags.HasErrors() {
			t.Errorf("%s: %s", line, templatetest.Render(diags))
		}
	})
}

func TestCommandsThatRunNoTextOfACallerLoad(t *testing.T) {
	eachLine(t, "runs_no_text.txt", func(line string, diags hclv2.Diagnostics) {
		if diags.HasErrors() {
			t.Errorf("%q: %s", firstError(diags), line)
		}
	})
}
