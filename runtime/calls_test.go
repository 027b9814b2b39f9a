package runtime

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hatchel/runtime/edge/operator"
	"hatchel/runtime/observe/recent"
)

// callsOf returns the calls that an operator sees in the console of a host.
func callsOf(t *testing.T, h *Host) []*recent.Call {
	t.Helper()
	calls, own, err := h.Operator().RecentCalls(t.Context(), callerOf("eva"), true, operator.CallQuery{})
	if err != nil || own {
		t.Fatal(own, err)
	}
	return calls
}

// TestTheConsoleShowsTheCallsOfAllProcesses calls a tool in a process, and reads in another one with the same state,
// before and after the first one ends.
func TestTheConsoleShowsTheCallsOfAllProcesses(t *testing.T) {
	const src = `
console { keep = "1h" }
tool "greet" {
  description = "Greets."
  input "secret" {
    type      = string
    sensitive = true
  }
  text = "Hello"
}
`
	path := filepath.Join(t.TempDir(), "state.db")
	hasConsole := func(o *HostOptions) { o.Build.Console = new(Console) }
	here, there := newHost(t, src, storedIn(t, path), hasConsole), newHost(t, src, storedIn(t, path), hasConsole)
	callTool(t, here, "greet", `{"secret":"hidden-word"}`)
	shown := func() bool {
		return slices.ContainsFunc(callsOf(t, there), func(c *recent.Call) bool {
			return c.Tool == "greet" && c.Process != "" && c.End != nil && string(c.Input) == `{"secret":"(secret)"}`
		})
	}
	waitFor(t, shown)
	callTool(t, here, "greet", `{"secret":"hidden-word"}`)
	here.Close() // which stores the call that was not stored yet
	if got := callsOf(t, there); len(got) != 2 {
		t.Errorf("%d calls are shown after the end of their process", len(got))
	}
	load(t, there, strings.Replace(src, "1h", "0s", 1))
	if got := callsOf(t, there); len(got) != 0 {
		t.Errorf("%d calls are shown with keep = \"0s\"", len(got))
	}
}
