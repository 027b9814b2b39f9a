package examples_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// A session of a TypeScript client comes to this, whichever client it is and however it speaks.
const seen = `{
	"server": "conformance", "tools": true,
	"text": "This is a simple text response for testing.", "image": "image/png", "failed": true, "header": "Region: Zürich",
	"kept": "The result was kept for you.",
	"elicited": "User response: {\"email\":\"ada@example.com\",\"username\":\"Ada\"}", "sampled": "LLM response: You asked: Why?",
	"roots": "Roots: file:///srv/project", "rounds": "Ada likes Ada.",
	"progress": ["0 of 100"],
	"logs": ["Tool execution started", "Tool processing data", "Tool execution completed"],
	"answers": ["max_tokens = 200", "[There is more: max_tokens = 200 was reached. This tool has no arguments that would return less.]", 1, 2, 3, null],
	"skills": ["skill://house-style/SKILL.md true", "skill://house-style/references/words.md true", "SKILL.md", "references"],
	"resources": ["skill://house-style/SKILL.md", "test://static-binary", "test://static-text", "test://watched-resource"], "templates": ["test://template/{id}/data"],
	"read": "{\"data\":\"Data for ID: 7\",\"id\":\"7\",\"templateTest\":true}", "unknown": -32602,
	"prompts": ["test_input_required_result_prompt", "test_prompt_with_arguments", "test_prompt_with_embedded_resource", "test_prompt_with_image", "test_simple_prompt"],
	"prompt": "Prompt with arguments: arg1='a', arg2='b'", "asked": "Please answer with this in mind: Ada", "completed": ["paris", "park", "party"],
	"told": ["updated test://watched-resource", "tools", "prompts"]
}`

// answers are tools whose answers are cut, and come in pages.
const answers = `
connection "sqlite" "rows" {
  file = "rows.db"
  init = "CREATE TABLE IF NOT EXISTS n (id INTEGER PRIMARY KEY); INSERT OR IGNORE INTO n VALUES (1), (2), (3);"
}
tool "count_far" {
  description = "Count to 1000."
  max_tokens  = 200
  result      = "1..1000"
  returns     = list(integer)
}
tool "walk" {
  description = "Read rows in pages."
  page {
    size = 2
    keys = { id = integer }
  }
  sql "rows" { query = "SELECT id FROM n %{if page.after != null} WHERE id > ${page.after.id} %{endif} ORDER BY id LIMIT ${page.limit}" }
}
`

// became is what becomes of the calls of a client for tasks.
const became = `{
	"greet": "immediate, completed, Hello, Ada!",
	"failing_job": "task, completed, failed: The job failed, as it always does.",
	"protocol_error_job": "task, failed, 1001",
	"confirm_delete": "task, completed, Deleted: a.txt",
	"multi_input": "task, completed, First Ada, then Ada",
	"test_tool_with_task": "task, completed, Hello, Ada!",
	"slow_compute": "task, cancelled, "
}`

// scripted runs a program of testdata with the TypeScript clients in the folder, and compares what it prints.
func (f *folder) scripted(want, script string, args ...string) {
	f.t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", script))
	if err != nil {
		f.t.Fatal(err)
	}
	words := append(append(strings.Fields(os.Getenv("HATCHEL_TEST_TYPESCRIPT")), path), args...)
	cmd := exec.CommandContext(f.t.Context(), words[0], words[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = f.path, f.command().Env, time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	late := time.AfterFunc(2*maxWait, func() { cmd.Process.Kill() })
	defer late.Stop()
	if err := cmd.Wait(); err != nil {
		f.t.Fatalf("%v\n%s", err, &stderr)
	}
	var printed, wanted map[string]any
	for text, into := range map[string]*map[string]any{stdout.String(): &printed, want: &wanted} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			f.t.Fatalf("%v\n%s", err, text)
		}
	}
	for what := range wanted {
		if !reflect.DeepEqual(printed[what], wanted[what]) {
			f.t.Errorf("%s: %v, not %v", what, printed[what], wanted[what])
		}
	}
}

func needsTypeScript(t *testing.T) {
	t.Helper()
	if os.Getenv("HATCHEL_TEST_TYPESCRIPT") == "" {
		t.Skip("HATCHEL_TEST_TYPESCRIPT does not say how to run a program with the TypeScript clients")
	}
}

func TestOfficialTypeScriptClientsUseEveryFeature(t *testing.T) {
	t.Parallel()
	needsTypeScript(t)
	for _, words := range [][]string{{"client", "2026-07-28"}, {"client", "2025-11-25"}, {"sdk", "2025-11-25"}} {
		for transport, target := range map[string]func(f *folder) []string{
			"http":  func(f *folder) []string { return []string{f.serve().url} },
			"stdio": func(f *folder) []string { return []string{hatchel, "serve", "--stdio", "."} },
		} {
			t.Run(strings.Join(words, "/")+"/"+transport, func(t *testing.T) {
				t.Parallel()
				f := example(t, "conformance")
				f.write("answers.hcl", answers)
				f.scripted(seen, "client.cjs", slices.Concat(words, target(f))...)
			})
		}
	}
}

func TestOfficialTypeScriptClientFollowsTasks(t *testing.T) {
	needsTypeScript(t)
	t.Parallel()
	f := example(t, "conformance")
	f.scripted(became, "tasks.cjs", f.serve().url)
}
