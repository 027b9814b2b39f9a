package console

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"

	"hatchel/runtime/observe/metrics"
)

// chartsData are the charts of one tool.
type chartsData struct {
	Charts  []chartData
	History string // says where the history is kept, and since when
}

// chartData are the charts of one tool, or of the whole server, for one length of time.
type chartData struct {
	ID, Title         string
	Unit              string        // of the bars, as in "a minute"
	Total             metrics.Point // in all of it
	Outcomes, Latency template.HTML // SVG
	Rows              []chartRow    // the same as a table, the newest first
}

// chartRow is one minute or hour in which there were calls.
type chartRow struct {
	When string
	metrics.Point
}

// chartsOf returns the charts of the last hour and of the last day; nil for a tool that was not called.
func (c *Console) chartsOf(q *request, tool string) *chartsData {
	history, kept := c.Host.Telemetry().History(q.Context())
	chart, ok := history.Chart(tool) // none without a history
	if !ok {
		return nil
	}
	began := history.Began()
	return &chartsData{
		[]chartData{newHourChart(&chart, began), newDayChart(&chart, began)}, historyText(kept, began, q.now),
	}
}

// historyText says where the history of calls is kept, and since when.
func historyText(kept bool, began, now time.Time) string {
	switch {
	case !kept:
		return "Counted by this process since " + sinceText(began, now) + ", in memory only."
	case now.Sub(began) < metrics.HoursKept*time.Hour:
		return "Counted by all processes since " + sinceText(began, now) + ", and kept in the state for a day."
	}
	return "Counted by all processes, and kept in the state for a day."
}

// sinceText returns a moment without its seconds, and without its day if it is not long ago.
func sinceText(t, now time.Time) string {
	if now.Sub(t) < 20*time.Hour {
		return t.UTC().Format("15:04 UTC")
	}
	return t.UTC().Format("Jan 2 15:04 UTC")
}

// newHourChart and newDayChart draw a history that began at a time.
func newHourChart(chart *metrics.Chart, began time.Time) chartData {
	p := plot{"hour", chart.Minutes[:], chart.End, time.Minute, began}
	return p.chart("Last hour", chart.LastHour)
}

func newDayChart(chart *metrics.Chart, began time.Time) chartData {
	p := plot{"day", chart.Hours[:], chart.End.Truncate(time.Hour), time.Hour, began}
	return p.chart("Last 24 hours", chart.LastDay)
}

// plot draws points as SVG, the last of which begins at end. All text in it is made of numbers and words of this file.
//
// A drawing is as wide as the page has room, and its text keeps its size: places are in percent of the width, and in
// pixels from the top. What is left of 0 and right of 100 percent is in the margins of the drawing.
type plot struct {
	id     string
	points []metrics.Point
	end    time.Time
	step   time.Duration
	began  time.Time // before, nothing was recorded
}

const (
	plotTop    = 8.0
	plotHeight = 132.0
	plotBottom = plotTop + plotHeight
	plotFoot   = 22.0 // for the times
	labelSpace = 13.0 // between labels
)

func (p *plot) chart(title string, total metrics.Point) chartData {
	d := chartData{ID: p.id, Title: title, Unit: "a minute", Total: total}
	if p.step >= time.Hour {
		d.Unit = "an hour"
	}
	d.Outcomes, d.Latency = p.outcomes(title, d.Unit, total), p.latency(title)
	for i, at := range slices.Backward(p.points) {
		if at.Calls() > 0 {
			d.Rows = append(d.Rows, chartRow{p.when(i), at})
		}
	}
	return d
}

// outcomesOf returns the numbers of calls by their outcomes.
func outcomesOf(p metrics.Point) string {
	return fmt.Sprintf("%s ok, %s failed, %s refused", thousands(p.OK), thousands(p.Failed), thousands(p.Refused))
}

