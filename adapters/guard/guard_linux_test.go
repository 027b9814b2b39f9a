package guard

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
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
