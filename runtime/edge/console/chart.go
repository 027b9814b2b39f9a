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

// chartData are the charts of one tool for one length of time.
type chartData struct {
	ID, Title         string
	counts                          // in all of it
	Outcomes, Latency template.HTML // SVG
	Rows              []chartRow    // the same as a table, the newest first
}

// chartRow is one minute or hour in which there were calls.
type chartRow struct {
	When string
	metrics.Point
}

// chartsOf returns the charts of the last hour and of the last day; none for a tool that was not called.
func (c *Console) chartsOf(tool string, now time.Time) []chartData {
	history := c.Host.Telemetry().History()
	history.Read(now)
	chart, ok := history.Chart(tool)
	if !ok {
		return nil
	}
	return []chartData{
		newChart("hour", "Last hour", chart.Minutes[:], chart.End, time.Minute),
		newChart("day", "Last 24 hours", chart.Hours[:], chart.End.Truncate(time.Hour), time.Hour),
	}
}

// newChart draws points, of which the last one begins at end. Each is as long as step.
func newChart(id, title string, points []metrics.Point, end time.Time, step time.Duration) chartData {
	p := plot{id: id, points: points, end: end, step: step}
	d := chartData{ID: id, Title: title, counts: sum(points), Outcomes: p.outcomes(title), Latency: p.latency(title)}
	for i, at := range slices.Backward(points) {
		if at.Calls() > 0 {
			d.Rows = append(d.Rows, chartRow{p.when(i), at})
		}
	}
	return d
}

// counts are numbers of calls by their outcomes.
type counts struct{ OK, Failed, Refused uint64 }

func sum(points []metrics.Point) (c counts) {
	for _, p := range points {
		c.OK, c.Failed, c.Refused = c.OK+uint64(p.OK), c.Failed+uint64(p.Failed), c.Refused+uint64(p.Refused)
	}
	return c
}

// Calls returns how many calls there were.
func (c counts) Calls() uint64 { return c.OK + c.Failed + c.Refused }

// FailedPercent returns how many of the calls that were made have failed.
func (c counts) FailedPercent() float64 {
	return 100 * float64(c.Failed) / float64(max(c.OK+c.Failed, 1))
}

func (c counts) String() string {
	return fmt.Sprintf("%s ok, %s failed, %s refused", thousands(c.OK), thousands(c.Failed), thousands(c.Refused))
}

// plot draws points as SVG. All text in it is made of numbers and words of this file.
type plot struct {
	id     string
	points []metrics.Point
	end    time.Time
	step   time.Duration
}

// Sizes of a chart in its own units. Labels are in the margin on the left and below.
const (
	chartWidth, chartHeight = 720.0, 150.0
	chartLeft, chartTop     = 56.0, 8.0
	chartBottom             = chartHeight - 22
)

// when returns the time at which a point begins.
func (p *plot) when(i int) string {
	t := p.end.Add(-p.step * time.Duration(len(p.points)-1-i)).UTC()
	if p.step < time.Hour {
		return t.Format("15:04")
	}
	return t.Format("Jan 2 15:04")
}

func (p *plot) width() float64     { return (chartWidth - chartLeft) / float64(len(p.points)) }
func (p *plot) left(i int) float64 { return chartLeft + float64(i)*p.width() }
func level(share float64) float64  { return chartBottom - share*(chartBottom-chartTop) }

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

// draw returns a chart with its title, what content writes, and the times below it.
func (p *plot) draw(kind, title string, content func(*strings.Builder)) template.HTML {
	var out strings.Builder
	id := p.id + "-" + kind
	fmt.Fprintf(&out, `<svg class="chart" id="%s" role="img" aria-labelledby="%s-title" viewBox="0 0 %g %g">`+
		`<title id="%s-title">%s</title>`, id, id, chartWidth, chartHeight, id, title)
	for i := range p.points {
		if (len(p.points)-1-i)%(len(p.points)/6) == 0 && i > 0 {
			fmt.Fprintf(&out, `<text x="%.1f" y="%g" text-anchor="end">%s</text>`, p.left(i+1), chartHeight-4,
				p.when(i)[max(0, len(p.when(i))-5):])
		}
	}
	content(&out)
	out.WriteString(`</svg>`)
	return template.HTML(out.String())
}

