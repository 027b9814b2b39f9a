package shell

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
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
	var got *adapters.Program
	mocks := &adaptertest.Mocks{Program: func(_ context.Context, p *adapters.Program) (*adapters.Exit, error) {
		got = p
		return &adapters.Exit{Stdout: []byte(`[1, 2]`), Stderr: []byte("warned"), Code: 3}, nil
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
	sent := &adapters.Program{
		Connection: "repo", Argv: []string{"git", "-C", "/srv/repo", "log", "--author=Eva"}, Dir: "of the tools",
		Env: []adapters.EnvVar{{Name: "TZ", Value: "UTC"}}, Stdin: []byte("hello"),
		WritesJSON: true,
	}
	got.Start = nil // runs it for live mocks
	if !reflect.DeepEqual(got, sent) {
		t.Errorf("program %+v", got)
	}
}

func TestTheMockOfAProgramFailsWithItsExitCode(t *testing.T) {
	mocks := &adaptertest.Mocks{Program: func(context.Context, *adapters.Program) (*adapters.Exit, error) {
		return &adapters.Exit{Stderr: []byte("no such branch"), Code: 128}, nil
	}}
	b := bindMocked(t, `{ command = ["git", "log"] }`, mocks)
	_, err := b.Do(t.Context(), `{"author": "Eva"}`)
	if err == nil || !strings.Contains(err.Error(), "no such branch") {
		t.Errorf("error %v", err)
	}
}

func TestAMockedProgramOfAPipeReadsWhatTheOneBeforeWrites(t *testing.T) {
	mocks := &adaptertest.Mocks{Program: func(_ context.Context, p *adapters.Program) (*adapters.Exit, error) {
		return &adapters.Exit{Stdout: []byte(string(p.Stdin) + p.Argv[0] + "\n")}, nil
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
	var got *adapters.Program
	mocks := &adaptertest.Mocks{Program: func(_ context.Context, p *adapters.Program) (*adapters.Exit, error) {
		got = p
		return &adapters.Exit{}, nil
	}}
	b := bindMocked(t, `{ script = "git log --author=${input.author} | wc -l" }`, mocks)
	if _, err := b.Do(t.Context(), `{"author": "Eva"}`); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got.Script, "| wc -l") || len(got.Env) != 1 || got.Env[0].Value != "Eva" {
		t.Errorf("program %+v", got)
	}
}

func TestASlowMockedProgramIsStoppedByTheTimeoutOfTheBlock(t *testing.T) {
	mocks := &adaptertest.Mocks{Program: func(ctx context.Context, _ *adapters.Program) (*adapters.Exit, error) {
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
	mocks := &adaptertest.Mocks{Program: func(context.Context, *adapters.Program) (*adapters.Exit, error) {
		return &adapters.Exit{Stdout: []byte(strings.Repeat("x", 5000))}, nil
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
