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

// fullBomb is how many processes a bomb starts if it is not stopped: more than a call may have, but not too many for the
// machine.
const fullBomb = 2048

// bombs are programs that start fullBomb processes, which do not end. Each writes a byte to the file "born".
var bombs = map[string]string{
	"a tree of a shell":    `script = "f() { printf x >> born; [ $1 -lt 1 ] || { f $(($1 - 1)) & f $(($1 - 1)) & }; sleep 1000; }; f 10"`,
	"a busy one":           `script = "f() { printf x >> born; [ $1 -lt 1 ] || { f $(($1 - 1)) & f $(($1 - 1)) & }; while :; do :; done; }; f 10"`,
	"with groups":          `command = ["perl", "-e", "for (1 .. 11) { fork; setpgrp(0, 0) } open(F, '>>', 'born'); syswrite(F, 'x'); 1 while 1"]`,
	"one after the other":  `command = ["perl", "-e", "for (1 .. 2048) { if (!fork) { open(F, '>>', 'born'); syswrite(F, 'x'); sleep 1000 } } sleep 1000"]`,
	"whose parents go":     `command = ["perl", "-e", "for (1 .. 2048) { if (!fork) { if (!fork) { open(F, '>>', 'born'); syswrite(F, 'x'); sleep 1000 } exit } } sleep 1000"]`,
	"that leaves its call": `command = ["perl", "-MPOSIX", "-e", "for (1 .. 2048) { if (!fork) { POSIX::setsid(); setpgrp(0, 0); open(F, '>>', 'born'); syswrite(F, 'x'); sleep 1000 } } sleep 1000"]`,
	"in a pipe":            `pipe = [["sh", "-c", "for i in $(seq 1024); do (printf x >> born; exec sleep 1000) & done; wait"], ["sh", "-c", "for i in $(seq 1024); do (printf x >> born; exec sleep 1000) & done; wait"]]`,
}

// runBomb runs a bomb that may have twenty processes. It returns how many were started, and how long the call took.
func runBomb(t *testing.T, block string) (born int, took time.Duration) {
	t.Helper()
	b := adaptertest.Bind(t, newTool(block+"\nsandbox {\nwrite = [\".\"]\nprocesses = 20\n}"))
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

func TestForkBombsAreStoppedEarly(t *testing.T) {
	burnCPU(t)
	for name, block := range bombs {
		t.Run(name, func(t *testing.T) {
			var born [5]int // a busy machine delays some of them
			for i := range born {
				born[i], _ = runBomb(t, block)
			}
			if slices.Min(born[:]) > fullBomb/8 {
				t.Errorf("%v processes were born", born)
			}
		})
	}
}

// burnCPU keeps two processors busy until the test ends.
func burnCPU(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	b := adaptertest.Bind(t, newTool(`pipe = [["perl", "-e", "1 while 1"], ["perl", "-e", "1 while 1"]]`+unconfined))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = b.Do(ctx, `{}`)
	}()
	t.Cleanup(func() { cancel(); <-ended })
}

func TestExceededLimitKillsAllProcessGroups(t *testing.T) {
	requireFast(t, drainTimeout, func() time.Duration {
		_, took := runBomb(t, bombs["with groups"])
		return took
	})
}

func TestConfinedProgramsHaveLowerPriority(t *testing.T) {
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
	if got, want := runScript(t, script, ""), fmt.Sprintf("%d\nkept", min(nice+behind, lowest)); got != want {
		t.Errorf("%q, not %q", got, want)
	}
	if got := runScript(t, "nice", unconfined); got != fmt.Sprintln(nice) {
		t.Errorf("free: %q", got)
	}
}

func TestThreadLimit(t *testing.T) {
	if exec.CommandContext(t.Context(), "perl", "-Mthreads", "-e", "1").Run() != nil {
		return // this perl has none
	}
	got := mustRun(t, `command = ["perl", "-Mthreads", "-e", "push(@t, threads->create(sub { select(undef, undef, undef, 0.3) })) for (1 .. 40); $_->join for @t; print 'fine'"]`+"\nsandbox { processes = 20 }", `{}`)
	if got["stdout"] != "fine" {
		t.Errorf("%v", got)
	}
	f := runFault(t, `command = ["perl", "-Mthreads", "-e", "threads->create(sub { sleep 1000 }) for (1 .. 40); sleep 1000"]`+"\nsandbox { processes = 2 }", `{}`)
	if !strings.Contains(f.Message, "more than the limit of 32 threads at the same time") {
		t.Error(f.Message)
	}
}
