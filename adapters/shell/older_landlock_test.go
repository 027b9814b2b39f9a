package shell

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
	"hatchel/adapters/sandbox"
)

// abiVariable makes the tests use an older version of Landlock than the kernel has.
const abiVariable = "HATCHEL_TEST_LANDLOCK"

// testABI returns the version of Landlock that the tests use.
func testABI() sandbox.ABI {
	if asked, err := strconv.Atoi(os.Getenv(abiVariable)); err == nil {
		return min(sandbox.ABI(asked), sandbox.LandlockABI())
	}
	return sandbox.LandlockABI()
}

// TestOlderLandlock runs tests of the sandbox with the versions of Landlock that older kernels have.
func TestOlderLandlock(t *testing.T) {
	if os.Getenv(abiVariable) != "" {
		return // they run so already
	}
	for older, tests := range map[sandbox.ABI]string{
		1: "^Test(Confined(AttrCallsAreDenied|Common|Creates|FileFlags|Leases|Links|OpenNeeds|Ordinary|OtherABIs|Reads|" +
			"Replaced|Sets|Truncate|Writes)|DeniedSystemCalls|EachCall|NoNetwork|NoPrivileges|NoProcess|SandboxOfBlock)",
		2: "^TestConfined(Reads|Writes|AttrCallsAreDenied|Truncate|CommonPrograms)",
	} {
		if older >= sandbox.LandlockABI() {
			continue // the whole suite does
		}
		t.Run(fmt.Sprint(older), func(t *testing.T) {
			t.Parallel() // in a process of its own
			cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run", tests)
			cmd.Env = append(os.Environ(), fmt.Sprint(abiVariable, "=", older))
			if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("PASS")) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func TestNoLandlock(t *testing.T) {
	none := adapters.Set{Adapters: []adapters.Adapter{newAdapter(func() sandbox.ABI { return 0 })}, Connectors: Connectors()}
	s := newTool(`command = ["ls"]`)
	s.Set = none
	if got := adaptertest.MustReject(t, s); !strings.Contains(got, "which Linux has since 5.13. The kernel of this machine does not have it") {
		t.Error(got)
	}
	s = newTool("command = [\"echo\", \"runs\"]\n" + unconfined)
	s.Set = none
	if out, err := adaptertest.Bind(t, s).Do(t.Context(), `{}`); err != nil || out["stdout"] != "runs\n" {
		t.Errorf("%v, %v", out, err)
	}
}
