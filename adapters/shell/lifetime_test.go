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

// patience is how long anything that has to happen may take on a busy machine. What ends only when it is made to sleeps far longer.
const patience = time.Minute

// eventually asks until something is so, and reports whether it came to be.
func eventually(so func() bool) bool {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-deadline.C:
			return so()
		}
	}
	return true
}

// soon fails the test unless one of some attempts takes less than the limit: a busy machine delays the one or the other, a defect all of them.
func soon(t *testing.T, limit time.Duration, attempt func() time.Duration) {
	t.Helper()
	var took time.Duration
	for range 20 {
		if took = attempt(); took < limit {
			return
		}
	}
	t.Errorf("took %v, again and again", took)
}

// gone waits until a process has ended.
func gone(t *testing.T, pid int) {
	t.Helper()
	if !eventually(func() bool { return !running(pid) }) {
		t.Fatalf("process %d is still there", pid)
	}
}

// pidIn waits for a process to write its id into a file, which ends with a newline.
func pidIn(t *testing.T, file string) int {
	t.Helper()
	var text []byte
	if !eventually(func() bool { text, _ = os.ReadFile(file); return strings.HasSuffix(string(text), "\n") }) {
		t.Fatal("nobody wrote a process id")
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// writable lets a block write into the folder of its configuration.
const writable = "\nsandbox { write = [\".\"] }"

// cancelled makes a call, cancels it when the process whose id is in the file "pid" is there, and returns that id and how long the call went on.
func cancelled(t *testing.T, block string) (pid int, took time.Duration) {
	t.Helper()
	return cancelledIn(t, t.TempDir(), block)
}

func cancelledIn(t *testing.T, folder, block string) (pid int, took time.Duration) {
	t.Helper()
	s := tool(block + writable)
	s.Dir = folder
	b := adaptertest.Bind(t, s)
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
			soon(t, gracePeriod, func() time.Duration {
				pid, took := cancelled(t, fmt.Sprintf("script = %q", script))
				gone(t, pid)
				return took
			})
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
			if took > patience {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestProgramsMayTidyUpWhenAsked(t *testing.T) {
	for range 5 { // the grace may be over before a busy machine lets a program go on
		folder := t.TempDir()
		cancelledIn(t, folder, fmt.Sprintf("script = %q", "trap 'echo tidy > tidied; exit 0' TERM; echo $$ > pid; sleep 1000 & wait"))
		if text, err := os.ReadFile(filepath.Join(folder, "tidied")); err == nil && string(text) == "tidy\n" {
			return
		}
	}
	t.Error("a program that was asked to end could not tidy up")
}

func TestEveryStageOfAPipeIsEnded(t *testing.T) {
	pid, _ := cancelled(t, `pipe = [["sh", "-c", "echo $$ > pid; exec sleep 1000"], ["cat"], ["sh", "-c", "cat; sleep 1000"]]`)
	gone(t, pid)
}

func TestTimeoutIsAFault(t *testing.T) {
	for _, timeout := range []string{"200ms", "2s", "30s"} { // a busy machine may take a while to run the first command
		f := fault(t, fmt.Sprintf("script = \"echo got so far >&2; sleep 1000\"\ntimeout = %q", timeout), `{}`)
		told := "the script did not finish within " + timeout + " and was stopped"
		if f.Message == told+"; the output ends with: got so far" {
			break
		}
		if f.Message != told || timeout == "30s" {
			t.Error(f.Message)
		}
	}
	f := fault(t, "pipe = [[\"sleep\", \"1000\"], [\"cat\"]]\ntimeout = \"100ms\"", `{}`)
	if f.Message != "the commands did not finish within 100ms and were stopped" {
		t.Error(f.Message)
	}
}

// free lets the programs of a block do all that the server may.
const free = "\nsandbox { mode = \"none\" }"

func TestBackgroundProcessDoesNotHoldTheCall(t *testing.T) {
	b := adaptertest.Bind(t, tool(`script = "sleep 1000 & echo $! > pid; echo hi"`+free))
	start := time.Now()
	out, err := b.Do(t.Context(), `{}`)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > patience {
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
	b := adaptertest.Bind(t, tool(`script = "sleep 1000 >/dev/null 2>&1 & echo $! > pid; echo hi"`+free))
	soon(t, drainTimeout, func() time.Duration {
		start := time.Now()
		if _, err := b.Do(t.Context(), `{}`); err != nil {
			t.Fatal(err)
		}
		took := time.Since(start)
		_ = syscall.Kill(pidIn(t, filepath.Join(b.Dir, "pid")), syscall.SIGKILL)
		return took
	})
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
	const calls, slack = 500, 50 // a leak is at least one for every call
	once()
	before := held(t)
	for range calls {
		once()
	}
	var after holdings
	if !eventually(func() bool {
		after = held(t)
		return after.files <= before.files+slack && after.goroutines <= before.goroutines+slack && after.children <= before.children+slack
	}) {
		t.Errorf("%d calls made %+v of %+v", calls, after, before)
	}
}

// holdings are what the process has in hand. Children are those that it has not reaped.
type holdings struct{ files, goroutines, children int }

func held(t *testing.T) holdings {
	t.Helper()
	return holdings{descriptors(t), runtime.NumGoroutine(), children(t)}
}

func descriptors(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(open)
}

// children counts the processes that this one has started and not reaped.
func children(t *testing.T) (n int) {
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
			n++
		}
	}
	return n
}
