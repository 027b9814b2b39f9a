package console

import (
	"cmp"
	"html/template"
	"slices"
	"time"

	"hatchel/runtime/metrics"
)

// maxBusiest is how many tools the overview has in each of its lists.
const maxBusiest = 5

// busyRow is a tool with the outcomes and durations of its calls in the last hour.
type busyRow struct {
	Name, Path         string
	Calls, Failed      string
	P50, P95, P99      string // of this hour, or of the one before if there was no call in this one
	Line               template.HTML
	failed, lastCalled uint64
	slowest            float32
}

// busiest returns the tools of the last hour with the most failed calls, and those with the slowest ones.
func (c *Console) busiest(now time.Time) (failing, slowest []busyRow) {
	history := c.Inspector.History()
	history.Read(now)
	var called []busyRow
	charts := map[string]metrics.Chart{}
	for _, chart := range history.Charts() {
		if row := newBusyRow(chart); row.lastCalled > 0 {
			called = append(called, row)
			charts[chart.Tool] = chart
		}
	}
	top := func(order func(a, b busyRow) int) []busyRow {
		slices.SortStableFunc(called, order)
		rows := slices.Clone(called[:min(len(called), maxBusiest)])
		for i := range rows {
			rows[i].Line = sparkline(charts[rows[i].Name])
		}
		return rows
	}
	failing = top(func(a, b busyRow) int { return cmp.Compare(b.failed, a.failed) })
	failing = slices.DeleteFunc(failing, func(r busyRow) bool { return r.failed == 0 })
	return failing, top(func(a, b busyRow) int { return cmp.Compare(b.slowest, a.slowest) })
}

func newBusyRow(chart metrics.Chart) busyRow {
	ok, failed, refused := sum(chart.Minutes[:])
	recent := chart.Hours[metrics.HoursKept-1]
	if recent.P99 == 0 {
		recent = chart.Hours[metrics.HoursKept-2]
	}
	return busyRow{
		Name: chart.Tool, Path: toolPath(chart.Tool),
		Calls: thousands(ok + failed + refused), Failed: thousands(failed),
		P50: seconds(recent.P50), P95: seconds(recent.P95), P99: seconds(recent.P99),
		failed: failed, lastCalled: ok + failed + refused, slowest: recent.P95,
	}
}

// sparkline draws the p95 of the minutes of an hour in the height of a line. The table beside it has the numbers.
func sparkline(chart metrics.Chart) template.HTML {
	most := float32(0)
	for _, at := range chart.Minutes {
		most = max(most, at.P95)
	}
	p := plot{points: chart.Minutes[:], step: time.Minute}
	return template.HTML(`<svg class="spark" aria-hidden="true" viewBox="50 0 670 150" preserveAspectRatio="none">` +
		p.trace(func(at metrics.Point) (float64, bool) {
			return float64(at.P95 / max(most, 0.001)), at.P99 > 0
		}) + `</svg>`)
}
