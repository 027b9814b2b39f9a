//go:build linux

package shell

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"hatchel/adapters/adaptertest"
)

// numbered is set where this process has a number in a namespace of its own that /proc does not know.
const numbered = "HATCHEL_TEST_NUMBERED"

func TestUnderTheProcOfOthersNothingIsConfined(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), executable(t), "-test.run", "^TestUnderTheProcOfOthers$", "-test.v")
	cmd.Env = append(os.Environ(), numbered+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
	}
	out, err := cmd.CombinedOutput()
	if cmd.Process == nil {
		return // here nobody gets such a namespace
	}
	if err != nil || !bytes.Contains(out, []byte("PASS: TestUnderTheProcOfOthers")) {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestUnderTheProcOfOthers(t *testing.T) {
	if os.Getenv(numbered) == "" {
		return // it is not; see above
	}
	for _, box := range []string{"", modes} {
		if got := adaptertest.Refusal(t, tool("command = [\"true\"]\n"+box)); !strings.Contains(got, "unshare --mount-proc") {
			t.Error(got)
		}
	}
}
