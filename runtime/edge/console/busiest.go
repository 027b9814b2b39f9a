package console

import (
	"cmp"
	"html/template"
	"slices"
	"time"

	"hatchel/runtime/observe/metrics"
)

// maxBusiest is how many tools the overview has in each of its lists.
const maxBusiest = 5

// busyRow is a tool with the outcomes of its calls in the last hour.
type busyRow struct {
	Name string
	counts
	Recent metrics.Point // durations of this hour, or of the one before if there was no call in this one
	chart  *metrics.Chart
}

func newBusyRow(chart *metrics.Chart) busyRow {
	row := busyRow{chart.Tool, sum(chart.Minutes[:]), chart.Hours[metrics.HoursKept-1], chart}
	if row.Recent.P99 == 0 {
		row.Recent = chart.Hours[metrics.HoursKept-2]
	}
	return row
}

// busiest returns the tools of the last hour with the most failed calls, and those with the slowest ones.
func (c *Console) busiest(now time.Time) (failing, slowest []busyRow) {
	history := c.Host.Telemetry().History()
	history.Read(now)
	var called []busyRow
	for _, chart := range history.Charts() {
		if row := newBusyRow(&chart); row.Calls() > 0 {
			called = append(called, row)
		}
	}
	shown := min(len(called), maxBusiest)
	slices.SortStableFunc(called, func(a, b busyRow) int { return cmp.Compare(b.Failed, a.Failed) })
	for _, row := range called[:shown] {
		if row.Failed > 0 {
			failing = append(failing, row)
		}
	}
	slices.SortStableFunc(called, func(a, b busyRow) int { return cmp.Compare(b.Recent.P95, a.Recent.P95) })
	return failing, called[:shown]
}

// Line draws the p95 of the minutes of an hour in the height of a line. The table beside it has the numbers.
func (r busyRow) Line() template.HTML {
	most := float32(0.001)
	for _, at := range r.chart.Minutes {
		most = max(most, at.P95)
	}
	p := plot{points: r.chart.Minutes[:], step: time.Minute}
	return template.HTML(`<svg class="spark" aria-hidden="true" viewBox="50 0 670 150" preserveAspectRatio="none">` +
		p.trace(func(at metrics.Point) (float64, bool) { return float64(at.P95 / most), at.P99 > 0 }) + `</svg>`)
}
