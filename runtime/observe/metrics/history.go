package metrics

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

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

// Chart is the history of one tool, or of the whole server, the oldest point first.
type Chart struct {
	Tool    string    // empty for the whole server
	End     time.Time // of the last minute and, so far, of the last hour
	Minutes [MinutesKept]Point
	Hours   [HoursKept]Point

	LastHour, LastDay Point // the sums of Minutes and of Hours
}

// History keeps what the counters of tools came to in each minute, for tools that were called. To these it adds what
// other processes have recorded. It is safe for concurrent use.
type History struct {
	metrics        *Metrics
	*service.Group // reads
	began          time.Time

	mu     sync.Mutex
	last   time.Time          // of the latest reading, a whole minute; guarded by mu
	tools  map[string]*series // guarded by mu
	server series             // of the whole server; guarded by mu

	others      map[string]*rings // of other processes, by tool, and by "" for their servers; guarded by mu
	othersBegan time.Time         // the earliest begin of these; the zero time without any; guarded by mu
}

// rings are what was counted in the latest minutes and hours, each at the place of its time; nil for nothing.
type rings struct {
	minutes [MinutesKept]*sums
	hours   [HoursKept]*sums
}

// series is the history of one tool in this process.
type series struct {
	rings
	of           *Operation
	ended        uint64 // its calls at the latest reading
	latest       totals // of the latest reading
	minute, hour totals // of the latest reading before the minute of the latest reading, and before its hour
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
	h := &History{metrics: m, began: now, last: now.Truncate(time.Minute), tools: map[string]*series{}}
	for name, o := range m.calledTools() {
		ended := o.ends.Load()
		t := o.totals()
		h.tools[name] = &series{of: o, ended: ended, latest: t, minute: t, hour: t}
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
	isLater := now.After(h.last)
	if !isLater {
		now = h.last // the clock was set back, or somebody else has read in the meantime
	}
	h.metrics.prune()
	tools := h.metrics.calledTools()
	for name, s := range h.tools {
		if _, kept := tools[name]; !kept {
			delete(h.tools, name)
		} else if isLater {
			s.advance(h.last, now)
		}
	}
	if isLater {
		h.server.advance(h.last, now)
		for _, r := range h.others {
			r.advance(h.last, now)
		}
	}
	server := h.server.latest
	for name, o := range tools {
		s := h.tools[name]
		if s == nil {
			s = new(series)
			h.tools[name] = s
		}
		if s.of != o { // the tool is new, or it was removed and came back
			s.of, s.ended, s.latest, s.minute, s.hour = o, 0, totals{}, totals{}, totals{}
		}
		t, ended := s.latest, o.ends.Load()
		if ended == s.ended && !isLater {
			continue // most pages are read between two calls of most tools
		}
		if ended != s.ended {
			s.ended, t = ended, o.totals()
		}
		server.addSince(&t, &s.latest)
		s.read(t, now)
	}
	h.server.read(server, now)
	h.last = now
}

// read sets what the minute and the hour of now have come to.
func (s *series) read(t totals, now time.Time) {
	s.minutes[minuteOf(now)], s.hours[hourOf(now)] = t.since(&s.minute), t.since(&s.hour)
	s.latest = t
}

func minuteOf(t time.Time) int { return int(t.Unix()/60) % MinutesKept }
func hourOf(t time.Time) int   { return int(t.Unix()/3600) % HoursKept }

// advance begins the minute and the hour of now, if they are later than those of the latest reading.
func (s *series) advance(last, now time.Time) {
	s.minute = s.latest
	if now.Truncate(time.Hour).After(last) {
		s.hour = s.latest
	}
	s.rings.advance(last, now)
}

// advance clears the places after the latest reading, up to the one of now: the process may have been suspended.
func (r *rings) advance(last, now time.Time) {
	for i := 1; i <= MinutesKept && !last.Add(time.Duration(i)*time.Minute).After(now); i++ {
		r.minutes[minuteOf(last.Add(time.Duration(i)*time.Minute))] = nil
	}
	hour := last.Truncate(time.Hour)
	for i := 1; i <= HoursKept && !hour.Add(time.Duration(i)*time.Hour).After(now); i++ {
		r.hours[hourOf(hour.Add(time.Duration(i)*time.Hour))] = nil
	}
}

// Began returns since when calls are in the history: since the begin of this process, or of an earlier one that it has
// a record of.
func (h *History) Began() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.othersBegan.IsZero() && h.othersBegan.Before(h.began) {
		return h.othersBegan
	}
	return h.began
}

// LastHour is what the calls of a tool came to in the last 60 minutes.
type LastHour struct {
	Tool string
	Point
}

// LastHours returns what the calls of each tool came to in the last 60 minutes, by name, without tools that were not
// called in them.
func (h *History) LastHours() (all []LastHour) {
	h.mu.Lock()
	defer h.mu.Unlock()
	add := func(tool string, own *rings) {
		total := new(sums)
		for _, r := range [...]*rings{own, h.others[tool]} {
			if r != nil {
				for _, minute := range r.minutes {
					total.add(minute)
				}
			}
		}
		if p := total.point(); p.Calls() > 0 {
			all = append(all, LastHour{tool, p})
		}
	}
	for name, s := range h.tools {
		add(name, &s.rings)
	}
	for name := range h.others {
		if h.tools[name] == nil && name != "" {
			add(name, nil)
		}
	}
	slices.SortFunc(all, func(a, b LastHour) int { return strings.Compare(a.Tool, b.Tool) })
	return all
}

// Lately returns what the calls of the whole server came to in some of the latest minutes, of which the last one has
// just begun.
func (h *History) Lately(minutes int) Point {
	h.mu.Lock()
	defer h.mu.Unlock()
	total := new(sums)
	for i := range minutes {
		at := minuteOf(h.last.Add(-time.Duration(i) * time.Minute))
		total.add(h.server.minutes[at])
		if others := h.others[""]; others != nil {
			total.add(others.minutes[at])
		}
	}
	return total.point()
}

// Server returns the history of the whole server.
func (h *History) Server() Chart {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.chart("", &h.server.rings, h.others[""])
}

// Chart returns the history of a tool, and whether it was called.
func (h *History) Chart(tool string) (Chart, bool) {
	if h == nil {
		return Chart{}, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var own *rings
	others := h.others[tool]
	if s := h.tools[tool]; s != nil {
		own = &s.rings
	}
	return h.chart(tool, own, others), own != nil || others != nil
}

// chart returns the sum of rings, each of which may be nil. The caller holds mu.
func (h *History) chart(tool string, of ...*rings) Chart {
	c := Chart{Tool: tool, End: h.last}
	of = slices.DeleteFunc(of, func(r *rings) bool { return r == nil })
	minutes, hours := minuteOf(h.last)+1, hourOf(h.last)+1
	hour, day := new(sums), new(sums)
	for i := range c.Minutes {
		total := new(sums)
		for _, r := range of {
			total.add(r.minutes[(minutes+i)%MinutesKept])
		}
		hour.add(total)
		c.Minutes[i] = total.point()
	}
	for i := range c.Hours {
		total := new(sums)
		for _, r := range of {
			total.add(r.hours[(hours+i)%HoursKept])
		}
		day.add(total)
		c.Hours[i] = total.point()
	}
	c.LastHour, c.LastDay = hour.point(), day.point()
	return c
}

// calledTools returns the tools that were called.
func (m *Metrics) calledTools() map[string]*Operation {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]*Operation{}
	for key, o := range m.operations {
		if key.kind == "tool" && key.name != Unknown && o.called.Load() {
			out[key.name] = o
		}
	}
	return out
}
