package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
	"hatchel/adapters/mcp/client/mcptest"
	"hatchel/adapters/mcp/definition/definitiontest"
	"hatchel/adapters/sandbox"
)

// serverMode makes the test binary an MCP server over its standard input and output.
const serverMode = "mcp-server"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == serverMode {
		runServer()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const (
	pidTool      = `{"name":"pid","inputSchema":{"type":"object","properties":{}}}`
	tokenTool    = `{"name":"token","inputSchema":{"type":"object","properties":{}}}`
	complainTool = `{"name":"complain","inputSchema":{"type":"object","properties":{}}}`
	exitTool     = `{"name":"exit","inputSchema":{"type":"object","properties":{}}}`
	actTool      = `{"name":"act","inputSchema":{"type":"object","properties":{"how":{"type":"string"}}}}`
	appendTool   = `{"name":"append","inputSchema":{"type":"object","properties":{"id":{"type":"string"},` +
		`"file":{"type":"string"}},"required":["id","file"]}}`
)

func runServer() {
	s := &mcptest.Server{Era: mcptest.Legacy}
	s.SetTools(pidTool, tokenTool, complainTool, exitTool, actTool, appendTool)
	s.Handle("pid", func(*mcptest.Call) (any, error) { return mcptest.Text("%d", os.Getpid()), nil })
	s.Handle("token", func(*mcptest.Call) (any, error) { return mcptest.Text("%s", os.Getenv("TOKEN")), nil })
	s.Handle("complain", func(*mcptest.Call) (any, error) {
		fmt.Fprintln(os.Stderr, "the token is "+os.Getenv("TOKEN"))
		return mcptest.Text("done"), nil
	})
	s.Handle("exit", func(*mcptest.Call) (any, error) {
		os.Exit(3)
		return nil, errors.New("it does not exit")
	})
	s.Handle("act", func(c *mcptest.Call) (any, error) {
		switch {
		case strings.Contains(string(c.Arguments), "stop"):
			_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			time.Sleep(time.Hour) // until all threads have stopped
		case strings.Contains(string(c.Arguments), "ask"):
			answer, err := c.Ask(mcptest.Form("Who?", "name"))
			return mcptest.Text("%s", answer), err
		case strings.Contains(string(c.Arguments), "log"):
			c.Log("info", "not told")
			c.Log("error", "told")
		case strings.Contains(string(c.Arguments), "wait"):
			<-c.Context.Done()
			return nil, c.Context.Err()
		}
		return mcptest.Text("%d", os.Getpid()), nil
	})
	s.Handle("append", func(c *mcptest.Call) (any, error) {
		var in struct{ ID, File string }
		if err := json.Unmarshal(c.Arguments, &in); err != nil {
			return nil, err
		}
		f, err := os.OpenFile(in.File, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if _, err := f.WriteString(in.ID + "\n"); err != nil {
			return nil, err
		}
		time.Sleep(time.Millisecond)
		return mcptest.Text("done"), nil
	})
	s.ServeStdio(context.Background(), os.Stdin, os.Stdout)
}

// program returns a configuration of one tool over a program.
func program(t testing.TB, connection, tool, block string) adaptertest.Source {
	t.Helper()
	if sandbox.LandlockABI() == 0 {
		t.Skip("this kernel cannot confine programs")
	}
	file, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(connection, "sandbox") {
		connection += fmt.Sprintf("\nsandbox { read = [%q] }", file)
	}
	return adaptertest.Source{
		Set: testSet, Env: map[string]string{"KEY": "s3cret-k3y"},
		Files: map[string]string{"test.tools.json": definitiontest.Text(t, pidTool, tokenTool, complainTool, exitTool, actTool, appendTool)},
		HCL: fmt.Sprintf(`
secret "key" { env = "KEY" }
connection "mcp" "test" {
  command     = [%q, %q]
  definitions = "test.tools.json"
%s
}
tool "t" {
  description = "Test."
%s
  mcp "test" {
%s
  }
}
`, file, serverMode, connection, tool, block),
	}
}

// callAs returns the text of a call for an owner.
func callAs(t testing.TB, b *adaptertest.BoundTool, owner, arguments string) (string, error) {
	t.Helper()
	call, err := b.Call(t.Context(), arguments)
	if err != nil {
		t.Fatal(err)
	}
	call.Owner = owner
	out, err := b.Action.Do(t.Context(), call)
	if err != nil {
		return "", err
	}
	return out.(map[string]any)["text"].(string), nil
}

func mustCallAs(t testing.TB, b *adaptertest.BoundTool, owner string) string {
	t.Helper()
	text, err := callAs(t, b, owner, `{}`)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestEachCallerHasAProcessUnlessItIsShared(t *testing.T) {
	for sessions, same := range map[string]bool{"caller": false, "shared": true} {
		b := adaptertest.Bind(t, program(t, fmt.Sprintf("sessions = %q", sessions), "", `call = "pid"`))
		anna, bert := mustCallAs(t, b, "anna"), mustCallAs(t, b, "bert")
		if (anna == bert) != same || mustCallAs(t, b, "anna") != anna {
			t.Errorf("%s: the processes of anna and bert are %s and %s", sessions, anna, bert)
		}
	}
	b := adaptertest.Bind(t, program(t, `sessions = "call"`, "", `call = "pid"`))
	if first := mustCallAs(t, b, "anna"); mustCallAs(t, b, "anna") == first {
		t.Error("two calls had the same process")
	}
}

func TestLogsOfAProgramReachTheClientOfItsOnlyCall(t *testing.T) {
	const how = `input "how" { type = optional(string) }`
	const block = "call = \"act\"\nforward_logs = \"warning\""
	b := adaptertest.Bind(t, program(t, "", how, block))
	call, err := b.Call(t.Context(), `{"how": "log"}`)
	if err != nil {
		t.Fatal(err)
	}
	client := &toldClient{}
	call.Client = client
	if _, err := b.Action.Do(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(client.told); got != `[log error test "told"]` {
		t.Errorf("the client was told %s", got)
	}
	got := adaptertest.MustReject(t, program(t, `sessions = "shared"`, how, block))
	if !strings.Contains(got, `calls of all callers use one process of "test". Remove forward_logs`) {
		t.Errorf("a shared process: %s", got)
	}
}

func TestAProgramGetsItsSecretsByItsEnvironment(t *testing.T) {
	b := adaptertest.Bind(t, program(t, `env = { TOKEN = secret.key }`, "", `call = "token"`))
	if got := mustCallAs(t, b, ""); got != "s3cret-k3y" {
		t.Errorf("the program has %q", got)
	}
}

// stateOf returns the state of the connection.
func stateOf(b *adaptertest.BoundTool) adapters.UpstreamState {
	return b.Handle("test").(adapters.Upstream).UpstreamState()
}

func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

func TestAProgramStartsAtLoadOrWithTheFirstCall(t *testing.T) {
	for _, sessions := range []string{"caller", "shared"} {
		b := adaptertest.Bind(t, program(t, fmt.Sprintf("sessions = %q", sessions), "", `call = "pid"`))
		b.Handle("test").(adapters.Upstream).Watch()
		eventually(t, "the program has started", func() bool {
			s := stateOf(b)
			return s.Sessions == 1 && s.State == adapters.UpstreamReady
		})
		first := mustCallAs(t, b, "anna")
		if s := stateOf(b); s.Sessions != 1 || s.Restarts != 0 {
			t.Errorf("%s: the first call did not get the process: %+v", sessions, s)
		}
		pid, _ := strconv.Atoi(first)
		_ = syscall.Kill(pid, syscall.SIGKILL)
		if sessions == "shared" {
			eventually(t, "the program has started again", func() bool {
				s := stateOf(b)
				return s.Sessions == 1 && s.Restarts == 1
			})
		}
	}
	b := adaptertest.Bind(t, program(t, `start = "call"`, "", `call = "pid"`))
	b.Handle("test").(adapters.Upstream).Watch()
	if s := stateOf(b); s.Sessions != 0 || s.State != adapters.UpstreamStarting {
		t.Errorf("before the first call: %+v", s)
	}
	mustCallAs(t, b, "anna")
	if s := stateOf(b); s.Sessions != 1 || s.State != adapters.UpstreamReady {
		t.Errorf("after the first call: %+v", s)
	}
}

func TestATraceHasTheErrorOutputOfAProgram(t *testing.T) {
	b := adaptertest.Bind(t, program(t, `env = { TOKEN = secret.key }`, "", `call = "complain"`))
	call, err := b.Call(t.Context(), `{}`)
	if err != nil {
		t.Fatal(err)
	}
	traced := ""
	call.Trace = func(event, text string) {
		if event == adapters.TraceStderr {
			traced += text
		}
	}
	for range 100 { // the program writes to another pipe than that of its answers
		if _, err := b.Action.Do(t.Context(), call); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(traced, "the token is (secret)") {
			break
		}
	}
	if !strings.Contains(traced, "the token is (secret)") || strings.Contains(traced, "s3cret") {
		t.Errorf("the trace has %q", traced)
	}
}

func TestACallWhoseProgramEndsIsNotRepeated(t *testing.T) {
	b := adaptertest.Bind(t, program(t, "", "", `call = "exit"`))
	_, err := callAs(t, b, "anna", `{}`)
	fault := new(adapters.Fault)
	if !errors.As(err, &fault) || fault.NotSent || fault.Change != adapters.ChangeUnknown || !fault.Unavailable ||
		fault.Message != "the server of this tool stopped during the call" {
		t.Errorf("got %v", err)
	}
}

// bindAct returns a tool that does what its argument says.
func bindAct(t *testing.T, connection string) *adaptertest.BoundTool {
	return adaptertest.Bind(t, program(t, connection, `  input "how" { type = optional(string, "pid") }`, `call = "act"`))
}

// leave makes a call and leaves it without an answer.
func leave(t *testing.T, b *adaptertest.BoundTool, arguments string) {
	t.Helper()
	call, err := b.Call(t.Context(), arguments)
	if err != nil {
		t.Fatal(err)
	}
	call.Owner = "anna"
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if out, err := b.Action.Do(ctx, call); err == nil {
		t.Fatalf("it was answered: %v", out)
	}
}

func TestAProgramThatDoesNotAnswerIsReplaced(t *testing.T) {
	t.Parallel()
	b := bindAct(t, `sessions = "shared"`)
	before := mustCallAs(t, b, "")
	leave(t, b, `{"how": "stop"}`)
	eventually(t, "another program answers", func() bool {
		call, err := b.Call(t.Context(), `{}`)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		out, err := b.Action.Do(ctx, call)
		return err == nil && out.(map[string]any)["text"] != before
	})
	if s := stateOf(b); s.Restarts != 1 || s.State != adapters.UpstreamReady {
		t.Errorf("%+v", s)
	}
}

func TestAProgramThatAnswersOtherRequestsIsKept(t *testing.T) {
	b := bindAct(t, `sessions = "shared"`)
	before := mustCallAs(t, b, "")
	leave(t, b, `{"how": "wait"}`)
	for range 20 {
		if after := mustCallAs(t, b, ""); after != before {
			t.Fatalf("the process %s was replaced by %s", before, after)
		}
	}
}

// TestAQuestionIsNotTakenForOneOfTheNextCall leaves a call of a program whose questions do not name their call.
func TestAQuestionIsNotTakenForOneOfTheNextCall(t *testing.T) {
	b := bindAct(t, `asks = ["elicitation"]`)
	before := mustCallAs(t, b, "anna")
	if again := mustCallAs(t, b, "anna"); again != before {
		t.Errorf("the process %s was replaced by %s", before, again)
	}
	leave(t, b, `{"how": "wait"}`)
	if after := mustCallAs(t, b, "anna"); after == before {
		t.Error("the next call has the process of a call that may still ask")
	}
}

func TestAProgramAsksTheClientOfItsCall(t *testing.T) {
	b := bindAct(t, `asks = ["elicitation"]`)
	var calls sync.WaitGroup
	for i := range 8 {
		calls.Go(func() {
			call, err := b.Call(t.Context(), `{"how": "ask"}`)
			if err != nil {
				t.Error(err)
				return
			}
			name := fmt.Sprint("user ", i)
			call.Owner = fmt.Sprint("owner ", i%2)
			asker := &fakeAsker{answer: func(adapters.Question) adapters.Answer {
				return adapters.Answer{Action: adapters.AnswerAccept, Content: map[string]any{"name": name}}
			}}
			call.Asker = asker
			out, err := b.Action.Do(t.Context(), call)
			if err != nil || !strings.Contains(fmt.Sprint(out), name) || len(asker.asked) != 1 {
				t.Errorf("%s: %v, %v", name, out, err)
			}
		})
	}
	calls.Wait()
}

// TestKilledProgramsCarryOutNoCallTwice kills the programs while many calls run.
func TestKilledProgramsCarryOutNoCallTwice(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "log")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	binary, _ := os.Executable()
	b := adaptertest.Bind(t, program(t, fmt.Sprintf("sessions = \"shared\"\nsandbox {\n  read = [%q]\n  write = [%q]\n}",
		binary, file), "  input \"id\" { type = string(\"Id\") }\n  input \"file\" { type = string(\"File\") }",
		`call = "append"`))
	b.Handle("test").(adapters.Upstream).Watch()
	var calls sync.WaitGroup
	var done, unknown, unsent atomic.Int32
	ctx, stop := context.WithCancel(t.Context())
	outcome := sync.Map{}
	for worker := range 8 {
		calls.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				id := fmt.Sprintf("%d-%d", worker, n)
				_, err := callAs(t, b, "anna", fmt.Sprintf(`{"id": %q, "file": %q}`, id, file))
				fault := new(adapters.Fault)
				switch {
				case err == nil:
					done.Add(1)
					outcome.Store(id, "done")
				case errors.As(err, &fault) && fault.NotSent:
					unsent.Add(1)
					outcome.Store(id, "unsent")
					time.Sleep(10 * time.Millisecond)
				default:
					unknown.Add(1)
					outcome.Store(id, "unknown")
				}
			}
		})
	}
	for range 3 {
		least := done.Load() + 20
		eventually(t, "calls succeed", func() bool { return done.Load() > least })
		before := stateOf(b).Restarts
		killChildren(t)
		eventually(t, "the program has started again", func() bool { return stateOf(b).Restarts > before })
	}
	stop()
	calls.Wait()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	for id := range strings.Lines(string(text)) {
		times[strings.TrimSpace(id)]++
	}
	outcome.Range(func(id, what any) bool {
		n := times[id.(string)]
		if n > 1 || what == "done" && n != 1 || what == "unsent" && n != 0 {
			t.Errorf("%s is said to be %s, and was carried out %d times", id, what, n)
		}
		return true
	})
	t.Logf("%d done, %d unknown, %d unsent", done.Load(), unknown.Load(), unsent.Load())
}

// killChildren kills the servers that are children of this process.
func killChildren(t testing.TB) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		words, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		_, rest, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) &&
			strings.Contains(string(words), "\x00"+serverMode+"\x00") {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func TestAMissingProgramIsAnErrorAtLoad(t *testing.T) {
	s := program(t, "", "", `call = "pid"`)
	for command, want := range map[string]string{
		`["hatchel-no-such-program"]`:                `"hatchel-no-such-program" is not in the PATH of the program`,
		`["/no/such/program"]`:                       `"/no/such/program" is not on this machine`,
		`["sh", ".mcp/npm/node_modules/x/index.js"]`: `".mcp/npm/node_modules/x/index.js" is not in the configuration directory`,
	} {
		changed := s
		begin, end := strings.Index(s.HCL, "["), strings.Index(s.HCL, "]")
		changed.HCL = s.HCL[:begin] + command + s.HCL[end+1:]
		if got := adaptertest.MustReject(t, changed); !strings.Contains(got, want) {
			t.Errorf("%s: %s", command, got)
		}
	}
}
