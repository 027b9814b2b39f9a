package metrics

import (
	"fmt"
	"math"
	"testing"
	"time"
	"unsafe"
)

// callTool ends calls of a tool that took a time.
func callTool(m *Metrics, name, outcome string, n int, took time.Duration) {
	o := m.Operation("tool", name)
	for range n {
		o.Begin()
		o.End(&Call{HTTP: true, Outcome: outcome, IsError: outcome == "failed", Duration: took})
	}
}

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func TestHistoryHasTheCallsOfEachMinuteAndHour(t *testing.T) {
	m := New()
	callTool(m, "refund", "ok", 100, time.Second)
	h := newHistory(m, noon)
	for minute := 1; minute <= 90; minute++ {
		callTool(m, "refund", "ok", minute, 3*time.Millisecond)
		callTool(m, "refund", "failed", 1, 40*time.Millisecond)
		h.Read(noon.Add(time.Duration(minute) * time.Minute)) // for a page
		callTool(m, "refund", "refused", 2, time.Millisecond)
		callTool(m, "refund", "asked", 1, time.Millisecond)
		h.Read(noon.Add(time.Duration(minute) * time.Minute))
	}
	c, ok := h.Chart("refund")
	if !ok || !c.End.Equal(noon.Add(90*time.Minute)) {
		t.Fatalf("%v, %v", ok, c.End)
	}
	for i, p := range c.Minutes {
		if minute := uint32(31 + i); p.OK != minute || p.Failed != 1 || p.Refused != 2 || p.Calls() != minute+3 {
			t.Errorf("minute %d: %+v", minute, p)
		}
	}
	this, before := c.Hours[HoursKept-1], c.Hours[HoursKept-2]
	// 12:01 to 12:59, and 13:00 to 13:30
	if before.OK != 59*60/2 || before.Failed != 59 || this.OK != 90*91/2-59*60/2 || this.Refused != 2*31 {
		t.Errorf("hours: %+v, %+v", before, this)
	}
	if c.Hours[HoursKept-3] != (Point{}) {
		t.Error("calls before the history are in it")
	}
	if p := c.Minutes[MinutesKept-1]; p.P50 < 0.0025 || p.P50 > 0.005 || p.P99 < 0.02 || p.P99 > 0.05 {
		t.Errorf("quantiles: %+v", p)
	}
}

func TestHistoryHasNoToolThatWasNotCalled(t *testing.T) {
	m := New()
	m.Operation("tool", "quiet")
	m.Operation("prompt", "review").End(&Call{Outcome: "ok"})
	m.Operation("tool", Unknown).End(&Call{Outcome: "refused"})
	h := newHistory(m, noon)
	h.Read(noon.Add(time.Minute))
	if all := h.LastHours(); len(all) != 0 || h.Record() != nil {
		t.Errorf("%+v", all)
	}
	if size := unsafe.Sizeof(series{}) + (MinutesKept+HoursKept)*unsafe.Sizeof(sums{}); size > 10<<10 {
		t.Errorf("a tool that is always called takes %d bytes", size)
	}
}

func TestHistoryIsEmptyForTheTimeOfASuspension(t *testing.T) {
	m := New()
	h := newHistory(m, noon)
	callTool(m, "refund", "ok", 7, time.Millisecond)
	h.Read(noon.Add(time.Minute))
	h.Read(noon.Add(30 * time.Minute))
	c, _ := h.Chart("refund")
	for i, p := range c.Minutes {
		if want := map[bool]uint32{true: 7}[i == MinutesKept-30]; p.OK != want {
			t.Errorf("minute %d: %+v", i, p)
		}
	}
	h.Read(noon.Add(100 * time.Hour))
	if c, _ := h.Chart("refund"); c.Minutes != [MinutesKept]Point{} || c.Hours != [HoursKept]Point{} {
		t.Errorf("after days: %+v", c)
	}
}

func TestHistoryForgetsRemovedTools(t *testing.T) {
	m := New()
	now := noon
	m.now = func() time.Time { return now }
	h := newHistory(m, noon)
	callTool(m, "refund", "ok", 7, time.Millisecond)
	h.Read(noon.Add(time.Minute))
	m.Retain(func(string, string) bool { return false }, func(string, string) bool { return false })
	now = noon.Add(keepRemoved)
	h.Read(now)
	if _, known := h.Chart("refund"); known {
		t.Error("a tool that was removed has a chart")
	}
	if total := h.Lately(MinutesKept); total.OK != 7 {
		t.Errorf("the server has %+v", total)
	}
	callTool(m, "refund", "ok", 3, time.Millisecond)
	h.Read(now.Add(time.Minute))
	if c, ok := h.Chart("refund"); !ok || c.Minutes[MinutesKept-1].OK != 3 {
		t.Errorf("after it came back: %+v", c)
	}
	if total := h.Lately(MinutesKept); total.OK != 10 {
		t.Errorf("the server has %+v after it came back", total)
	}
}

