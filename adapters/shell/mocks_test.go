package shell

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
	"hatchel/hcl/mock"
)

func bindMocked(t *testing.T, block string, mocks adapters.Mocks) *adaptertest.BoundTool {
	t.Helper()
	return adaptertest.Bind(t, adaptertest.Source{Set: newSet(), Mocks: mocks, HCL: `
connection "shell" "repo" { command = ["git", "-C", "/srv/repo"] }
tool "log" {
  description = "Shows."
  input "author" { type = string }
  shell ` + block + `
}`})
}

func TestMocksAnswerInPlaceOfPrograms(t *testing.T) {
	var got *mock.Question
	mocks := &adaptertest.Mocks{Reply: func(_ context.Context, q *mock.Question) (map[string]any, error) {
		got = q
		return map[string]any{"stdout": `[1, 2]`, "stderr": "warned", "exit": 3}, nil
	}}
	b := bindMocked(t, `"repo" {
    command  = ["log", "--author=${input.author}"]
    env      = { TZ = "UTC" }
    stdin    = "hello"
    ok_codes = [3]
    parse    = "json"
  }`, mocks)
	out, err := b.Do(t.Context(), `{"author": "Eva"}`)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"stdout": `[1, 2]`, "stderr": "warned", "code": 3, "truncated": false, "json": []any{1, 2},
	}
	if !reflect.DeepEqual(out, want) {
		t.Errorf("output %v", out)
	}
	sent := map[string]any{
		"command": []any{"git", "-C", "/srv/repo", "log", "--author=Eva"}, "dir": "of the tools",
		"env": map[string]any{"TZ": "UTC"}, "stdin": "hello",
	}
	if !reflect.DeepEqual(got.Sent, sent) || got.Connection != "repo" {
		t.Errorf("sent %+v", got.Sent)
	}
}

func TestTheMockOfAProgramFailsWithItsExitCode(t *testing.T) {
	mocks := &adaptertest.Mocks{Reply: func(context.Context, *mock.Question) (map[string]any, error) {
		return map[string]any{"stderr": "no such branch", "exit": 128}, nil
	}}
	b := bindMocked(t, `{ command = ["git", "log"] }`, mocks)
	_, err := b.Do(t.Context(), `{"author": "Eva"}`)
	if err == nil || !strings.Contains(err.Error(), "no such branch") {
		t.Errorf("error %v", err)
	}
}

func TestAMockedProgramOfAPipeReadsWhatTheOneBeforeWrites(t *testing.T) {
	mocks := &adaptertest.Mocks{Reply: func(_ context.Context, q *mock.Question) (map[string]any, error) {
		return map[string]any{"stdout": fmt.Sprint(q.Sent["stdin"], q.Sent["command"].([]any)[0], "\n")}, nil
	}}
	b := bindMocked(t, `{
    pipe  = [["git", "log"], ["sort"], ["uniq"]]
    parse = "lines"
  }`, mocks)
	out, err := b.Do(t.Context(), `{"author": "Eva"}`)
	if err != nil || !reflect.DeepEqual(out["lines"], []any{"git", "sort", "uniq"}) {
		t.Errorf("output %v, error %v", out, err)
	}
}

func TestTheMockOfAScriptSeesItsTextAndItsValues(t *testing.T) {
	var got *mock.Question
	mocks := &adaptertest.Mocks{Reply: func(_ context.Context, q *mock.Question) (map[string]any, error) {
		got = q
		return nil, nil
	}}
	b := bindMocked(t, `{ script = "git log --author=${input.author} | wc -l" }`, mocks)
	if _, err := b.Do(t.Context(), `{"author": "Eva"}`); err != nil {
		t.Fatal(err)
	}
	env, _ := got.Sent["env"].(map[string]any)
	if !strings.Contains(got.Sent["script"].(string), "| wc -l") || len(env) != 1 {
		t.Fatalf("sent %+v", got.Sent)
	}
	for _, text := range env {
		if text != "Eva" {
			t.Errorf("env %v", env)
		}
	}
}

func TestASlowMockedProgramIsStoppedByTheTimeoutOfTheBlock(t *testing.T) {
	mocks := &adaptertest.Mocks{Reply: func(ctx context.Context, _ *mock.Question) (map[string]any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	b := bindMocked(t, `{
    command = ["git", "gc"]
    timeout = "`+(10*time.Millisecond).String()+`"
  }`, mocks)
	_, err := b.Do(t.Context(), `{"author": "Eva"}`)
	if err == nil || !strings.Contains(err.Error(), "10ms") {
		t.Errorf("error %v", err)
	}
}

func TestTheOutputOfAMockIsCutLikeThatOfAProgram(t *testing.T) {
	mocks := &adaptertest.Mocks{Reply: func(context.Context, *mock.Question) (map[string]any, error) {
		return map[string]any{"stdout": strings.Repeat("x", 5000)}, nil
	}}
	b := bindMocked(t, `{
    command    = ["git", "log"]
    max_output = "1KiB"
    truncate   = true
  }`, mocks)
	out, err := b.Do(t.Context(), `{"author": "Eva"}`)
	if err != nil || out["truncated"] != true || !strings.Contains(out["stdout"].(string), "bytes truncated") {
		t.Errorf("output %v, error %v", out, err)
	}
}
