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
	"hatchel/adapters/shell/sandbox"
)

// confinedByVariable asks the tests to confine by a version of Landlock that is older than the kernel's.
const confinedByVariable = "HATCHEL_TEST_LANDLOCK"

// confinedBy is the version of Landlock that the tests confine by.
func confinedBy() sandbox.ABI {
	if asked, err := strconv.Atoi(os.Getenv(confinedByVariable)); err == nil {
		return min(sandbox.ABI(asked), sandbox.LandlockABI())
	}
	return sandbox.LandlockABI()
}

// TestAnOlderKernelConfinesAsMuch runs tests of what is confined with no more of Landlock than older kernels have.
func TestAnOlderKernelConfinesAsMuch(t *testing.T) {
	if os.Getenv(confinedByVariable) != "" {
		return // they run so already
	}
	for older, tests := range map[sandbox.ABI]string{
		1: "^Test(AConfined|AFileThatMay|ALinkWhere|APathThat|EveryCall|FlagsOf|NoFileIs|NoProcess|NoProgram|NobodyWaits|Nothing|ProgramsChange|TheSandbox|ThereIsNoOther|WhatIsOrdinary|Without)",
		2: "^Test(AConfined|AFileThatMay|ProgramsChange)",
	} {
		if older >= sandbox.LandlockABI() {
			continue // the whole suite does
		}
		t.Run(fmt.Sprint(older), func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run", tests)
			cmd.Env = append(os.Environ(), fmt.Sprint(confinedByVariable, "=", older))
			if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("PASS")) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func TestWithoutLandlockNothingIsConfinedAndNothingRuns(t *testing.T) {
	none := adapters.Set{Adapters: []adapters.Adapter{newAdapter(func() sandbox.ABI { return 0 })}, Connectors: Connectors()}
	s := tool(`command = ["ls"]`)
	s.Set = none
	if got := adaptertest.Refusal(t, s); !strings.Contains(got, "which Linux has since 5.13. The kernel of this machine does not have it") {
		t.Error(got)
	}
	s = tool("command = [\"echo\", \"runs\"]\n" + free)
	s.Set = none
	if out, err := adaptertest.Bind(t, s).Do(t.Context(), `{}`); err != nil || out["stdout"] != "runs\n" {
		t.Errorf("%v, %v", out, err)
	}
}
