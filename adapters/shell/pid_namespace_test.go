//go:build linux

package shell

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"hatchel/adapters/adaptertest"

	"golang.org/x/sys/unix"
)

// pidNamespaceVariable is set in the process that runAsFirstProcess starts.
const pidNamespaceVariable = "HATCHEL_TEST_NUMBERED"

// runAsFirstProcess runs a test as the first process of a PID namespace, with further clone flags. It does nothing where
// this is not permitted.
func runAsFirstProcess(t *testing.T, name string, more uintptr) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), executable(t), "-test.run", "^"+name+"$", "-test.v")
	cmd.Env = append(os.Environ(), pidNamespaceVariable+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | more}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
	}
	out, err := cmd.CombinedOutput()
	if cmd.Process == nil {
		return // here nobody gets such a namespace
	}
	if err != nil || !bytes.Contains(out, []byte("PASS: "+name)) {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestForeignProc(t *testing.T) {
	runAsFirstProcess(t, "TestForeignProcChild", 0)
}

func TestForeignProcChild(t *testing.T) {
	if os.Getenv(pidNamespaceVariable) == "" {
		return // it is not; see above
	}
	for _, box := range []string{"", allowModes} {
		if got := adaptertest.MustReject(t, newTool("command = [\"true\"]\n"+box)); !strings.Contains(got, "unshare --mount-proc") {
			t.Error(got)
		}
	}
}

func TestOrphansAreReapedByFirstProcess(t *testing.T) {
	runAsFirstProcess(t, "TestOrphansAreReapedChild", syscall.CLONE_NEWNS)
}

func TestOrphansAreReapedChild(t *testing.T) {
	if os.Getenv(pidNamespaceVariable) == "" {
		return // the orphans are those of another process; see above
	}
	for _, err := range []error{unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), unix.Mount("proc", "/proc", "proc", 0, "")} {
		if err != nil {
			return // nor a /proc of one's own
		}
	}
	b := adaptertest.Bind(t, newTool(`script = "(sleep 600 &); (true &); (sh -c 'sleep 600 & true' &); echo"`))
	for range 5 {
		if _, err := b.Do(t.Context(), `{}`); err != nil {
			t.Error(err)
		}
	}
	names, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		words, _ := os.ReadFile(name + "/cmdline")
		if pid, _ := strconv.Atoi(filepath.Base(name)); pid != os.Getpid() && !bytes.HasPrefix(words, []byte("hatchel-sessions")) {
			status, _ := os.ReadFile(name + "/status")
			t.Errorf("%s", status)
		}
	}
}
