package metrics

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"hatchel/internal/ctxtime"
	"hatchel/internal/service"
)

// Lengths of a [Chart].
const (
	MinutesKept = 60
	HoursKept   = 24
)

// Point is what the calls of a tool came to in a minute or an hour. Calls that continue later, with an answer or as a
// task, are in no count. Failed also has the calls that have failed in part.
type Point struct {
	OK, Failed, Refused uint32
	P50, P95, P99       float32 // seconds that calls took, estimated from a histogram; 0 without calls
}

// Calls returns how many calls there were.
func (p Point) Calls() uint32 { return p.OK + p.Failed + p.Refused }

// Chart is the history of one tool, the oldest point first.
type Chart struct {
	Tool    string
	End     time.Time // of the last minute and, so far, of the last hour
	Minutes [MinutesKept]Point
	Hours   [HoursKept]Point
}

// History keeps what the counters of tools came to in each minute, for tools that were called. It is safe for
// concurrent use.
type History struct {
	metrics        *Metrics
	*service.Group // reads

	mu    sync.Mutex
	last  time.Time          // of the latest reading, a whole minute; guarded by mu
	tools map[string]*series // guarded by mu
}

// series is the history of one tool.
type series struct {
	latest       totals // of the latest reading
	minute, hour totals // of the latest reading before the minute of the latest reading, and before its hour
	minutes      [MinutesKept]Point
	hours        [HoursKept]Point
}

// totals are the counters of a tool since the process began.
type totals struct {
	ok, failed, refused uint64
	durations           [len(durationBuckets) + 1]uint64 // calls by how long they took; the last one is beyond all
}

// StartHistory returns a history that begins now. It reads the counters every minute until Close.
func StartHistory(ctx context.Context, m *Metrics) *History {
	h := newHistory(m, time.Now())
	h.Group = service.NewGroup(ctx)
	h.Go(func(ctx context.Context) {
		for ctxtime.Sleep(ctx, time.Minute) == nil {
			h.Read(time.Now())
		}
	})
	return h
}

func newHistory(m *Metrics, now time.Time) *History {
	h := &History{metrics: m, last: now.Truncate(time.Minute), tools: map[string]*series{}}
	for name, t := range m.readTools() {
		h.tools[name] = &series{latest: t, minute: t, hour: t}
	}
	return h
}

// Read adds the calls since the latest reading to the minute and the hour of now.
func (h *History) Read(now time.Time) {
	if h == nil {
		return
	}
	now = now.Truncate(time.Minute)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.metrics.prune()
	tools := h.metrics.readTools()
	for name, s := range h.tools {
		if _, kept := tools[name]; !kept {
			delete(h.tools, name)
		}
		s.advance(h.last, now)
	}
	for name, t := range tools {
		s := h.tools[name]
		if s == nil {
			s = new(series)
			h.tools[name] = s
		}
		if t.calls() < s.latest.calls() { // the tool was removed and came back
			s.minute, s.hour = totals{}, totals{}
		}
		s.minutes[minuteOf(now)] = t.since(&s.minute)
		s.hours[hourOf(now)] = t.since(&s.hour)
		s.latest = t
	}
	h.last = now
}

func minuteOf(t time.Time) int { return int(t.Unix()/60) % MinutesKept }
func hourOf(t time.Time) int   { return int(t.Unix()/3600) % HoursKept }

// advance clears the points after the latest reading, up to the one of now: the process may have been suspended.
func (s *series) advance(last, now time.Time) {
	if now.After(last) {
		s.minute = s.latest
	}
	for i := 1; i <= MinutesKept && !last.Add(time.Duration(i)*time.Minute).After(now); i++ {
		s.minutes[minuteOf(last.Add(time.Duration(i)*time.Minute))] = Point{}
	}
	hour := last.Truncate(time.Hour)
	for i := 1; i <= HoursKept && !hour.Add(time.Duration(i)*time.Hour).After(now); i++ {
		s.hours[hourOf(hour.Add(time.Duration(i)*time.Hour))] = Point{}
		s.hour = s.latest
	}
}

