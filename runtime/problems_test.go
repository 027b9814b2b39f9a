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
	logged := g.build.caches.logged
	logged.mu.Lock() // the first probe of the start may end only now
	defer logged.mu.Unlock()
	if texts := logged.texts; len(texts) != 1 || texts["connection c99"] != "refused" {
		t.Errorf("%d problems are kept: %v", len(texts), texts)
	}
}