func TestQuantilesAreThoseOfAHistogram(t *testing.T) {
	m := New()
	h := newHistory(m, noon)
	callTool(m, "slow", "ok", 50, 15*time.Millisecond)
	callTool(m, "slow", "ok", 50, 10*time.Minute)
	h.Read(noon.Add(time.Minute))
	c, _ := h.Chart("slow")
	p := c.Minutes[MinutesKept-1]
	if math.Abs(float64(p.P50)-0.02) > 1e-6 || p.P99 != 300 {
		t.Errorf("%+v", p)
	}
}

func TestAHistoryEnds(t *testing.T) {
	StartHistory(t.Context(), New()).Close()
	var none *History
	if _, ok := none.Chart("refund"); ok {
		t.Error("no history has charts")
	}
}

func TestAHistoryIsTheSumOfWhatProcessesHaveRecorded(t *testing.T) {
	first := New()
	before := newHistory(first, noon)
	callTool(first, "refund", "ok", 90, time.Millisecond)
	callTool(first, "gone", "failed", 2, time.Second)
	before.Read(noon.Add(10 * time.Minute))
	record, err := ParseRecorded(before.Record())
	if err != nil {
		t.Fatal(err)
	}
	second := New()
	h := newHistory(second, noon.Add(10*time.Minute))
	callTool(second, "refund", "ok", 10, 400*time.Millisecond)
	h.Read(noon.Add(10 * time.Minute))
	h.SetOthers([]*Recorded{record})
	h.Read(noon.Add(12 * time.Minute))
	c, _ := h.Chart("refund")
	if p := c.Minutes[MinutesKept-3]; p.OK != 100 || p.P50 > 0.002 || p.P95 < 0.2 || c.LastHour != p || c.LastDay != p {
		t.Errorf("%+v in the minute, %+v in the hour", p, c.LastHour)
	}
	if c, known := h.Chart("gone"); !known || c.LastHour.Failed != 2 {
		t.Errorf("a tool of an earlier process: %v, %+v", known, c.LastHour)
	}
	if p := h.Server().LastHour; p.OK != 100 || p.Failed != 2 {
		t.Errorf("the server has %+v", p)
	}
	if all := h.LastHours(); len(all) != 2 || all[0].Tool != "gone" || all[1].OK != 100 {
		t.Errorf("the tools have %+v", all)
	}
	if h.Lately(2).Calls() != 0 || h.Lately(3).OK != 100 || !h.Began().Equal(noon) {
		t.Errorf("%+v, since %v", h.Lately(3), h.Began())
	}
	h.Read(noon.Add(80 * time.Minute))
	if c, _ := h.Chart("refund"); c.LastHour.Calls() != 0 || c.LastDay.OK != 100 {
		t.Errorf("later: %+v, %+v", c.LastHour, c.LastDay)
	}
}

func TestARecordOfAnotherVersionIsRead(t *testing.T) {
	h := newHistory(New(), noon)
	body := `{"later":1,"buckets":[1,2],"series":[{"minutes":[[` + fmt.Sprint(noon.Unix()/60) + `,3,1,0,7,7],[1]]}]}`
	r, err := ParseRecorded([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	h.SetOthers([]*Recorded{r})
	if p := h.Lately(1); p != (Point{OK: 3, Failed: 1}) {
		t.Errorf("%+v", p)
	}
}

func TestARecordIsBounded(t *testing.T) {
	m := New()
	h := newHistory(m, noon)
	for minute := range MinutesKept {
		for tool := range 100 {
			callTool(m, fmt.Sprintf("a_tool_with_a_long_name_%d", tool), "ok", 1+tool, time.Duration(minute)*time.Second)
		}
		h.Read(noon.Add(time.Duration(minute) * time.Minute))
	}
	size := len(h.Record())
	r, err := ParseRecorded(h.Record())
	if err != nil || size > 3*maxRecorded/2 || len(r.Series) < 2 || r.Series[1].Tool != "a_tool_with_a_long_name_99" {
		t.Errorf("%d bytes, %v", size, err)
	}
}
