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

// isRunning reports whether a process exists and is not a zombie.
func isRunning(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	return fields[0] != "Z" && fields[0] != "X"
}

// maxWait is how long an expected event may take on a busy machine. Programs that must be stopped run far longer.
const maxWait = time.Minute

// eventually waits until a condition holds, and reports whether it does.
func eventually(so func() bool) bool {
	deadline := time.NewTimer(maxWait)
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

// requireFast fails the test unless one of several attempts takes less than the limit. A busy machine delays some attempts,
// a defect all of them.
func requireFast(t *testing.T, limit time.Duration, attempt func() time.Duration) {
	t.Helper()
	var took time.Duration
	for range 20 {
		if took = attempt(); took < limit {
			return
		}
	}
	t.Errorf("took %v, again and again", took)
}

// awaitExit waits until a process has ended.
func awaitExit(t *testing.T, pid int) {
	t.Helper()
	if !eventually(func() bool { return !isRunning(pid) }) {
		t.Fatalf("process %d is still there", pid)
	}
}

// awaitPID waits until a process has written its ID to a file, followed by a newline.
func awaitPID(t *testing.T, file string) int {
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

// writableDir lets programs write to the configuration directory.
const writableDir = "\nsandbox { write = [\".\"] }"

// cancelCall makes a call and cancels it when the file "pid" has the ID of a process. It returns the ID, and how long the
// call took to end.
func cancelCall(t *testing.T, block string) (pid int, took time.Duration) {
	t.Helper()
	return cancelCallIn(t, t.TempDir(), block)
}

func cancelCallIn(t *testing.T, folder, block string) (pid int, took time.Duration) {
	t.Helper()
	s := newTool(block + writableDir)
	s.Dir = folder
	b := adaptertest.Bind(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := b.Do(ctx, `{}`)
		ended <- err
	}()
	pid = awaitPID(t, filepath.Join(b.Dir, "pid"))
	start := time.Now()
	cancel()
	if err := <-ended; err != context.Canceled {
		t.Errorf("the call ended with %v", err)
	}
	return pid, time.Since(start)
}

func TestCancelEndsAllProcesses(t *testing.T) {
	for name, script := range map[string]string{
		"child":              `echo $$ > pid; sleep 1000`,
		"grandchild":         `sh -c 'echo $$ > pid; sleep 1000'; echo never`,
		"in the background":  `sh -c 'echo $$ > pid; sleep 1000' & wait`,
		"letting go of both": `sh -c 'echo $$ > pid; sleep 1000' >/dev/null 2>&1 & sleep 1000`,
	} {
		t.Run(name, func(t *testing.T) {
			requireFast(t, gracePeriod, func() time.Duration {
				pid, took := cancelCall(t, fmt.Sprintf("script = %q", script))
				awaitExit(t, pid)
				return took
			})
		})
	}
}

func TestProgramsThatIgnoreSIGTERMAreKilled(t *testing.T) {
	for name, script := range map[string]string{
		"child":      `trap '' TERM; echo $$ > pid; sleep 1000; sleep 1000`,
		"grandchild": `(trap '' TERM; sh -c 'echo $$ > pid; sleep 1000; sleep 1000') & wait`,
	} {
		t.Run(name, func(t *testing.T) {
			pid, took := cancelCall(t, fmt.Sprintf("script = %q", script))
			awaitExit(t, pid)
			if took > maxWait {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestProgramsMayHandleSIGTERM(t *testing.T) {
	for range 5 { // the grace may be over before a busy machine lets a program go on
		folder := t.TempDir()
		cancelCallIn(t, folder, fmt.Sprintf("script = %q", "trap 'echo tidy > tidied; exit 0' TERM; echo $$ > pid; sleep 1000 & wait"))
		if text, err := os.ReadFile(filepath.Join(folder, "tidied")); err == nil && string(text) == "tidy\n" {
			return
		}
	}
	t.Error("a program that was asked to end could not tidy up")
}

func TestCancelEndsAllStages(t *testing.T) {
	pid, _ := cancelCall(t, `pipe = [["sh", "-c", "echo $$ > pid; exec sleep 1000"], ["cat"], ["sh", "-c", "cat; sleep 1000"]]`)
	awaitExit(t, pid)
}

func TestTimeoutFault(t *testing.T) {
	for _, timeout := range []string{"200ms", "2s", "30s"} { // a busy machine may take a while to run the first command
		f := runFault(t, fmt.Sprintf("script = \"echo got so far >&2; sleep 1000\"\ntimeout = %q", timeout), `{}`)
		told := "the script did not finish within " + timeout + " and was stopped"
		if f.Message == told+"; the output ends with: got so far" {
			break
		}
		if f.Message != told || timeout == "30s" {
			t.Error(f.Message)
		}
	}
	f := runFault(t, "pipe = [[\"sleep\", \"1000\"], [\"cat\"]]\ntimeout = \"100ms\"", `{}`)
	if f.Message != "the commands did not finish within 100ms and were stopped" {
		t.Error(f.Message)
	}
}

// unconfined turns the sandbox off.
const unconfined = "\nsandbox { mode = \"none\" }"

func TestBackgroundProcessDoesNotDelayTheCall(t *testing.T) {
	b := adaptertest.Bind(t, newTool(`script = "sleep 1000 & echo $! > pid; echo hi"`+unconfined))
	start := time.Now()
	out, err := b.Do(t.Context(), `{}`)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > maxWait {
		t.Errorf("took %v", took)
	}
	if out["stdout"] != "hi\n" {
		t.Errorf("%q", out["stdout"])
	}
	pid := awaitPID(t, filepath.Join(b.Dir, "pid"))
	if !isRunning(pid) {
		t.Error("what was started in the background is not left to itself")
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

func TestClosedOutputLeavesNoDelay(t *testing.T) {
	b := adaptertest.Bind(t, newTool(`script = "sleep 1000 >/dev/null 2>&1 & echo $! > pid; echo hi"`+unconfined))
	requireFast(t, drainTimeout, func() time.Duration {
		start := time.Now()
		if _, err := b.Do(t.Context(), `{}`); err != nil {
			t.Fatal(err)
		}
		took := time.Since(start)
		_ = syscall.Kill(awaitPID(t, filepath.Join(b.Dir, "pid")), syscall.SIGKILL)
		return took
	})
}

func TestOutputOfShortProgramsIsComplete(t *testing.T) {
	b := adaptertest.Bind(t, newTool(`command = ["head", "-c", "700000", "/dev/zero"]`))
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
	out := mustRun(t, `script = "cut -d' ' -f5,6,7 /proc/$$/stat; echo $$"`, `{}`)
	f := strings.Fields(out["stdout"].(string))
	if f[0] != f[3] || f[1] != f[3] || f[2] != "0" {
		t.Errorf("group, session, terminal and id are %v", f)
	}
}

func TestFiveHundredCallsLeakNothing(t *testing.T) {
	b := adaptertest.Bind(t, newTool(`
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
	before := countResources(t)
	for range calls {
		once()
	}
	var after resources
	if !eventually(func() bool {
		after = countResources(t)
		return after.files <= before.files+slack && after.goroutines <= before.goroutines+slack && after.children <= before.children+slack
	}) {
		t.Errorf("%d calls made %+v of %+v", calls, after, before)
	}
}

// resources counts what this process holds. Children are those that it has not reaped.
type resources struct{ files, goroutines, children int }

func countResources(t *testing.T) resources {
	t.Helper()
	return resources{countDescriptors(t), runtime.NumGoroutine(), countChildren(t)}
}

func countDescriptors(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(open)
}

// countChildren counts the processes that this one has started and not reaped.
func countChildren(t *testing.T) (n int) {
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