// failedPercent returns how many of the calls that were made have failed.
func failedPercent(p metrics.Point) float64 {
	return 100 * float64(p.Failed) / float64(max(p.OK+p.Failed, 1))
}

func durationsOf(p metrics.Point) string {
	return fmt.Sprintf("p50 %s, p95 %s, p99 %s", seconds(p.P50), seconds(p.P95), seconds(p.P99))
}

// at returns the time at which a point begins.
func (p *plot) at(i int) time.Time {
	return p.end.Add(-p.step * time.Duration(len(p.points)-1-i)).UTC()
}

// when returns the time at which a point begins, for people.
func (p *plot) when(i int) string {
	if p.step < time.Hour {
		return p.at(i).Format("15:04")
	}
	return p.at(i).Format("Jan 2 15:04")
}

// left returns where a point begins, in percent.
func (p *plot) left(i int) float64 { return 100 * float64(i) / float64(len(p.points)) }

// level returns where a share of the height is, in pixels.
func level(share float64) float64 { return plotBottom - share*plotHeight }

// thousands returns a whole number with commas.
func thousands(n any) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// seconds returns a duration for people, with two or three digits; "–" for none.
func seconds(s float32) string {
	switch {
	case s <= 0:
		return "–"
	case s < 0.01:
		return fmt.Sprintf("%.1f ms", s*1000)
	case s < 1:
		return fmt.Sprintf("%.0f ms", s*1000)
	case s < 10:
		return fmt.Sprintf("%.1f s", s)
	}
	return fmt.Sprintf("%.0f s", s)
}

// draw returns a chart with its title, its axes and what content writes. Empty says that there is nothing to draw.
func (p *plot) draw(kind, title, empty string, marks []mark, content func(*strings.Builder)) template.HTML {
	var out strings.Builder
	id := p.id + "-" + kind
	fmt.Fprintf(&out, `<svg class="plot" id="%s" role="img" aria-labelledby="%s-title" height="%g">`+
		`<title id="%s-title">%s</title>`, id, id, plotBottom+plotFoot, id, title)
	p.writeUnrecorded(&out, empty == "")
	for _, m := range marks {
		y := level(m.share)
		fmt.Fprintf(&out, `<line class="grid" x2="100%%" y1="%.1f" y2="%.1f"/>`, y, y)
		fmt.Fprintf(&out, `<text class="from" x="-8" y="%.1f">%s</text>`, y+4, m.label)
	}
	p.writeTimes(&out)
	if empty != "" {
		fmt.Fprintf(&out, `<text class="middle" x="50%%" y="%g">%s</text>`, level(0.5), empty)
	} else {
		content(&out)
	}
	out.WriteString(`</svg>`)
	return template.HTML(out.String())
}

// mark is a level of a vertical axis.
type mark struct {
	share float64
	label string
}

// writeUnrecorded marks the time before anything was recorded, with a label if there is room for it.
func (p *plot) writeUnrecorded(out *strings.Builder, labelled bool) {
	begin := p.at(0)
	share := 100 * float64(p.began.Sub(begin)) / float64(p.step) / float64(len(p.points))
	if share = math.Floor(min(share, 100)*10) / 10; share <= 0 {
		return
	}
	fmt.Fprintf(out, `<rect class="unrecorded" fill="url(#unrecorded)" y="%g" width="%.1f%%" height="%g">`+
		`<title>not recorded</title></rect>`, plotTop, share, plotHeight)
	if labelled && share > 30 {
		fmt.Fprintf(out, `<text class="middle" x="%.1f%%" y="%g">not recorded</text>`, share/2, level(0.75))
	}
}

