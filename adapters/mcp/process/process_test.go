package process_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/mcp/client"
	"hatchel/adapters/mcp/process"
	"hatchel/adapters/program"
	"hatchel/adapters/sandbox"
	"hatchel/internal/sampletest"
)

// maxWait is how long a test waits for a state that comes.
const maxWait = time.Minute

func executable(t testing.TB) string {
	t.Helper()
	file, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// logs collects lines of a log.
type logs struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// config returns the configuration of a confined server with words.
func config(t testing.TB, policy sandbox.Policy, words ...string) (process.Config, *logs) {
	t.Helper()
	log := new(logs)
	c := process.Config{
		Command: append([]string{executable(t), serverMode}, words...), Dir: t.TempDir(),
		Env: environment(""), TempVars: program.DirectoryVars, StartTimeout: maxWait,
		Log: slog.New(slog.NewTextHandler(log, nil)), Changed: func() {},
	}
	if policy.Processes == 0 {
		policy.Processes = 32
	}
	policy.OpenFiles, policy.FileSize = 1024, 1<<30
	policy.Read = append(policy.Read, executable(t))
	policy.Config, policy.Path = c.Dir, os.Getenv("PATH")
	if sandbox.LandlockABI() == 0 {
		t.Skip("this kernel cannot confine programs")
	}
	box, err := sandbox.New(policy, sandbox.LandlockABI())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { box.Close() })
	c.Sandbox = box
	return c, log
}

// open begins a session.
func open(ctx context.Context, transport client.Transport) (*client.Session, error) {
	return client.Open(ctx, transport, client.Options{})
}

// environment returns the environment with a token, which is a secret.
func environment(token string) func(context.Context) (program.Environment, []string, error) {
	return func(context.Context) (program.Environment, []string, error) {
		if token == "" {
			return program.NewEnvironment(), nil, nil
		}
		return program.NewEnvironment().Set("TOKEN", token), []string{token}, nil
	}
}

// unconfined returns the configuration of a server that is not confined.
func unconfined(t testing.TB, words ...string) (process.Config, *logs) {
	c, log := config(t, sandbox.Policy{}, words...)
	c.Sandbox, c.TempVars = nil, nil
	return c, log
}

func start(t testing.TB, c process.Config) *process.Process {
	t.Helper()
	p, err := process.NewLauncher(c).Start(t.Context(), "", open)
	if err != nil {
		cause := errors.Unwrap(err)
		t.Fatalf("%v: %v", err, cause)
	}
	t.Cleanup(p.Close)
	return p
}

func call(ctx context.Context, p *process.Process, tool, text string) (string, error) {
	arguments, _ := json.Marshal(map[string]string{"text": text})
	r, err := p.Call(ctx, &client.Request{Name: tool, Arguments: arguments})
	if err != nil {
		return "", err
	}
	var content []struct{ Text string }
	if err := json.Unmarshal(r.Content, &content); err != nil || len(content) != 1 {
		return "", fmt.Errorf("content %s: %w", r.Content, err)
	}
	return content[0].Text, nil
}

func mustCall(t testing.TB, p *process.Process, tool, text string) string {
	t.Helper()
	got, err := call(t.Context(), p, tool, text)
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return got
}

// isRunning reports whether a process exists that is no zombie.
func isRunning(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z")
}

func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(maxWait); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

func TestAProgramHasAnEnvironmentAndADirectoryOfItsOwn(t *testing.T) {
	t.Setenv("HATCHEL_TEST_VARIABLE", "of the server")
	c, _ := config(t, sandbox.Policy{})
	c.Env = environment("s3cr3t")
	p := start(t, c)
	vars := map[string]string{}
	for line := range strings.Lines(mustCall(t, p, "env", "")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		vars[name] = value
	}
	for name := range vars {
		switch name {
		case "PATH", "HOME", "TMPDIR", "LANG", "TOKEN":
		default:
			t.Errorf("the program has %s=%s", name, vars[name])
		}
	}
	dir := vars["HOME"]
	if dir != vars["TMPDIR"] || dir == "" || dir == os.Getenv("HOME") {
		t.Fatalf("HOME=%s TMPDIR=%s", dir, vars["TMPDIR"])
	}
	if got := mustCall(t, p, "write", filepath.Join(dir, "state")); got != "0" {
		t.Errorf("writing to HOME: %s", got)
	}
	other, _ := config(t, sandbox.Policy{})
	if got := mustCall(t, start(t, other), "read", filepath.Join(dir, "state")); !strings.Contains(got, "permission denied") {
		t.Errorf("another program reads the file: %s", got)
	}
	p.Close()
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is still there: %v", err)
	}
}

