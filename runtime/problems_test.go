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
	if texts := g.build.caches.logged.texts; len(texts) != 1 || texts["connection c99"] != "refused" {
		t.Errorf("%d problems are kept: %v", len(texts), texts)
	}
}