// Charts returns the history of all tools that were called, by name.
func (h *History) Charts() []Chart {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	charts := make([]Chart, 0, len(h.tools))
	for name, s := range h.tools {
		charts = append(charts, s.chart(name, h.last))
	}
	slices.SortFunc(charts, func(a, b Chart) int { return strings.Compare(a.Tool, b.Tool) })
	return charts
}

// Chart returns the history of a tool, and whether it was called.
func (h *History) Chart(tool string) (Chart, bool) {
	if h == nil {
		return Chart{}, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.tools[tool]
	if s == nil {
		return Chart{}, false
	}
	return s.chart(tool, h.last), true
}

func (s *series) chart(name string, end time.Time) Chart {
	c := Chart{Tool: name, End: end}
	for i := range c.Minutes {
		c.Minutes[i] = s.minutes[(minuteOf(end)+1+i)%MinutesKept]
	}
	for i := range c.Hours {
		c.Hours[i] = s.hours[(hourOf(end)+1+i)%HoursKept]
	}
	return c
}

// readTools returns the totals of the tools that were called.
func (m *Metrics) readTools() map[string]totals {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]totals{}
	for key, o := range m.operations {
		if key.kind == "tool" && key.name != Unknown && o.called.Load() {
			out[key.name] = o.totals()
		}
	}
	return out
}

// totals reads the counters of an operation.
func (o *Operation) totals() (t totals) {
	for at, word := range outcomes {
		for from := range sources {
			series := o.ended[at][from].Load()
			if series == nil {
				continue
			}
			n := uint64(valueOf(*series).GetCounter().GetValue())
			switch word {
			case "ok":
				t.ok += n
			case "refused":
				t.refused += n
			case "partial", "failed", "error", "cancelled":
				t.failed += n
			}
		}
	}
	for i := range o.durations {
		for j := range o.durations[i] {
			if series := o.durations[i][j].Load(); series != nil {
				t.addDurations(valueOf((*series).(prometheus.Metric)).GetHistogram())
			}
		}
	}
	return t
}

// valueOf reads a series. One of this package has no error.
func valueOf(series prometheus.Metric) *dto.Metric {
	value := new(dto.Metric)
	_ = series.Write(value)
	return value
}

func (t *totals) addDurations(h *dto.Histogram) {
	below := uint64(0)
	for i, b := range h.GetBucket() {
		t.durations[i] += b.GetCumulativeCount() - below
		below = b.GetCumulativeCount()
	}
	t.durations[len(durationBuckets)] += h.GetSampleCount() - below
}

func (t *totals) calls() uint64 { return t.ok + t.failed + t.refused }

// since returns what has happened since earlier totals.
func (t *totals) since(before *totals) Point {
	var durations [len(durationBuckets) + 1]uint64
	for i := range durations {
		durations[i] = t.durations[i] - before.durations[i]
	}
	return Point{
		OK: uint32(t.ok - before.ok), Failed: uint32(t.failed - before.failed),
		Refused: uint32(t.refused - before.refused),
		P50:     quantile(&durations, 0.5), P95: quantile(&durations, 0.95), P99: quantile(&durations, 0.99),
	}
}

// quantile estimates a quantile of durations, in seconds, as histogram_quantile of Prometheus does: durations are
// evenly distributed in a bucket, and what is beyond all buckets takes as long as the largest.
func quantile(durations *[len(durationBuckets) + 1]uint64, q float64) float32 {
	all := uint64(0)
	for _, n := range durations {
		all += n
	}
	if all == 0 {
		return 0
	}
	rank, below := q*float64(all), 0.0
	for i, n := range durations[:len(durationBuckets)] {
		if below+float64(n) >= rank && n > 0 {
			lower := 0.0
			if i > 0 {
				lower = durationBuckets[i-1]
			}
			return float32(lower + (durationBuckets[i]-lower)*(rank-below)/float64(n))
		}
		below += float64(n)
	}
	return float32(durationBuckets[len(durationBuckets)-1])
}
