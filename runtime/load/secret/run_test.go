package secret

import (
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
)

func TestTheOutputOfACommandIsItsSecret(t *testing.T) {
	t.Setenv("HATCHEL_KEY", "not passed on")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "print"), []byte("#!/bin/sh\necho from $(pwd)\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		command []string
		want    string
	}{
		"line break":     {[]string{"printf", "k3y\n"}, "k3y"},
		"CR LF":          {[]string{"printf", "k3y\r\n"}, "k3y"},
		"one line break": {[]string{"printf", "k3y\n\n"}, "k3y\n"},
		"no shell":       {[]string{"echo", "$HOME; $(id)"}, "$HOME; $(id)"},
		"environment":    {[]string{"env"}, "PATH=" + os.Getenv("PATH") + "\nHOME=" + os.Getenv("HOME")},
		"no input":       {[]string{"cat"}, ""},
		"nothing":        {[]string{"true"}, ""},
		"64 KiB":         {[]string{"head", "-c", "65536", "/dev/zero"}, strings.Repeat("\x00", 65536)},
		"relative":       {[]string{"./print"}, "from " + dir},
		"standard error": {[]string{"sh", "-c", "echo loud >&2; echo k3y"}, "k3y"},
	} {
		if got, err := run(t.Context(), dir, test.command); string(got) != test.want || err != nil {
			t.Errorf("%s: got %q %v", name, got, err)
		}
	}
}

func TestACommandThatMisbehavesGivesNoSecret(t *testing.T) {
	for name, test := range map[string]struct {
		command []string
		want    string
	}{
		"hangs":        {[]string{"sleep", "60"}, "does not end within 5s"},
		"ignores TERM": {[]string{"sh", "-c", "trap '' TERM INT; while :; do sleep 1; done"}, "does not end within 5s"},
		"floods":       {[]string{"yes"}, "prints more than 64 KiB"},
		"floods on":    {[]string{"sh", "-c", "trap '' PIPE; while :; do head -c 70000 /dev/zero; done"}, "prints more than 64 KiB"},
		"fails":        {[]string{"sh", "-c", "echo k3y; echo k3y >&2; exit 3"}, "fails with exit status 3"},
		"is killed":    {[]string{"sh", "-c", "kill -9 $$"}, "fails with signal: killed"},
		"missing":      {[]string{"no-such-program"}, "is not found"},
		"missing path": {[]string{"./no-such-program"}, "is not found"},
		"a directory":  {[]string{"/tmp"}, "cannot be started"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := run(t.Context(), t.TempDir(), test.command)
			if got != nil || err == nil || err.Error() != test.want {
				t.Errorf("got %q %v", got, err)
			}
		})
	}
}

func TestWhatACommandLeavesBehindIsKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	got, err := run(t.Context(), dir, []string{"sh", "-c", "sleep 60 & echo $! >child; echo k3y"})
	if string(got) != "k3y" || err != nil {
		t.Errorf("got %q %v", got, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "child"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(maxWait); isRunning(pid); {
		if time.Now().After(deadline) {
			t.Fatal("the child lives")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// maxWait is how long a test waits for anything on a busy machine.
const maxWait = 30 * time.Second

// isRunning reports whether a process exists and is no zombie.
func isRunning(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && syscall.Kill(pid, 0) == nil && !strings.Contains(string(stat), ") Z ")
}

func TestACommandThatPrintsAnotherValueIsReported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "new"), []byte(text), 0o600); err != nil {
			t.Error(err)
		}
		os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "key"))
	}
	write("one")
	changed := make(chan struct{}, 100)
	c := NewCommands(t.Context(), func() string { return dir }, func() { changed <- struct{}{} })
	defer c.Close()
	command := []string{"cat", "key"}
	read := func() string {
		defer c.Loading()()
		got, err := c.Read(command, 20*time.Millisecond)
		if err != nil {
			return err.Error()
		}
		return string(got)
	}
	expect := func(want string) {
		t.Helper()
		select {
		case <-changed:
		case <-time.After(maxWait):
			t.Fatal("no change is reported")
		}
		if got := read(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := read(); got != "one" {
		t.Fatal(got)
	}
	write("two")
	expect("two")
	os.Remove(filepath.Join(dir, "key"))
	expect("fails with exit status 1")
	write("two")
	expect("two")
	done := c.Loading() // of a configuration without the command
	readBeacon(t, c)
	done()
	write("three")
	awaitBeacon(t, dir)
	if len(changed) > 0 {
		t.Error("a command that no configuration has is run")
	}
}

// readBeacon reads a command that runs every 50 milliseconds and prints the same each time.
func readBeacon(t *testing.T, c *Commands) {
	t.Helper()
	if _, err := c.Read([]string{"sh", "-c", "echo run >>beacon; echo k3y"}, 50*time.Millisecond); err != nil {
		t.Fatal(err)
	}
}

// awaitBeacon waits for ten more runs of the command of readBeacon, in which every other command has had its turn.
func awaitBeacon(t *testing.T, dir string) {
	t.Helper()
	runs := func() int {
		text, err := os.ReadFile(filepath.Join(dir, "beacon"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), "run")
	}
	before := runs()
	for deadline := time.Now().Add(maxWait); runs() < before+10; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the command is not run again")
		}
	}
}