// line draws a horizontal line with its label.
func line(out *strings.Builder, share float64, label string) {
	y := level(share)
	fmt.Fprintf(out, `<path class="grid" d="M%g %.1fH%g"/><text x="%g" y="%.1f" text-anchor="end">%s</text>`,
		chartLeft, y, chartWidth, chartLeft-6, y+4, label)
}

// rectangle draws a rectangle over a share of the width of a point, from one level to another.
func (p *plot) rectangle(out *strings.Builder, i int, class string, width, bottom, top float64, title string) {
	const rect = `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s: %s</title></rect>`
	fmt.Fprintf(out, rect, class, p.left(i)+p.width()*(1-width)/2, level(top), p.width()*width,
		max(level(bottom)-level(top), 1), p.when(i), title)
}

// outcomes draws the calls of each point as a bar of three parts.
func (p *plot) outcomes(title string) template.HTML {
	most, unit := uint32(1), "a minute"
	for _, at := range p.points {
		most = max(most, at.Calls())
	}
	if p.step >= time.Hour {
		unit = "an hour"
	}
	title = fmt.Sprintf("%s: %s, at most %s in %s", title, sum(p.points), count(int(most), "call"), unit)
	return p.draw("outcomes", title, func(out *strings.Builder) {
		line(out, 0, "0")
		line(out, 1, thousands(most))
		for i, at := range p.points {
			numbers, below := sum(p.points[i:i+1]).String(), uint32(0)
			for part, n := range []uint32{at.OK, at.Failed, at.Refused} {
				if n == 0 {
					continue
				}
				class := [...]string{"ok", "bad", "warn"}[part]
				bottom, top := float64(below)/float64(most), float64(below+n)/float64(most)
				p.rectangle(out, i, class, 0.8, bottom, top, numbers)
				below += n
			}
		}
	})
}

// fastest is the lower end of the scale of a chart of latency, in seconds.
const fastest = 0.0001

// latency draws the percentiles over a logarithmic scale of powers of ten.
func (p *plot) latency(title string) template.HTML {
	least, most := math.Inf(1), 0.0
	for _, at := range p.points {
		if at.P99 > 0 {
			least, most = min(least, float64(max(at.P50, fastest))), max(most, float64(max(at.P99, fastest)))
		}
	}
	if most == 0 {
		return p.draw("latency", title+": no call has ended", func(out *strings.Builder) { line(out, 0, "0") })
	}
	from, to := math.Floor(math.Log10(least)), math.Ceil(math.Log10(most))
	to = max(to, from+1)
	title = fmt.Sprintf("%s: the fastest p50 is %s, the slowest p99 %s", title, seconds(float32(least)),
		seconds(float32(most)))
	return p.draw("latency", title, func(out *strings.Builder) {
		for power := from; power <= to; power++ {
			line(out, (power-from)/(to-from), seconds(float32(math.Pow(10, power))))
		}
		for percentile, name := range []string{"p50", "p95", "p99"} {
			path := p.trace(func(at metrics.Point) (float64, bool) {
				s := float64([...]float32{at.P50, at.P95, at.P99}[percentile])
				return (math.Log10(max(s, math.Pow(10, from))) - from) / (to - from), at.P99 > 0
			})
			fmt.Fprintf(out, `<g class="%s">%s</g>`, name, path)
		}
		for i, at := range p.points {
			if at.P99 > 0 {
				p.rectangle(out, i, "hit", 1, 0, 1, fmt.Sprintf("p50 %s, p95 %s, p99 %s", seconds(at.P50),
					seconds(at.P95), seconds(at.P99)))
			}
		}
	})
}

// trace draws a line through the points with a value, and a short one for a point alone.
func (p *plot) trace(valueOf func(metrics.Point) (share float64, ok bool)) string {
	var path strings.Builder
	drawing := false
	for i, at := range p.points {
		share, ok := valueOf(at)
		x, y := p.left(i)+p.width()/2, level(share)
		switch {
		case ok && drawing:
			fmt.Fprintf(&path, "L%.1f %.1f", x, y)
		case ok:
			fmt.Fprintf(&path, "M%.1f %.1fh2", x-1, y)
		}
		drawing = ok
	}
	return `<path d="` + path.String() + `"/>`
}
