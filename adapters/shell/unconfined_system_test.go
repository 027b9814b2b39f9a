//go:build !(linux && cgo)

package shell

import (
	"strings"
	"testing"

	"hatchel/adapters/adaptertest"
)

// TestSystemThatCannotConfineRunsOnlyUnconfinedPrograms runs in make portable, without cgo: as on macOS, there is no sandbox in the program.
func TestSystemThatCannotConfineRunsOnlyUnconfinedPrograms(t *testing.T) {
	if got := adaptertest.MustReject(t, newTool(`command = ["ls"]`)); !strings.Contains(got, `write sandbox { mode = "none" }`) {
		t.Error(got)
	}
	out, err := adaptertest.Bind(t, newTool("command = [\"echo\", \"runs\"]\n"+unconfined)).Do(t.Context(), `{}`)
	if err != nil || out["stdout"] != "runs\n" {
		t.Errorf("%v, %v", out, err)
	}
}