// awaitPID returns the number that a command writes to a file.
func awaitPID(t *testing.T, file string) int {
	t.Helper()
	for deadline := time.Now().Add(maxWait); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		text, _ := os.ReadFile(file)
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			return pid
		}
	}
	t.Fatal("the command does not run")
	return 0
}

func TestCloseEndsACommandThatRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	command := []string{"sh", "-c", "[ -e again ] || { touch again; echo k3y; exit; }; echo $$ >new; mv new pid; sleep 6000"}
	c := NewCommands(t.Context(), func() string { return dir }, func() { t.Error("the end of the server is reported as a change") })
	if got, err := c.Read(command, 10*time.Millisecond); string(got) != "k3y" || err != nil {
		t.Fatalf("got %q %v", got, err)
	}
	pid := awaitPID(t, filepath.Join(dir, "pid"))
	c.Close()
	if isRunning(pid) {
		t.Error("the command runs after the end of the server")
	}
	if got, err := c.Read([]string{"echo", "k3y"}, time.Minute); got != nil || err != errStopped {
		t.Errorf("got %q %v", got, err)
	}
}

func TestALoadMayLengthenTheTimeOfACommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := NewCommands(t.Context(), func() string { return dir }, func() {})
	defer c.Close()
	command := []string{"sh", "-c", "echo run >>runs"}
	for _, ttl := range []time.Duration{50 * time.Millisecond, time.Hour} {
		done := c.Loading()
		if _, err := c.Read(command, ttl); err != nil {
			t.Fatal(err)
		}
		done()
	}
	runs := func() int {
		text, err := os.ReadFile(filepath.Join(dir, "runs"))
		if err != nil {
			t.Error(err)
		}
		return strings.Count(string(text), "run")
	}
	before := runs()
	done := c.Loading()
	if _, err := c.Read(command, time.Hour); err != nil {
		t.Fatal(err)
	}
	readBeacon(t, c)
	done()
	awaitBeacon(t, dir)
	if after := runs(); after > before+1 { // one may have begun before
		t.Errorf("the command ran %d times more", after-before)
	}
}

func TestACommandOutlivesTheThreadsOfOtherGoroutines(t *testing.T) {
	stop := make(chan struct{})
	var ended sync.WaitGroup
	defer ended.Wait()
	defer close(stop)
	ended.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
			}()
			<-done
		}
	})
	for range 30 {
		if _, err := run(t.Context(), t.TempDir(), []string{"sleep", "0.2"}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestACommandEndsWithTheProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends a command with the process that has started it")
	}
	if dir := os.Getenv("SECRET_TEST_DIR"); dir != "" { // the process that is killed
		run(t.Context(), dir, []string{"./hang"})
		return
	}
	dir := t.TempDir()
	script := "#!/bin/sh\necho $$ >new; mv new pid; exec sleep 60\n"
	if err := os.WriteFile(filepath.Join(dir, "hang"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "SECRET_TEST_DIR="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := awaitPID(t, filepath.Join(dir, "pid"))
	cmd.Process.Kill()
	cmd.Wait()
	for deadline := time.Now().Add(maxWait); isRunning(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			syscall.Kill(pid, syscall.SIGKILL)
			t.Fatal("the command outlives the process")
		}
	}
}
