package console

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"hatchel/runtime/observe/recent"
)

// timeline is what a call did when: itself, its steps, and its waits for people, each on a line with the same axis.
type timeline struct {
	Ticks []tick
	Lines []timelineLine
	More  int // steps and elements that found no room
}

// laneWidth is the width of an axis, and maxLabel is where its last label may begin, in percent.
const (
	laneWidth = 100
	maxLabel  = 92
)

// tick is a mark of the axis. Text is empty where the axis has no room for it.
type tick struct {
	X    float64
	Text string
}

// timelineLine is one line.
type timelineLine struct {
	Name, Note string
	IsElement  bool // of the each of the step above
	condition
	Began, Took time.Duration // Began is after the call
	Bars        []bar
	Details     []string // what else is known, as the number of attempts
	Error       string
	Cause       string // of the Error; empty where the person may not see it
}

// bar is a part of a line.
type bar struct {
	Class    string
	X, Width float64
}

// newTimeline returns the timeline of a call. Operator says that the person may see the causes of failures.
func newTimeline(c *callView, now time.Time, operator bool) *timeline {
	total := now.Sub(c.Began)
	whole, class := timelineLine{Name: c.Tool, condition: c.State(), Took: total}, "off"
	if c.End != nil {
		total, class = c.End.After, stateOf(c.End.Outcome).Class
		whole.Took = c.End.Took // the page begins with the error
		whole.Details = appendFailures(nil, c.End.Failures)
		if operator {
			whole.Cause = c.End.Cause
		}
	}
	total = max(total, time.Microsecond)
	place := func(class string, began, took time.Duration) bar {
		x := min(laneWidth*max(float64(began), 0)/float64(total), laneWidth-0.3)
		return bar{class, x, min(max(laneWidth*float64(took)/float64(total), 0.3), laneWidth-x)}
	}
	whole.Bars = []bar{place(class, 0, total)}
	var groups [][]timelineLine // a step with its elements, or a wait
	for _, s := range c.Steps {
		line := timelineLine{
			Name: cmp.Or(s.Name, s.Kind), Note: cmp.Or(s.Target, s.Kind), condition: stateOf(s.Outcome),
			Began: s.Began, Took: s.Took, Error: s.Error,
		}
		line.Bars = []bar{place(line.Class, s.Began, s.Took)}
		if s.Attempts > 1 {
			line.Details = append(line.Details, count(s.Attempts, "request"))
		}
		if s.Pages > 1 {
			line.Details = append(line.Details, count(s.Pages, "page"))
		}
		if s.Rows > 0 {
			line.Details = append(line.Details, count(s.Rows, "row"))
		}
		line.Details = appendFailures(line.Details, s.Failures)
		group := []timelineLine{line}
		for _, e := range s.Elements {
			group = append(group, timelineLine{
				Name: e.Key, IsElement: true, condition: stateOf(e.Outcome), Error: e.Error,
				Began: e.Began, Took: e.Took, Bars: []bar{place(stateOf(e.Outcome).Class, e.Began, e.Took)},
			})
		}
		groups = append(groups, group)
	}
	for _, w := range c.Call.Waits {
		line := timelineLine{
			Name: "waits for people", condition: condition{"off", "waited"}, Began: w.Began, Took: w.Took,
		}
		line.Bars = []bar{place("off", w.Began, w.Took)}
		groups = append(groups, []timelineLine{line})
		whole.Bars = append(whole.Bars, line.Bars[0])
	}
	slices.SortStableFunc(groups, func(a, b []timelineLine) int { return cmp.Compare(a[0].Began, b[0].Began) })
	return &timeline{
		Ticks: newTicks(total), Lines: append([]timelineLine{whole}, slices.Concat(groups...)...), More: c.MoreSteps,
	}
}

// appendFailures appends what has failed of what was run, after which the call went on.
func appendFailures(to []string, f recent.Failures) []string {
	if f.Failed == 0 {
		return to
	}
	text := fmt.Sprintf("%d of %d failed", f.Failed, f.Of)
	if first := strings.TrimSpace(f.FailedStep + " " + f.Key); first != "" {
		text += ", first " + first
	}
	return append(to, text)
}

// newTicks returns the marks of an axis of this length, at round times.
func newTicks(total time.Duration) (ticks []tick) {
	step := time.Duration(math.Pow(10, math.Floor(math.Log10(float64(total)))))
	switch total / step { // so that there are 5 to 10
	case 1:
		step /= 5
	case 2, 3, 4:
		step /= 2
	}
	step = max(step, time.Microsecond)
	for at := time.Duration(0); at <= total; at += step {
		t := tick{X: laneWidth * float64(at) / float64(total)}
		if t.X < maxLabel {
			t.Text = strings.Replace(took(at), ".0 ", " ", 1)
		}
		ticks = append(ticks, t)
	}
	ticks[0].Text = "0"
	return ticks
}
