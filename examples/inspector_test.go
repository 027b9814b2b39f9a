package examples_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"hatchel/internal/sampletest"
)

// inspect runs the official inspector's command line.
func (f *folder) inspect(args ...string) []byte {
	f.t.Helper()
	words := append(strings.Fields(os.Getenv("HATCHEL_TEST_INSPECTOR")), args...)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir, cmd.Env = f.path, f.command().Env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		f.t.Fatalf("inspector %q: %v\n%s%s", args, err, &stdout, &stderr)
	}
	return stdout.Bytes()
}

// inspectorCase is a call of a tool of an example over a transport, and what its answer has.
type inspectorCase struct{ example, transport, tool, argument, want string }

func TestOfficialInspectorListsAndCallsEveryExample(t *testing.T) {
	t.Parallel()
	if os.Getenv("HATCHEL_TEST_INSPECTOR") == "" {
		t.Skip("HATCHEL_TEST_INSPECTOR does not say how to run the inspector")
	}
	var cases []inspectorCase
	for _, c := range []inspectorCase{ // not team, which serves nobody whom it does not know
		{example: "desk", tool: "list_tickets", argument: "status=open", want: "Label printer prints blank labels"},
		{example: "files", tool: "read_note", argument: "name=todo.md", want: "rotate the token of the shop"},
		{example: "invoices", tool: "export_report", argument: "year=2026", want: "(3 vendors)"},
		{example: "ops", tool: "count_by_level", argument: "file=app.log", want: "ERROR"},
		{example: "orders", tool: "get_order", argument: "id=4", want: "O'Brien & Sons"},
		{example: "postgres", tool: "search_tickets", argument: "words=printer", want: "out of toner"},
	} {
		for _, c.transport = range []string{"stdio", "http"} {
			cases = append(cases, c)
		}
	}
	for _, c := range sampletest.Of(t, 5, cases) {
		t.Run(c.example+" over "+c.transport, func(t *testing.T) {
			t.Parallel()
			f, want := prepared(t, c.example), tools[c.example]
			var target []string
			if c.transport == "http" {
				target = []string{f.serve().url, "--transport", "http"}
			} else {
				target = append([]string{hatchel, "serve", "--stdio", "."}, f.args...)
				for _, e := range f.env {
					target = append(target, "-e", e)
				}
			}
			var list struct {
				Tools []struct{ Name string }
			}
			answer := f.inspect(append(slices.Clone(target), "--method", "tools/list")...)
			if err := json.Unmarshal(answer, &list); err != nil || len(list.Tools) != len(want) {
				t.Errorf("%v, listed are %s", err, answer)
			}
			answer = f.inspect(append(slices.Clone(target), "--method", "tools/call", "--tool-name", c.tool, "--tool-arg", c.argument)...)
			if !strings.Contains(string(answer), c.want) || strings.Contains(string(answer), `"isError": true`) {
				t.Errorf("%s answers %s", c.tool, answer)
			}
		})
	}
}

func TestOfficialInspectorUsesEveryFeature(t *testing.T) {
	t.Parallel()
	if os.Getenv("HATCHEL_TEST_INSPECTOR") == "" {
		t.Skip("HATCHEL_TEST_INSPECTOR does not say how to run the inspector")
	}
	f := example(t, "conformance")
	targets := map[string][]string{
		"stdio": {hatchel, "serve", "--stdio", "."},
		"http":  {f.serve().url, "--transport", "http"},
	}
	type question struct{ transport, method, want string }
	var questions []question
	for _, q := range []question{
		{"", "tools/list", `"test_custom_header"`},
		{"", "tools/call --tool-name test_multiple_content_types", `"test://mixed-content-resource"`},
		{"", "tools/call --tool-name test_tool_with_logging", `"Three messages were logged."`},
		{"", "resources/list", `"test://static-text"`},
		{"", "resources/read --uri test://template/7/data", `Data for ID: 7`},
		{"", "resources/templates/list", `"test://template/{id}/data"`},
		{"", "prompts/list", `"test_simple_prompt"`},
		{"", "prompts/get --prompt-name test_prompt_with_arguments --prompt-args arg1=a arg2=b", `arg1='a', arg2='b'`},
	} {
		questions = append(questions, question{"stdio", q.method, q.want}, question{"http", q.method, q.want})
	}
	for _, q := range sampletest.Of(t, 6, questions) {
		answer := f.inspect(slices.Concat(targets[q.transport], []string{"--method"}, strings.Fields(q.method))...)
		if !json.Valid(answer) || !strings.Contains(string(answer), q.want) {
			t.Errorf("%s: %s answers %s", q.transport, q.method, answer)
		}
	}
}

// prepared is a copy of an example with what it needs around it.
func prepared(t *testing.T, name string) *folder {
	t.Helper()
	switch name {
	case "orders":
		f, _ := orders(t)
		return f
	case "ops":
		return ops(t)
	case "postgres":
		return helpdesk(t)
	}
	return example(t, name)
}
