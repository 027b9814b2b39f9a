package shelltext

import (
	"slices"
	"strings"
	"testing"

	hclv2 "github.com/hashicorp/hcl/v2"

	"hatchel/hcl/template/templatetest"
)

func TestUnknownProgramsWithTheTextOfACallerAreWarnedOf(t *testing.T) {
	types := templatetest.Types(t, argvTypes)
	for _, test := range []struct {
		in    string
		known []string // data_programs
		warns bool
	}{
		{`["acme", input.s]`, nil, true},
		{`["/opt/bin/acme", input.s]`, nil, true},
		{`["sudo", "acme", input.s]`, nil, true},
		{`["timeout", "5", "acme", "--text=${input.s}"]`, nil, true},
		{`["acme", input.l]`, nil, true},
		{`["acme", input.s]`, []string{"acme"}, false},
		{`["acme", input.s]`, []string{"other"}, true},
		{`["acme", input.n]`, nil, false},
		{`["acme", input.e]`, nil, false},
		{`["acme", input.b ? "-x" : null]`, nil, false},
		{`["acme", "get"]`, nil, false},
		{`["./acme.sh", input.s]`, nil, false},
		{`["systemctl", "status", input.s]`, nil, false},
		{`["aws", "s3", "ls", input.s]`, nil, false},
		{`["jq", "-n", "--arg", "x", input.s, "$x"]`, nil, false},
		{`["kubectl", "get", "pod", input.s]`, nil, false},
	} {
		_, diags := CompileArgv(argsOf(t, types, test.in), Inputs{DataPrograms: test.known})
		if got := hasWarning(diags); got != test.warns || diags.HasErrors() {
			t.Errorf("%s: %s", test.in, templatetest.Render(diags))
		}
	}
	for script, warns := range map[string]bool{
		"acme ${input.s}": true, "printf '%s' ${input.s} | acme": true, "x=${input.s}; acme \"$x\"": true, "sudo acme ${input.s}": true,
		"acme get; printf '%s' ${input.s}": false, "acme() { printf '%s' \"$1\"; }; acme ${input.s}": false, "acme ${input.n}": false,
		"./acme ${input.s}": false, "logger -- ${input.s}": false,
	} {
		_, diags := CompileScript(templatetest.Parse(t, types, script), Inputs{})
		if got := hasWarning(diags); got != warns || diags.HasErrors() {
			t.Errorf("%s: %s", script, templatetest.Render(diags))
		}
	}
}

func TestADashBeforeTheProgramOfAnUnknownProgramEndsNoOptions(t *testing.T) {
	types := templatetest.Types(t, argvTypes)
	for _, test := range []struct {
		in    string
		known []string // data_programs
		fails bool
	}{
		{`["poetry", "run", "--", "ls", input.s]`, nil, true},
		{`["poetry", "run", "--", "ls", "--", input.s]`, nil, false},
		{`["acme", "--", input.s]`, nil, false},
		{`["acme", "--", "get", input.s]`, []string{"acme"}, false},
		{`["./acme", "--", "get", input.s]`, nil, false},
		{`["kubectl", "exec", "p", "--", "ls", input.s]`, nil, true},
		{`["acme", input.s]`, []string{"acme"}, true},
	} {
		a, diags := CompileArgv(argsOf(t, types, test.in), Inputs{DataPrograms: test.known})
		if diags.HasErrors() {
			t.Fatal(templatetest.Render(diags))
		}
		if _, err := a.Bind(frame{"s": "-rf"}, nil); (err != nil) != test.fails {
			t.Errorf("%s: %v", test.in, err)
		}
	}
}

func hasWarning(diags hclv2.Diagnostics) bool {
	return slices.ContainsFunc(diags, func(d *hclv2.Diagnostic) bool { return d.Summary == unknownSummary })
}

func TestOnlyAContainerRunsItsStandardInput(t *testing.T) {
	types := templatetest.Types(t, argvTypes)
	in := Inputs{Stdin: "input.s", RunsStdin: true}
	for text, fails := range map[string]string{
		`["docker", "run", "--rm", "-i", "--network=none", "python:3", "python3", "-"]`: "",
		`["sudo", "podman", "run", "-i", "alpine", "sh", "-s"]`:                         "",
		`["kubectl", "exec", "-i", "p", "--", "bash", "-s"]`:                            "",
		`["ssh", "sandbox", "sh", "-s"]`:                                                "",
		`["python3", "-"]`:                                                              "Program is not in a container",
		`["sudo", "sh"]`:                                                                "Program is not in a container",
		`["docker", "run", "-i", "alpine", "sh", "-c", input.s]`:                        "Value in a program's code",
	} {
		_, diags := CompileArgv(argsOf(t, types, text), in)
		if got := firstError(diags); got != fails {
			t.Errorf("%s: %q", text, got)
		}
		in := in
		in.RunsStdin = false
		if _, diags := CompileArgv(argsOf(t, types, text), in); firstError(diags) != "Value in a program's code" {
			t.Errorf("%s without runs_stdin: %q", text, firstError(diags))
		}
	}
	if _, diags := CompilePipe(argsOf(t, types, `[["cat"], ["docker", "run", "-i", "alpine", "sh"]]`), in); firstError(diags) != "Pipe runs its input" {
		t.Error(templatetest.Render(diags))
	}
	if _, diags := CompileScript(templatetest.Parse(t, types, "sh"), in); !strings.Contains(firstError(diags), "Script runs") {
		t.Error(templatetest.Render(diags))
	}
}

func TestAProgramIsInOneTable(t *testing.T) {
	for name := range dataPrograms {
		if _, spec := commandSpecs()[name]; spec || readers[name] || filters[name] {
			t.Errorf("%s is in two tables", name)
		}
	}
}