// writeTimes writes the horizontal axis: round times in UTC.
func (p *plot) writeTimes(out *strings.Builder) {
	y := plotBottom + plotFoot - 5
	fmt.Fprintf(out, `<text class="from" x="-8" y="%g">UTC</text>`, y)
	for i := range p.points {
		at := p.at(i)
		label := at.Format("15:04")
		if p.step < time.Hour && at.Minute()%10 != 0 || p.step >= time.Hour && at.Hour()%4 != 0 {
			continue
		}
		if p.step >= time.Hour && at.Hour() == 0 {
			label = at.Format("Jan 2")
		}
		x := p.left(i)
		fmt.Fprintf(out, `<line class="tick" x1="%.2f%%" x2="%.2f%%" y1="%g" y2="%g"/>`, x, x, plotBottom, plotBottom+4)
		if x >= 5 { // otherwise there is no room beside UTC in a narrow window
			fmt.Fprintf(out, `<text class="middle" x="%.2f%%" y="%g">%s</text>`, x, y, label)
		}
	}
}

// hit shows the numbers of a point to a person who points at it.
func (p *plot) hit(out *strings.Builder, i int, text string) {
	fmt.Fprintf(out, `<rect class="hit" x="%.2f%%" y="%g" width="%.2f%%" height="%g"><title>%s UTC: %s</title></rect>`,
		p.left(i), plotTop, 100/float64(len(p.points)), plotHeight, p.when(i), text)
}

// roundStep returns a step of 1, 2 or 5 times a power of ten, of which at most 4 are needed to reach a number.
func roundStep(most uint64) (step uint64) {
	for power := uint64(1); ; power *= 10 {
		for _, n := range [...]uint64{1, 2, 5} {
			if step = n * power; most <= 4*step {
				return step
			}
		}
	}
}

// outcomes draws the calls of each point as a bar of three parts.
func (p *plot) outcomes(title, unit string, total metrics.Point) template.HTML {
	most := uint32(0)
	for _, at := range p.points {
		most = max(most, at.Calls())
	}
	step := roundStep(uint64(most))
	top := max((uint64(most)+step-1)/step, 1) * step
	var marks []mark
	for n := uint64(0); n <= top; n += step {
		marks = append(marks, mark{float64(n) / float64(top), thousands(n)})
	}
	empty := ""
	if most == 0 {
		empty = "no calls"
	}
	title = fmt.Sprintf("%s: %s, at most %s %s", title, outcomesOf(total), count(int(most), "call"), unit)
	return p.draw("outcomes", title, empty, marks, func(out *strings.Builder) {
		width := 80 / float64(len(p.points))
		for i, at := range p.points {
			below := uint32(0)
			for part, n := range [...]uint32{at.Failed, at.Refused, at.OK} { // failures begin at the axis
				if n == 0 {
					continue
				}
				class := [...]string{"failed", "refused", "ok"}[part]
				bottom, to := level(float64(below)/float64(top)), level(float64(below+n)/float64(top))
				fmt.Fprintf(out, `<rect class="%s" fill="url(#%s)" x="%.2f%%" y="%.1f" width="%.2f%%" height="%.1f"/>`,
					class, class, p.left(i)+width/8, min(to, bottom-1), width, max(bottom-to, 1))
				below += n
			}
			if at.Calls() > 0 {
				p.hit(out, i, outcomesOf(at))
			}
		}
	})
}

// fastest is the lower end of the scale of a chart of latency, in seconds.
const fastest = 0.0001

// latencyScale is a logarithmic scale between two round durations.
type latencyScale struct {
	from, to float64 // logarithms
	marks    []mark
}

// newLatencyScale returns a scale that has all durations between two. It begins and ends at 1, 2 or 5 times a power of
// ten, and marks these where there is room, otherwise powers of ten.
func newLatencyScale(least, most float64) *latencyScale {
	var rounds []float64
	for power := -4; power <= 3; power++ {
		for _, n := range [...]float64{1, 2, 5} {
			rounds = append(rounds, n*math.Pow10(power))
		}
	}
	first, last := 0, 1
	for i, r := range rounds {
		if r <= least*1.0001 { // durations are of 32 bits
			first = i
		}
		if r < most*0.9999 {
			last = i + 1
		}
	}
	last = min(max(last, first+1), len(rounds)-1)
	s := &latencyScale{from: math.Log10(rounds[first]), to: math.Log10(rounds[last])}
	for i := first; i <= last; i++ {
		if last-first <= 6 || i%3 == 0 {
			s.marks = append(s.marks, mark{s.share(float32(rounds[i])), roundSeconds(rounds[i])})
		}
	}
	return s
}

