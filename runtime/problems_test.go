package runtime

import (
	"fmt"
	"testing"
)

// TestProblemsOfWhatIsNotServedAreForgotten logs the problems of connections that each reload replaces.
func TestProblemsOfWhatIsNotServedAreForgotten(t *testing.T) {
	h := newHost(t, tool("t", `text = "x"`))
	g := h.Current()
	for i := range 100 {
		g.probing.mu.Lock()
		g.probing.problems = map[string]problem{fmt.Sprintf("connection c%d", i): {text: "refused"}, "tool t": {}}
		g.probing.mu.Unlock()
		g.logProblems()
	}
	for i := range 100 {
		forgotten := g.build.caches.logged.Set(fmt.Sprintf("connection c%d", i), "refused")
		if isServed := i == 99; forgotten == isServed {
			t.Errorf("the problem of connection c%d is forgotten: %t", i, forgotten)
		}
	}
}
