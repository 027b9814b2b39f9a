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

func TestOfficialInspectorListsAndCallsEveryExample(t *testing.T) {
	if os.Getenv("HATCHEL_TEST_INSPECTOR") == "" {
		t.Skip("HATCHEL_TEST_INSPECTOR does not say how to run the inspector")
	}
	t.Parallel()
	calls := map[string]struct {
		tool, argument, want string
	}{
		"desk":     {"list_tickets", "status=open", "Label printer prints blank labels"},
		"files":    {"read_note", "name=todo.md", "rotate the token of the shop"},
		"invoices": {"export_report", "year=2026", "(3 vendors)"},
		"ops":      {"count_by_level", "file=app.log", "ERROR"},
		"orders":   {"get_order", "id=4", "O'Brien & Sons"},
		"postgres": {"search_tickets", "words=printer", "out of toner"},
	}
	for name, call := range calls { // not team, which serves nobody whom it does not know
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, want := prepared(t, name), tools[name]
			stdio := append([]string{hatchel, "serve", "--stdio", "."}, f.args...)
			for _, e := range f.env {
				stdio = append(stdio, "-e", e)
			}
			for transport, target := range map[string][]string{"stdio": stdio, "http": {f.serve().url, "--transport", "http"}} {
				var list struct {
					Tools []struct{ Name string }
				}
				answer := f.inspect(append(slices.Clone(target), "--method", "tools/list")...)
				if err := json.Unmarshal(answer, &list); err != nil || len(list.Tools) != len(want) {
					t.Errorf("%s: %v, listed are %s", transport, err, answer)
				}
				answer = f.inspect(append(slices.Clone(target), "--method", "tools/call", "--tool-name", call.tool, "--tool-arg", call.argument)...)
				if !strings.Contains(string(answer), call.want) || strings.Contains(string(answer), `"isError": true`) {
					t.Errorf("%s: %s answers %s", transport, call.tool, answer)
				}
			}
		})
	}
}

func TestOfficialInspectorUsesEveryFeature(t *testing.T) {
	if os.Getenv("HATCHEL_TEST_INSPECTOR") == "" {
		t.Skip("HATCHEL_TEST_INSPECTOR does not say how to run the inspector")
	}
	t.Parallel()
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
