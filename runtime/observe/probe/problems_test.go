package probe

import (
	"fmt"
	"log/slog"
	"testing"

	"hatchel/internal/logonce"
)

// TestProblemsOfWhatIsNotServedAreForgotten logs the problems of connections that each reload replaces.
func TestProblemsOfWhatIsNotServedAreForgotten(t *testing.T) {
	logged := new(logonce.Changes)
	for i := range 100 {
		s := New(Options{Log: slog.New(slog.DiscardHandler), Logged: logged})
		s.problems = map[string]problem{fmt.Sprintf("connection c%d", i): {text: "refused"}, "tool t": {}}
		s.logProblems()
	}
	for i := range 100 {
		forgotten := logged.Set(fmt.Sprintf("connection c%d", i), "refused")
		if isServed := i == 99; forgotten == isServed {
			t.Errorf("the problem of connection c%d is forgotten: %t", i, forgotten)
		}
	}
}
