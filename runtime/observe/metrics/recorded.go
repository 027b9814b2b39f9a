package metrics

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"time"
)

// maxRecorded is how many bytes a record of a History has, about. The tools with the most calls are in it.
const maxRecorded = 512 << 10

// Recorded is a History as it was recorded. Its JSON is stored, so a member keeps its name.
type Recorded struct {
	Began   time.Time        `json:"began"`
	Buckets []float64        `json:"buckets"` // limits of the buckets of durations
	Series  []recordedSeries `json:"series"`
}

// recordedSeries is the history of one tool. A row begins with its time in minutes or hours since 1970, and the numbers
// of calls that were ok, failed and were refused; those of the buckets of durations follow, without zeros at the end.
type recordedSeries struct {
	Tool    string     `json:"tool,omitempty"` // empty for the whole server
	Minutes [][]uint32 `json:"minutes,omitempty"`
	Hours   [][]uint32 `json:"hours,omitempty"`
}

// Units of the times of rows.
const (
	secondsOfMinute = 60
	secondsOfHour   = 3600
)

// Record returns what this process has counted, as JSON; nil while it has counted nothing.
func (h *History) Record() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	server := h.server.record("", h.last)
	if server.Hours == nil {
		return nil
	}
	var all []recordedSeries
	for name, s := range h.tools {
		if r := s.record(name, h.last); r.Hours != nil {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b recordedSeries) int {
		return cmp.Or(cmp.Compare(b.calls(), a.calls()), cmp.Compare(a.Tool, b.Tool))
	})
	r := Recorded{h.began.UTC(), durationBuckets[:], []recordedSeries{server}}
	size := 0
	for _, s := range all {
		if size += s.size(); size > maxRecorded {
			break
		}
		r.Series = append(r.Series, s)
	}
	var out bytes.Buffer
	if json.NewEncoder(&out).Encode(r) != nil {
		return nil // numbers and names have no errors
	}
	return out.Bytes()
}

// Counted returns how many calls this process has counted.
func (h *History) Counted() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.server.latest.calls()
}

// record returns the rows of a series whose latest reading was in the minute last.
func (r *rings) record(tool string, last time.Time) recordedSeries {
	out := recordedSeries{Tool: tool}
	for i := MinutesKept - 1; i >= 0; i-- {
		at := last.Add(-time.Duration(i) * time.Minute)
		out.Minutes = appendRow(out.Minutes, at.Unix()/secondsOfMinute, r.minutes[minuteOf(at)])
	}
	for i := HoursKept - 1; i >= 0; i-- {
		at := last.Add(-time.Duration(i) * time.Hour)
		out.Hours = appendRow(out.Hours, at.Unix()/secondsOfHour, r.hours[hourOf(at)])
	}
	return out
}

func appendRow(rows [][]uint32, at int64, s *sums) [][]uint32 {
	if s == nil {
		return rows
	}
	row := append([]uint32{uint32(at), s.ok, s.failed, s.refused}, s.durations[:]...)
	for row[len(row)-1] == 0 && len(row) > 4 {
		row = row[:len(row)-1]
	}
	return append(rows, row)
}

func (s *recordedSeries) calls() (n uint64) {
	for _, row := range s.Hours {
		n += uint64(row[1]) + uint64(row[2]) + uint64(row[3])
	}
	return n
}

// size returns how many bytes the series has as JSON, about.
func (s *recordedSeries) size() int {
	n := len(s.Tool) + 40
	for _, rows := range [...][][]uint32{s.Minutes, s.Hours} {
		for _, row := range rows {
			n += 10 + 3*len(row)
		}
	}
	return n
}

// ParseRecorded reads a record of a History. It leaves durations out that were counted with other buckets.
func ParseRecorded(body []byte) (*Recorded, error) {
	r := new(Recorded)
	if err := json.Unmarshal(body, r); err != nil {
		return nil, err
	}
	same := slices.Equal(r.Buckets, durationBuckets[:])
	for i := range r.Series {
		for _, rows := range [...]*[][]uint32{&r.Series[i].Minutes, &r.Series[i].Hours} {
			*rows = slices.DeleteFunc(*rows, func(row []uint32) bool { return len(row) < 4 })
			for j, row := range *rows {
				if !same || len(row) > 4+len(durationBuckets)+1 {
					(*rows)[j] = row[:4]
				}
			}
		}
	}
	return r, nil
}

// SetOthers sets what other processes have recorded, which replaces what was set before.
func (h *History) SetOthers(all []*Recorded) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.others, h.othersBegan = map[string]*rings{}, time.Time{}
	for _, r := range all {
		if h.othersBegan.IsZero() || r.Began.Before(h.othersBegan) {
			h.othersBegan = r.Began
		}
		for _, s := range r.Series {
			to := h.others[s.Tool]
			if to == nil {
				to = new(rings)
				h.others[s.Tool] = to
			}
			for _, row := range s.Minutes {
				addRow(to.minutes[:], row, h.last.Unix()/secondsOfMinute)
			}
			for _, row := range s.Hours {
				addRow(to.hours[:], row, h.last.Unix()/secondsOfHour)
			}
		}
	}
}

// addRow adds a row to the place of its time in a ring that ends with a time. One of a later time is left out: the
// clocks of processes differ.
func addRow(ring []*sums, row []uint32, end int64) {
	if age := end - int64(row[0]); age < 0 || age >= int64(len(ring)) {
		return
	}
	at := int(row[0]) % len(ring)
	if ring[at] == nil {
		ring[at] = new(sums)
	}
	s := sums{ok: row[1], failed: row[2], refused: row[3]}
	copy(s.durations[:], row[4:])
	ring[at].add(&s)
}
