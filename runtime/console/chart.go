package console

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"hatchel/runtime/metrics"
)

// chartData are the charts of one tool for one length of time.
type chartData struct {
	ID, Title           string
	OK, Failed, Refused string        // calls in all of it
	Outcomes, Latency   template.HTML // SVG
	Rows                []chartRow    // the same as a table, the newest first
}

// chartRow is one minute or hour in which there were calls.
type chartRow struct {
	When                string
	OK, Failed, Refused string
	P50, P95, P99       string
}

// chartsOf returns the charts of the last hour and of the last day; none for a tool that was not called.
func (c *Console) chartsOf(tool string, now time.Time) []chartData {
	history := c.Inspector.History()
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
	ok, failed, refused := sum(points)
	d := chartData{
		ID: id, Title: title, OK: thousands(ok), Failed: thousands(failed), Refused: thousands(refused),
		Outcomes: p.outcomes(title), Latency: p.latency(title),
	}
	if failed > 0 {
		d.Failed += fmt.Sprintf(" (%.1f %%)", 100*float64(failed)/float64(ok+failed))
	}
	for i, at := range slices.Backward(points) {
		if at.Calls() > 0 {
			d.Rows = append(d.Rows, chartRow{
				When: p.when(i), OK: thousands(uint64(at.OK)), Failed: thousands(uint64(at.Failed)),
				Refused: thousands(uint64(at.Refused)),
				P50:     seconds(at.P50), P95: seconds(at.P95), P99: seconds(at.P99),
			})
		}
	}
	return d
}

func sum(points []metrics.Point) (ok, failed, refused uint64) {
	for _, p := range points {
		ok, failed, refused = ok+uint64(p.OK), failed+uint64(p.Failed), refused+uint64(p.Refused)
	}
	return ok, failed, refused
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
func coordinate(x float64) string  { return strconv.FormatFloat(x, 'f', 1, 64) }
func thousands(n uint64) string    { return groupDigits(strconv.FormatUint(n, 10)) }
func groupDigits(text string) string {
	var out strings.Builder
	for i, r := range text {
		if i > 0 && (len(text)-i)%3 == 0 {
			out.WriteByte(',')
		}
		out.WriteRune(r)
	}
	return out.String()
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

// open writes the opening tag of a chart, its title, and the times below it.
func (p *plot) open(out *strings.Builder, kind, title string) {
	id := p.id + "-" + kind
	fmt.Fprintf(out, `<svg class="chart" id="%s" role="img" aria-labelledby="%s-title" viewBox="0 0 %g %g">`+
		`<title id="%s-title">%s</title>`, id, id, chartWidth, chartHeight, id, title)
	for i := range p.points {
		if (len(p.points)-1-i)%(len(p.points)/6) == 0 && i > 0 {
			fmt.Fprintf(out, `<text x="%s" y="%g" text-anchor="end">%s</text>`, coordinate(p.left(i)+p.width()),
				chartHeight-4, p.when(i)[max(0, len(p.when(i))-5):])
		}
	}
}

// line draws a horizontal line with its label.
func line(out *strings.Builder, share float64, label string) {
	y := level(share)
	fmt.Fprintf(out, `<path class="grid" d="M%g %sH%g"/><text x="%g" y="%s" text-anchor="end">%s</text>`,
		chartLeft, coordinate(y), chartWidth, chartLeft-6, coordinate(y+4), label)
}

// outcomes draws the calls of each point as a bar of three parts.
func (p *plot) outcomes(title string) template.HTML {
	most := uint32(1)
	for _, at := range p.points {
		most = max(most, at.Calls())
	}
	ok, failed, refused := sum(p.points)
	var out strings.Builder
	p.open(&out, "outcomes", fmt.Sprintf("%s: %s ok, %s failed, %s refused, at most %s in %s", title, thousands(ok),
		thousands(failed), thousands(refused), count(int(most), "call"), p.unit()))
	line(&out, 0, "0")
	line(&out, 1, thousands(uint64(most)))
	for i, at := range p.points {
		if at.Calls() == 0 {
			continue
		}
		fmt.Fprintf(&out, `<g><title>%s: %s ok, %s failed, %s refused</title>`, p.when(i), thousands(uint64(at.OK)),
			thousands(uint64(at.Failed)), thousands(uint64(at.Refused)))
		below := uint32(0)
		for _, part := range []struct {
			class string
			n     uint32
		}{{"ok", at.OK}, {"bad", at.Failed}, {"warn", at.Refused}} {
			if part.n == 0 {
				continue
			}
			top := level(float64(below+part.n) / float64(most))
			height := level(float64(below)/float64(most)) - top
			fmt.Fprintf(&out, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, part.class,
				coordinate(p.left(i)+p.width()*0.1), coordinate(top), coordinate(p.width()*0.8),
				coordinate(max(height, 1)))
			below += part.n
		}
		out.WriteString(`</g>`)
	}
	out.WriteString(`</svg>`)
	return template.HTML(out.String())
}

func (p *plot) unit() string {
	if p.step < time.Hour {
		return "a minute"
	}
	return "an hour"
}

// percentiles are the lines of a chart of latency.
var percentiles = []struct {
	name string
	of   func(metrics.Point) float32
}{
	{"p50", func(p metrics.Point) float32 { return p.P50 }},
	{"p95", func(p metrics.Point) float32 { return p.P95 }},
	{"p99", func(p metrics.Point) float32 { return p.P99 }},
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
	var out strings.Builder
	if most == 0 {
		p.open(&out, "latency", title+": no call has ended")
		line(&out, 0, "0")
		out.WriteString(`</svg>`)
		return template.HTML(out.String())
	}
	from, to := math.Floor(math.Log10(least)), math.Ceil(math.Log10(most))
	to = max(to, from+1)
	share := func(s float32) float64 { return (math.Log10(float64(s)) - from) / (to - from) }
	p.open(&out, "latency", fmt.Sprintf("%s: the fastest p50 is %s, the slowest p99 %s", title, seconds(float32(least)),
		seconds(float32(most))))
	for power := from; power <= to; power++ {
		line(&out, (power-from)/(to-from), seconds(float32(math.Pow(10, power))))
	}
	for _, percentile := range percentiles {
		fmt.Fprintf(&out, `<g class="%s">%s</g>`, percentile.name, p.trace(func(at metrics.Point) (float64, bool) {
			return share(max(percentile.of(at), float32(math.Pow(10, from)))), at.P99 > 0
		}))
	}
	for i, at := range p.points {
		if at.P99 > 0 {
			fmt.Fprintf(&out, `<rect class="hit" x="%s" y="%g" width="%s" height="%g"><title>%s: p50 %s, p95 %s, `+
				`p99 %s</title></rect>`, coordinate(p.left(i)), chartTop, coordinate(p.width()), chartBottom-chartTop,
				p.when(i), seconds(at.P50), seconds(at.P95), seconds(at.P99))
		}
	}
	out.WriteString(`</svg>`)
	return template.HTML(out.String())
}

// trace draws a line through the points with a value, and a short one for a point alone.
func (p *plot) trace(valueOf func(metrics.Point) (share float64, ok bool)) string {
	var path strings.Builder
	drawing := false
	for i, at := range p.points {
		share, ok := valueOf(at)
		x, y := p.left(i)+p.width()/2, coordinate(level(share))
		switch {
		case !ok:
			drawing = false
			continue
		case drawing:
			fmt.Fprintf(&path, "L%s %s", coordinate(x), y)
		default:
			fmt.Fprintf(&path, "M%s %sh2", coordinate(x-1), y)
		}
		drawing = true
	}
	return `<path d="` + path.String() + `"/>`
}