func TestAConfinedServerIsDeniedWhatItMayNotDo(t *testing.T) {
	home := t.TempDir()
	secret := filepath.Join(home, ".ssh")
	if err := os.WriteFile(secret, []byte("private key"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, _ := config(t, sandbox.Policy{})
	p := start(t, c)
	for _, attack := range []struct{ tool, argument, denied string }{
		{"read", secret, "permission denied"},
		{"list", home, "permission denied"},
		{"read", filepath.Join("/proc", strconv.Itoa(os.Getpid()), "environ"), "error"},
		{"write", filepath.Join(c.Dir, "tool.hcl"), "permission denied"},
		{"connect", "127.0.0.1:1", "permission denied"},
		{"listen", "127.0.0.1:0", "permission denied"},
		{"run", "cat " + secret, "error"},
	} {
		if got := mustCall(t, p, attack.tool, attack.argument); !strings.Contains(got, attack.denied) {
			t.Errorf("%s %s: %q", attack.tool, attack.argument, got)
		}
	}
}

// TestExcessEndsTheProgram also shows that its calls fail at once.
func TestExcessEndsTheProgram(t *testing.T) {
	for tool, c := range map[string]struct {
		policy sandbox.Policy
		says   string
	}{
		"fork": {sandbox.Policy{Processes: 20}, "20 processes at the same time"},
		"burn": {sandbox.Policy{CPUShare: 0.02}, "200ms of CPU time in 10s"},
	} {
		t.Run(tool, func(t *testing.T) {
			config, log := config(t, c.policy)
			p := start(t, config)
			pid, _ := strconv.Atoi(mustCall(t, p, "pid", ""))
			_, err := call(t.Context(), p, tool, "")
			if failed := new(client.Error); !errors.As(err, &failed) || failed.Kind != client.Unknown {
				t.Errorf("the call ended with %v", err)
			}
			p.Close()
			if isRunning(pid) {
				t.Error("the program is still there")
			}
			want := "was ended because it used more than " + c.says
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log does not say %q: %s", want, log)
			}
		})
	}
}

// processesWith returns the processes whose command line has a word.
func processesWith(t testing.TB, word string) (pids []int) {
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
		text, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if strings.Contains("\x00"+string(text)+"\x00", "\x00"+word+"\x00") && isRunning(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func TestNothingOutlivesTheSession(t *testing.T) {
	for name, make := range map[string]func(testing.TB, ...string) (process.Config, *logs){
		"confined": func(t testing.TB, words ...string) (process.Config, *logs) {
			return config(t, sandbox.Policy{}, words...)
		},
		"unconfined": unconfined,
	} {
		for _, words := range [][]string{nil, {"background"}, {"stay"}, {"stay", "background"}} {
			t.Run(name+"/"+strings.Join(words, ","), func(t *testing.T) {
				t.Parallel()
				mark := fmt.Sprintf("mark-%d-%p", os.Getpid(), t)
				c, log := make(t, append(words, mark)...)
				p := start(t, c)
				mustCall(t, p, "pid", "")
				p.Close()
				if left := processesWith(t, mark); len(left) > 0 {
					t.Errorf("processes %v are left", left)
				}
				select {
				case <-p.Done():
				default:
					t.Error("the session has not ended")
				}
				if log.String() != "" {
					t.Errorf("the end that was asked for is logged: %s", log)
				}
			})
		}
	}
}

func TestCallsFailAtOnceWhenTheProgramEnds(t *testing.T) {
	c, log := config(t, sandbox.Policy{}, "background") // a process that keeps the output open
	l := process.NewLauncher(c)
	p, err := l.Start(t.Context(), "anna", open)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	_, err = call(t.Context(), p, "exit", "7")
	failed := new(client.Error)
	if !errors.As(err, &failed) || failed.Kind != client.Unknown || !errors.Is(err, client.ErrClosed) {
		t.Fatalf("got %v", err)
	}
	eventually(t, "the log says how the program has ended", func() bool {
		return strings.Contains(log.String(), `msg="program ended" exit="ended with exit code 7"`) &&
			strings.Contains(log.String(), "stderr=bye")
	})
	eventually(t, "nothing of the program runs", func() bool { return len(processesWith(t, c.Command[1])) == 0 })
	if _, err := call(t.Context(), p, "pid", ""); !errors.As(err, &failed) || failed.Kind != client.NotSent {
		t.Errorf("a later call: %v", err)
	}
}

func TestRestartsWaitForLongerAndOnlyForTheirOwner(t *testing.T) {
	c, _ := config(t, sandbox.Policy{})
	l := process.NewLauncher(c)
	crash := func(owner string) {
		t.Helper()
		p, err := l.Start(t.Context(), owner, open)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = call(t.Context(), p, "exit", "1")
		p.Close()
	}
	crash("anna") // 0.5 s
	crash("anna") // 1 s
	crash("anna") // 2 s, for which no call waits
	_, err := l.Start(t.Context(), "anna", open)
	fault := new(adapters.Fault)
	if !errors.As(err, &fault) || !fault.NotSent || !fault.Unavailable ||
		err.Error() != "The server of this tool is not running. Nothing was sent. Try again in 2 seconds." {
		t.Errorf("got %v", err)
	}
	p, err := l.Start(t.Context(), "bert", open)
	if err != nil {
		t.Errorf("another owner: %v", err)
	} else {
		p.Close()
	}
	if got := l.State(); got.Restarts != 2 || got.Failed || got.Failure != "" {
		t.Errorf("%+v", got)
	}
}

func TestAConnectionFailsAfterSeveralStarts(t *testing.T) {
	c, log := config(t, sandbox.Policy{}, "exit=3")
	c.Env = environment("s3cr3t")
	l := process.NewLauncher(c)
	var err error
	for n := 1; !l.State().Failed; n++ {
		if n > 100 {
			t.Fatal("it does not fail")
		}
		if _, err = l.Start(t.Context(), fmt.Sprint("owner ", n), open); err == nil {
			t.Fatal("no error")
		}
		var fault *adapters.Fault
		if errors.As(err, &fault) {
			time.Sleep(min(fault.RetryAfter, 5*time.Second))
		}
	}
	if got, want := l.State().Failure, "the program ended with exit code 3 before it had initialized"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
	text := log.String()
	if !strings.Contains(text, "level=ERROR msg=\"start of the program failed repeatedly\"") ||
		!strings.Contains(text, "cannot start: the token is (secret)") || strings.Contains(text, "s3cr3t") {
		t.Error(text)
	}
	if got := strings.Count(text, "msg="); got != 5 {
		t.Errorf("%d lines: %s", got, text)
	}
	if _, err = l.Start(t.Context(), "", open); err == nil || !strings.Contains(err.Error(), "Try again in 60 seconds") &&
		!strings.Contains(err.Error(), "Try again in 5") {
		t.Errorf("got %v", err)
	}
}

func TestAStartHasATimeout(t *testing.T) {
	mark := fmt.Sprintf("mark-%d-%p", os.Getpid(), t)
	c, log := config(t, sandbox.Policy{}, "silent", mark)
	c.StartTimeout = 100 * time.Millisecond
	if _, err := process.NewLauncher(c).Start(t.Context(), "", open); err == nil {
		t.Fatal("no error")
	}
	if left := processesWith(t, mark); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	if !strings.Contains(log.String(), "the program did not initialize within start_timeout") {
		t.Error(log)
	}
}

func TestAMissingProgramIsNamed(t *testing.T) {
	c, _ := config(t, sandbox.Policy{})
	c.Command = []string{"hatchel-no-such-program"}
	l := process.NewLauncher(c)
	_, err := l.Start(t.Context(), "", open)
	if err == nil || !errors.Is(err, program.ErrNotFound) {
		t.Fatalf("got %v", err)
	}
	if got := l.State().Failure; got != `the program "hatchel-no-such-program" could not be started: program not found` {
		t.Error(got)
	}
}

func TestServersOfBothErasStart(t *testing.T) {
	for _, words := range [][]string{nil, {"modern"}} {
		c, _ := config(t, sandbox.Policy{}, words...)
		p := start(t, c)
		want := client.Revision20251125
		if words != nil {
			want = client.Revision20260728
		}
		if p.Protocol() != want {
			t.Errorf("%v: %s", words, p.Protocol())
		}
	}
}

func TestTheErrorOutputIsBoundedAndHasNoSecret(t *testing.T) {
	c, _ := config(t, sandbox.Policy{})
	c.Env = environment("s3cr3t")
	p := start(t, c)
	for _, size := range []int{10, 300_000} {
		mustCall(t, p, "stderr", strconv.Itoa(size))
		eventually(t, "the error output was read", func() bool { return strings.HasSuffix(p.Stderr(), " end") })
		text := p.Stderr()
		if len(text) > 65<<10 || strings.Contains(text, "s3cr3t") || !strings.Contains(text, "(secret)") ||
			strings.Contains(text, "beginning") != (size == 10) {
			t.Errorf("%d bytes: …%s", len(text), text[max(len(text)-100, 0):])
		}
	}
}

// TestManyProgramsStartAtOnce starts as many programs as those of which most were not ready in time elsewhere.
func TestManyProgramsStartAtOnce(t *testing.T) {
	count := len(sampletest.Of(t, 33, make([]struct{}, 99)))
	c, _ := config(t, sandbox.Policy{}, "delay=200ms")
	c.StartTimeout = 20 * time.Second
	var starts sync.WaitGroup
	var mu sync.Mutex
	var started []*process.Process
	for range count {
		starts.Go(func() {
			p, err := process.NewLauncher(c).Start(t.Context(), "", open)
			if err != nil {
				t.Errorf("%v: %v", err, errors.Unwrap(err))
				return
			}
			mu.Lock()
			defer mu.Unlock()
			started = append(started, p)
		})
	}
	starts.Wait()
	var ends sync.WaitGroup
	for _, p := range started {
		ends.Go(p.Close)
	}
	ends.Wait()
	if len(started) != count {
		t.Errorf("%d of %d programs have started", len(started), count)
	}
}

func TestAProgramIsKeptRunning(t *testing.T) {
	c, _ := config(t, sandbox.Policy{})
	l := process.NewLauncher(c)
	ctx, cancel := context.WithCancel(t.Context())
	var keeping sync.WaitGroup
	begun := make(chan *process.Process)
	keeping.Go(func() {
		l.KeepRunning(ctx, true, func(ctx context.Context) (<-chan struct{}, error) {
			p, err := l.Start(ctx, "", open)
			if err != nil {
				return nil, err
			}
			begun <- p
			return p.Done(), nil
		})
	})
	var last int
	for range 3 {
		p := <-begun
		pid, _ := strconv.Atoi(mustCall(t, p, "pid", ""))
		if pid == last {
			t.Error("the program was not started again")
		}
		last = pid
		_ = syscall.Kill(pid, syscall.SIGKILL)
		<-p.Done()
		p.Close()
	}
	cancel()
	go func() {
		for p := range begun {
			p.Close()
		}
	}()
	keeping.Wait()
	close(begun)
	if got := l.State().Restarts; got < 2 {
		t.Errorf("%d restarts", got)
	}
}

// killedMode makes the test binary a server that starts a program, and is killed.
const killedMode = "until-killed"

// runUntilKilled starts a program with a mark and waits.
func runUntilKilled(how string) {
	testing.Init()
	mode, mark, _ := strings.Cut(how, "/")
	t := new(testing.B)
	make := unconfined
	if mode == "confined" {
		make = func(t testing.TB, words ...string) (process.Config, *logs) {
			return config(t, sandbox.Policy{}, words...)
		}
	}
	c, _ := make(t, "stay", "background", mark)
	if _, err := process.NewLauncher(c).Start(context.Background(), "", open); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("started")
	time.Sleep(time.Hour)
}

func TestNoProgramOutlivesAKilledServer(t *testing.T) {
	for _, mode := range []string{"confined", "unconfined"} {
		t.Run(mode, func(t *testing.T) {
			mark := fmt.Sprintf("mark-%d-%p", os.Getpid(), t)
			server := exec.CommandContext(t.Context(), executable(t), killedMode, mode+"/"+mark)
			server.Env = append(os.Environ(), "TMPDIR="+t.TempDir()) // of what it leaves
			out, err := server.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := server.Start(); err != nil {
				t.Fatal(err)
			}
			line := make([]byte, 100)
			n, err := out.Read(line)
			if string(line[:n]) != "started\n" {
				t.Fatalf("%q, %v", line[:n], err)
			}
			if len(processesWith(t, mark)) == 0 {
				t.Fatal("the program does not run")
			}
			_ = server.Process.Kill()
			_ = server.Wait()
			eventually(t, "no process is left", func() bool { return len(processesWith(t, mark)) == 0 })
		})
	}
}
