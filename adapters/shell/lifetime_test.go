package shell

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hatchel/adapters/adaptertest"
)

// running reports whether a process is there and no zombie.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	return fields[0] != "Z" && fields[0] != "X"
}

// gone waits until a process has ended.
func gone(t *testing.T, pid int) {
	t.Helper()
	deadline := time.After(5 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for running(pid) {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("process %d is still there", pid)
		}
	}
}

// pidIn waits for a process to write its id into a file, which ends with a newline.
func pidIn(t *testing.T, file string) int {
	t.Helper()
	deadline := time.After(5 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		text, _ := os.ReadFile(file)
		if strings.HasSuffix(string(text), "\n") {
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("nobody wrote a process id")
		}
	}
}

// cancelled makes a call, cancels it when the process whose id is in the file "pid" is there, and returns that id and how long the call went on.
func cancelled(t *testing.T, block string) (pid int, took time.Duration) {
	t.Helper()
	b := adaptertest.Bind(t, tool(block))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := b.Do(ctx, `{}`)
		ended <- err
	}()
	pid = pidIn(t, filepath.Join(b.Dir, "pid"))
	start := time.Now()
	cancel()
	if err := <-ended; err != context.Canceled {
		t.Errorf("the call ended with %v", err)
	}
	return pid, time.Since(start)
}

func TestCancelEndsTheWholeGroup(t *testing.T) {
	for name, script := range map[string]string{
		"child":              `echo $$ > pid; sleep 1000`,
		"grandchild":         `sh -c 'echo $$ > pid; sleep 1000'; echo never`,
		"in the background":  `sh -c 'echo $$ > pid; sleep 1000' & wait`,
		"letting go of both": `sh -c 'echo $$ > pid; sleep 1000' >/dev/null 2>&1 & sleep 1000`,
	} {
		t.Run(name, func(t *testing.T) {
			pid, took := cancelled(t, fmt.Sprintf("script = %q", script))
			gone(t, pid)
			if took > grace {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestProgramsThatIgnoreTheRequestAreKilled(t *testing.T) {
	for name, script := range map[string]string{
		"child":      `trap '' TERM; echo $$ > pid; sleep 1000; sleep 1000`,
		"grandchild": `(trap '' TERM; sh -c 'echo $$ > pid; sleep 1000; sleep 1000') & wait`,
	} {
		t.Run(name, func(t *testing.T) {
			pid, took := cancelled(t, fmt.Sprintf("script = %q", script))
			gone(t, pid)
			if took > grace+unkillable {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestProgramsMayTidyUpWhenAsked(t *testing.T) {
	b := adaptertest.Bind(t, tool(`
    script  = "trap 'echo tidy > tidied; exit 0' TERM; echo $$ > pid; sleep 1000 & wait"
    timeout = "300ms"
`))
	faultOf(t, b, `{}`)
	if text, err := os.ReadFile(filepath.Join(b.Dir, "tidied")); err != nil || string(text) != "tidy\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestEveryStageOfAPipeIsEnded(t *testing.T) {
	pid, _ := cancelled(t, `pipe = [["sh", "-c", "echo $$ > pid; exec sleep 1000"], ["cat"], ["sh", "-c", "cat; sleep 1000"]]`)
	gone(t, pid)
}

func TestTimeoutIsAFault(t *testing.T) {
	f := fault(t, "script = \"echo got so far >&2; sleep 1000\"\ntimeout = \"200ms\"", `{}`)
	if f.Message != "the script did not finish within 200ms and was stopped; the end of what was written: got so far" {
		t.Error(f.Message)
	}
	f = fault(t, "pipe = [[\"sleep\", \"1000\"], [\"cat\"]]\ntimeout = \"100ms\"", `{}`)
	if f.Message != "the commands did not finish within 100ms and were stopped" {
		t.Error(f.Message)
	}
}

func TestBackgroundProcessDoesNotHoldTheCall(t *testing.T) {
	b := adaptertest.Bind(t, tool(`script = "sleep 1000 & echo $! > pid; echo hi"`))
	start := time.Now()
	out, err := b.Do(t.Context(), `{}`)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 10*drain {
		t.Errorf("took %v", took)
	}
	if out["stdout"] != "hi\n" {
		t.Errorf("%q", out["stdout"])
	}
	pid := pidIn(t, filepath.Join(b.Dir, "pid"))
	if !running(pid) {
		t.Error("what was started in the background is not left to itself")
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

func TestAnOutputThatNobodyWaitsForLeavesNoDelay(t *testing.T) {
	b := adaptertest.Bind(t, tool(`script = "sleep 1000 >/dev/null 2>&1 & echo $! > pid; echo hi"`))
	start := time.Now()
	if _, err := b.Do(t.Context(), `{}`); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > drain {
		t.Errorf("took %v", took)
	}
	_ = syscall.Kill(pidIn(t, filepath.Join(b.Dir, "pid")), syscall.SIGKILL)
}

func TestOutputOfAProgramThatEndsAtOnceIsWhole(t *testing.T) {
	b := adaptertest.Bind(t, tool(`command = ["head", "-c", "700000", "/dev/zero"]`))
	for range 20 {
		out, err := b.Do(t.Context(), `{}`)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(out["stdout"].(string)); n != 700_000 {
			t.Fatalf("%d bytes arrived", n)
		}
	}
}

func TestEveryProgramLeadsASession(t *testing.T) {
	out := must(t, `script = "cut -d' ' -f5,6,7 /proc/$$/stat; echo $$"`, `{}`)
	f := strings.Fields(out["stdout"].(string))
	if f[0] != f[3] || f[1] != f[3] || f[2] != "0" {
		t.Errorf("group, session, terminal and id are %v", f)
	}
}

func TestFiveHundredCallsLeaveNothing(t *testing.T) {
	b := adaptertest.Bind(t, tool(`
    pipe  = [["cat"], ["sh", "-c", "cat; echo x >&2"]]
    stdin = input.s
`))
	once := func() {
		if _, err := b.Do(t.Context(), `{"s":"abc"}`); err != nil {
			t.Fatal(err)
		}
	}
	once()
	files, goroutines := descriptors(t), runtime.NumGoroutine()
	for range 500 {
		once()
	}
	if n := descriptors(t); n > files {
		t.Errorf("%d files are open, %d before", n, files)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines, %d before", n, goroutines)
	}
	if left := children(t); len(left) > 0 {
		t.Errorf("children are left: %v", left)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(open)
}

// children are the processes that this one has not reaped.
func children(t *testing.T) (left []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		rest := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(rest) > 1 && rest[1] == strconv.Itoa(os.Getpid()) {
			left = append(left, string(stat))
		}
	}
	return left
}
