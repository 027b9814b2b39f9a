package guard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestACommandLeavesNothingBehind(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "(setsid sh -c 'echo $$; exec sleep 1000') & sleep 0.3; exit 3")
	if err := Wrap(cmd); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.Output()
	exit := (*exec.ExitError)(nil)
	if !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("the command ended with %v", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	if _, running := parentOf(pid); running {
		t.Errorf("process %d is still there", pid)
	}
}

func TestTheEndOfItsContextEndsACommand(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", "trap '' TERM; setsid sleep 1000 & sleep 1000")
	if err := Wrap(cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Run(); err == nil || ctx.Err() == nil {
		t.Errorf("the command ended with %v", err)
	}
}

func TestTheStatusOfAProgramIsItsOwn(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	attr := &os.ProcAttr{Dir: "/", Files: []*os.File{null, null, null}}
	for script, want := range map[string]syscall.WaitStatus{"exit 7": 7 << 8, "kill -9 $$": 9, "exit 0": 0} {
		p, err := Start("/bin/sh", []string{"sh", "-c", script}, attr)
		if err != nil {
			t.Fatal(err)
		}
		p.WaitExit()
		if got, err := p.Wait(); err != nil || got != want {
			t.Errorf("%s: %v, %v", script, got, err)
		}
	}
	if _, err := Start("/nowhere", []string{"nowhere"}, attr); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a program that does not exist: %v", err)
	}
}

// startScript starts a script of the shell without streams.
func startScript(t *testing.T, script string) *Program {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	attr := &os.ProcAttr{Dir: t.TempDir(), Files: []*os.File{null, null, null}}
	p, err := Start("/bin/sh", []string{"sh", "-c", script}, attr)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// await waits until a condition holds.
func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !so(); {
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
		runtime.Gosched()
	}
}

// helperPID returns the parent of a running program, which is the helper of programs.
func helperPID(t *testing.T) int {
	t.Helper()
	p := startScript(t, "exec sleep 1000")
	helper, ok := parentOf(p.Pid())
	if !ok {
		t.Fatal("the program does not run")
	}
	_ = unix.Kill(p.Pid(), unix.SIGKILL)
	if exit, err := p.Wait(); err != nil || exit.Signal() != unix.SIGKILL {
		t.Errorf("%v, %v", exit, err)
	}
	return helper
}

// childrenOf counts the children of a process, also those that have exited.
func childrenOf(pid int) (n int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		if stat, err := os.ReadFile(file); err == nil {
			fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
			if len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
				n++
			}
		}
	}
	return n
}

func TestOneProcessStartsAllPrograms(t *testing.T) {
	helper := helperPID(t)
	var programs sync.WaitGroup
	for i := range 50 {
		programs.Go(func() {
			p := startScript(t, fmt.Sprintf("exit %d", i))
			if exit, err := p.Wait(); err != nil || exit.ExitStatus() != i {
				t.Errorf("%v, %v", exit, err)
			}
		})
	}
	programs.Wait()
	if again := helperPID(t); again != helper {
		t.Errorf("process %d starts programs, and then process %d", helper, again)
	}
}

// Programs that are not waited for keep their IDs, while processes that others have left behind are reaped.
func TestOrphansAreReapedAndProgramsAreNot(t *testing.T) {
	helper := helperPID(t)
	var exited []*Program
	for range 20 {
		p := startScript(t, "(setsid true & true) & exit 3")
		p.WaitExit()
		exited = append(exited, p)
	}
	await(t, "orphans are not reaped", func() bool { return childrenOf(helper) == len(exited) })
	for _, p := range exited {
		if unix.Kill(p.Pid(), 0) != nil {
			t.Errorf("the ID %d was reused", p.Pid())
		}
		if exit, err := p.Wait(); err != nil || exit.ExitStatus() != 3 {
			t.Errorf("%v, %v", exit, err)
		}
	}
	await(t, "programs are not reaped", func() bool { return childrenOf(helper) == 0 })
}

func TestProgramsAreStartedAgainAfterTheirHelperWasKilled(t *testing.T) {
	helper := helperPID(t)
	running := startScript(t, "exec sleep 1000")
	_ = unix.Kill(helper, unix.SIGKILL)
	if _, err := running.Wait(); !errors.Is(err, errNoAnswer) {
		t.Errorf("got %v", err)
	}
	_ = unix.Kill(running.Pid(), unix.SIGKILL)
	// A thread that ends later keeps the socket open, so the process must be gone, not only its first thread.
	await(t, "the helper was not killed", func() bool { return errors.Is(unix.Kill(helper, 0), unix.ESRCH) })
	if again := helperPID(t); again == helper {
		t.Error("a helper that was killed starts programs")
	}
}

func TestTheErrorOfAProgramIsThatOfTheKernel(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	files := []*os.File{null, null, null}
	for name, c := range map[string]struct {
		file, dir string
		argv      []string
		want      error
	}{
		"no file":      {"/nowhere", "/", []string{"x"}, fs.ErrNotExist},
		"no directory": {"/bin/true", "/nowhere", []string{"x"}, fs.ErrNotExist},
		"no program":   {"/etc/passwd", "/", []string{"x"}, fs.ErrPermission},
		"a NUL":        {"/bin/true", "/", []string{"x", "a\x00b"}, unix.EINVAL},
		"long":         {"/bin/true", "/", []string{"x", strings.Repeat("a", 1<<20)}, unix.E2BIG},
		"longer":       {"/bin/true", "/", []string{"x", strings.Repeat("a", maxRequest)}, unix.E2BIG},
	} {
		p, err := Start(c.file, c.argv, &os.ProcAttr{Dir: c.dir, Files: files})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			_, _ = p.Wait()
		}
	}
	argv := []string{"sh", "-c", `[ $# = 3 ] && [ -z "$1" ] && [ "$3" = "$X" ] && [ ! -e /proc/$$/fd/3 ]`, "sh", "", "a\nb", "é"}
	p, err := Start("/bin/sh", argv, &os.ProcAttr{Dir: "/", Env: []string{"X=é"}, Files: files})
	if err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(); err != nil || exit != 0 {
		t.Errorf("%v, %v", exit, err)
	}
}
