package shell

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hatchel/adapters/adaptertest"
)

// whole is how many processes a bomb begins that nobody stops: more than a call may have, and not so many that the machine would suffer.
const whole = 2048

// bombs are programs that begin so many processes, all of which stay. Each writes a byte into the file "born".
var bombs = map[string]string{
	"a tree of a shell":    `script = "f() { printf x >> born; [ $1 -lt 1 ] || { f $(($1 - 1)) & f $(($1 - 1)) & }; sleep 1000; }; f 10"`,
	"a busy one":           `script = "f() { printf x >> born; [ $1 -lt 1 ] || { f $(($1 - 1)) & f $(($1 - 1)) & }; while :; do :; done; }; f 10"`,
	"with groups":          `command = ["perl", "-e", "for (1 .. 11) { fork; setpgrp(0, 0) } open(F, '>>', 'born'); syswrite(F, 'x'); 1 while 1"]`,
	"one after the other":  `command = ["perl", "-e", "for (1 .. 2048) { if (!fork) { open(F, '>>', 'born'); syswrite(F, 'x'); sleep 1000 } } sleep 1000"]`,
	"whose parents go":     `command = ["perl", "-e", "for (1 .. 2048) { if (!fork) { if (!fork) { open(F, '>>', 'born'); syswrite(F, 'x'); sleep 1000 } exit } } sleep 1000"]`,
	"that leaves its call": `command = ["perl", "-MPOSIX", "-e", "for (1 .. 2048) { if (!fork) { POSIX::setsid(); setpgrp(0, 0); open(F, '>>', 'born'); syswrite(F, 'x'); sleep 1000 } } sleep 1000"]`,
	"in a pipe":            `pipe = [["sh", "-c", "for i in $(seq 1024); do (printf x >> born; exec sleep 1000) & done; wait"], ["sh", "-c", "for i in $(seq 1024); do (printf x >> born; exec sleep 1000) & done; wait"]]`,
}

// bombed runs a bomb that may have twenty processes, and returns how many were born and how long it went on.
func bombed(t *testing.T, block string) (born int, took time.Duration) {
	t.Helper()
	b := adaptertest.Bind(t, tool(block+"\nsandbox {\nwrite = [\".\"]\nprocesses = 20\n}"))
	start := time.Now()
	if _, err := b.Do(t.Context(), `{}`); err == nil || !strings.Contains(err.Error(), "stopped: more than the limit of 20 processes at the same time") {
		t.Errorf("the call ended with %v", err)
	}
	took = time.Since(start)
	text, err := os.ReadFile(filepath.Join(b.Dir, "born"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return len(text), took
}

func TestProcessesThatDoubleAreStoppedWhileTheyAreFew(t *testing.T) {
	burn(t)
	for name, block := range bombs {
		t.Run(name, func(t *testing.T) {
			var born [3]int // a busy machine delays the one or the other
			for i := range born {
				born[i], _ = bombed(t, block)
			}
			if slices.Min(born[:]) > whole/8 {
				t.Errorf("%v processes were born", born)
			}
		})
	}
}

// burn keeps two processors busy until the test ends.
func burn(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	b := adaptertest.Bind(t, tool(`pipe = [["perl", "-e", "1 while 1"], ["perl", "-e", "1 while 1"]]`+free))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = b.Do(ctx, `{}`)
	}()
	t.Cleanup(func() { cancel(); <-ended })
}

func TestWhatIsTooMuchIsEndedAtOnceInWhateverGroupItIs(t *testing.T) {
	soon(t, drainTimeout, func() time.Duration {
		_, took := bombed(t, bombs["with groups"])
		return took
	})
}

func TestTheServerComesBeforeItsPrograms(t *testing.T) {
	own, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	const behind, lowest = 5, 19
	nice := 20 - own // the kernel tells 20 less it
	if nice == lowest {
		return // nothing comes after it
	}
	script := fmt.Sprintf("nice; perl -e 'print setpriority(0, 0, %d) ? q(taken back) : q(kept)'", nice)
	if got, want := attempt(t, script, ""), fmt.Sprintf("%d\nkept", min(nice+behind, lowest)); got != want {
		t.Errorf("%q, not %q", got, want)
	}
	if got := attempt(t, "nice", free); got != fmt.Sprintln(nice) {
		t.Errorf("free: %q", got)
	}
}

func TestThreadsAreNoProcesses(t *testing.T) {
	if exec.CommandContext(t.Context(), "perl", "-Mthreads", "-e", "1").Run() != nil {
		return // this perl has none
	}
	got := must(t, `command = ["perl", "-Mthreads", "-e", "push(@t, threads->create(sub { select(undef, undef, undef, 0.3) })) for (1 .. 40); $_->join for @t; print 'fine'"]`+"\nsandbox { processes = 20 }", `{}`)
	if got["stdout"] != "fine" {
		t.Errorf("%v", got)
	}
	f := fault(t, `command = ["perl", "-Mthreads", "-e", "threads->create(sub { sleep 1000 }) for (1 .. 40); sleep 1000"]`+"\nsandbox { processes = 2 }", `{}`)
	if !strings.Contains(f.Message, "more than the limit of 32 threads at the same time") {
		t.Error(f.Message)
	}
}