// roundSeconds returns a round duration for people.
func roundSeconds(s float64) string {
	if s < 0.99 {
		return fmt.Sprintf("%.4g ms", s*1000)
	}
	return fmt.Sprintf("%.4g s", s)
}

func (s *latencyScale) share(seconds float32) float64 {
	return min(max((math.Log10(max(float64(seconds), fastest))-s.from)/(s.to-s.from), 0), 1)
}

// percentiles are the lines of a chart of latency.
var percentiles = [...]struct {
	name string
	of   func(metrics.Point) float32
}{
	{"p50", func(p metrics.Point) float32 { return p.P50 }},
	{"p95", func(p metrics.Point) float32 { return p.P95 }},
	{"p99", func(p metrics.Point) float32 { return p.P99 }},
}

// latency draws the percentiles over a logarithmic scale.
func (p *plot) latency(title string) template.HTML {
	least, most, last := math.Inf(1), 0.0, 0
	for i, at := range p.points {
		if at.P99 > 0 {
			least, most = min(least, float64(max(at.P50, fastest))), max(most, float64(max(at.P99, fastest)))
			last = i
		}
	}
	if most == 0 {
		return p.draw("latency", title+": no call has ended", "no calls", []mark{{0, ""}, {1, ""}}, nil)
	}
	scale := newLatencyScale(least, most)
	title = fmt.Sprintf("%s: the fastest p50 is %s, the slowest p99 %s", title, seconds(float32(least)),
		seconds(float32(most)))
	return p.draw("latency", title, "", scale.marks, func(out *strings.Builder) {
		fmt.Fprintf(out, `<svg class="lines" y="%g" width="100%%" height="%g" viewBox="0 0 %d %g" `+
			`preserveAspectRatio="none">`, plotTop, plotHeight, len(p.points), plotHeight)
		var ends [len(percentiles)]float64
		for i, percentile := range percentiles {
			fmt.Fprintf(out, `<path class="%s" d="%s"/>`, percentile.name, p.trace(scale, percentile.of))
			ends[i] = level(scale.share(percentile.of(p.points[last])))
		}
		out.WriteString(`</svg>`)
		// The labels at the ends of the lines are apart, the fastest lowest.
		for i := 1; i < len(ends); i++ {
			ends[i] = min(ends[i], ends[i-1]-labelSpace)
		}
		for i, percentile := range percentiles {
			fmt.Fprintf(out, `<text class="%s" x="%.2f%%" dx="6" y="%.1f">%s</text>`, percentile.name,
				p.left(last+1), max(ends[i], plotTop+labelSpace*float64(len(ends)-1-i))+4, percentile.name)
		}
		for i, at := range p.points {
			if at.P99 > 0 {
				p.hit(out, i, durationsOf(at))
			}
		}
	})
}

// trace returns the path through the points with a value, and a short one for a point alone.
func (p *plot) trace(scale *latencyScale, valueOf func(metrics.Point) float32) string {
	var path strings.Builder
	drawing := false
	for i, at := range p.points {
		ok := at.P99 > 0
		x, y := float64(i)+0.5, plotHeight*(1-scale.share(valueOf(at)))
		switch {
		case ok && drawing:
			fmt.Fprintf(&path, "L%.1f %.1f", x, y)
		case ok:
			fmt.Fprintf(&path, "M%.1f %.1fh.4", x-0.2, y)
		}
		drawing = ok
	}
	return path.String()
}
