package examples_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// A session of a TypeScript client comes to this, whichever client it is and however it speaks.
const seen = `{
	"server": "conformance", "tools": true,
	"text": "This is a simple text response for testing.", "image": "image/png", "failed": true, "header": "Region: Zürich",
	"elicited": "User response: {\"email\":\"ada@example.com\",\"username\":\"Ada\"}", "sampled": "LLM response: You asked: Why?",
	"roots": "Roots: file:///srv/project", "rounds": "Ada likes Ada.",
	"progress": ["0 of 100", "50 of 100"],
	"logs": ["Tool execution started", "Tool processing data", "Tool execution completed"],
	"resources": ["test://static-binary", "test://static-text", "test://watched-resource"], "templates": ["test://template/{id}/data"],
	"read": "{\"data\":\"Data for ID: 7\",\"id\":\"7\",\"templateTest\":true}", "unknown": -32602,
	"prompts": ["test_input_required_result_prompt", "test_prompt_with_arguments", "test_prompt_with_embedded_resource", "test_prompt_with_image", "test_simple_prompt"],
	"prompt": "Prompt with arguments: arg1='a', arg2='b'", "asked": "Please answer with this in mind: Ada", "completed": ["paris", "park", "party"],
	"told": ["updated test://watched-resource", "tools", "prompts"]
}`

func TestOfficialTypeScriptClientsUseEveryFeature(t *testing.T) {
	if os.Getenv("HATCHEL_TEST_TYPESCRIPT") == "" {
		t.Skip("HATCHEL_TEST_TYPESCRIPT does not say how to run a program with the TypeScript clients")
	}
	script, err := filepath.Abs("testdata/client.cjs")
	if err != nil {
		t.Fatal(err)
	}
	for name, words := range map[string][]string{
		"client/2026-07-28": {"client", "2026-07-28"},
		"client/2025-11-25": {"client", "2025-11-25"},
		"sdk/2025-11-25":    {"sdk", "2025-11-25"},
	} {
		for transport, target := range map[string]func(f *folder) []string{
			"http":  func(f *folder) []string { return []string{f.serve().url} },
			"stdio": func(f *folder) []string { return []string{hatchel, "serve", "--stdio", "."} },
		} {
			t.Run(name+"/"+transport, func(t *testing.T) {
				t.Parallel()
				f := example(t, "conformance")
				run := append(append(strings.Fields(os.Getenv("HATCHEL_TEST_TYPESCRIPT")), script), append(words, target(f)...)...)
				cmd := exec.CommandContext(t.Context(), run[0], run[1:]...)
				cmd.Dir, cmd.Env = f.path, f.command().Env
				cmd.WaitDelay = time.Second
				late := time.AfterFunc(2*patience, func() { cmd.Process.Kill() })
				defer late.Stop()
				var stdout, stderr bytes.Buffer
				cmd.Stdout, cmd.Stderr = &stdout, &stderr
				if err := cmd.Run(); err != nil {
					t.Fatalf("%v\n%s", err, &stderr)
				}
				var got, want map[string]any
				if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
					t.Fatalf("%v\n%s", err, &stdout)
				}
				if err := json.Unmarshal([]byte(seen), &want); err != nil {
					t.Fatal(err)
				}
				for what := range want {
					if !reflect.DeepEqual(got[what], want[what]) {
						t.Errorf("%s: %v, not %v", what, got[what], want[what])
					}
				}
			})
		}
	}
}
