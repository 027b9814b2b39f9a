// Package callstore keeps the latest calls of each process of a server in its state, so that the console of each
// process shows those of all, also after a restart.
//
// A process writes the calls that have ended once a second, as one record in one statement, and no call waits for that.
// A record grows until it holds some calls; then the process begins another one, and it writes over its oldest record
// when the others hold enough. So a process has few records, which nobody has to remove: they expire.
package callstore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hatchel/internal/ctxtime"
	"hatchel/internal/service"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/observe/recent"
)

const (
	kind = "console_calls"

	writeInterval = time.Second
	closeTimeout  = time.Second // of Close, for what is not written yet
	fullRecord    = 64          // calls, after which another record begins
	maxRecord     = 1 << 20     // bytes of a record
	pageSize      = 16          // records that are read at once
)

// Store keeps the calls of a Log. Its methods may be called concurrently. Use [New].
type Store struct {
	process *state.Process
	log     func() *recent.Log
	dropped atomic.Uint64

	mu      sync.Mutex
	keep    time.Duration  // guarded by mu
	writing *service.Group // nil while nothing is kept; guarded by mu

	written  uint64    // how many calls have ended before those that are not written yet; belongs to the writer
	records  []*record // of this process, the oldest first; belongs to the writer
	lastSlot int       // number in the name of the latest new record; belongs to the writer

	reading sync.Mutex
	known   map[string]*decoded // by the name of the record; guarded by reading
}

// record is a record of this process.
type record struct {
	state.Record
	calls int
}

// decoded is what a record of a version holds.
type decoded struct {
	version int
	calls   []*recent.Call
}

// New returns a Store of a process, which keeps nothing before SetKeep.
func New(process *state.Process, log func() *recent.Log) *Store {
	return &Store{process: process, log: log, known: map[string]*decoded{}}
}

// SetKeep sets how long calls are kept in the state; 0 keeps none there.
func (s *Store) SetKeep(keep time.Duration) {
	if keep == 0 {
		s.Close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keep = keep; keep > 0 && s.writing == nil {
		s.writing = service.NewGroup(s.process.Context())
		s.writing.Go(s.write)
	}
}

// Close writes what is not written yet, for a second at most.
func (s *Store) Close() {
	s.mu.Lock()
	ending := s.writing
	s.writing = nil
	s.mu.Unlock()
	if ending != nil {
		ending.Close()
	}
}

// Dropped returns how many calls of this process are not in the state, because they ended faster than they could be
// written.
func (s *Store) Dropped() uint64 { return s.dropped.Load() }

// write writes the calls that have ended, until ctx ends.
func (s *Store) write(ctx context.Context) {
	for ctxtime.Sleep(ctx, writeInterval) == nil {
		s.process.LogFailure("storing calls for the console", s.writeEnded(ctx))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	s.writeEnded(ctx) // a failure was logged before, or the process ends
}

// writeEnded writes the calls that have ended since it succeeded last.
func (s *Store) writeEnded(ctx context.Context) error {
	s.mu.Lock()
	keep := s.keep
	s.mu.Unlock()
	calls, last := s.log().Ended(s.written)
	if len(calls) == 0 {
		return nil
	}
	store, err := s.process.Store(ctx)
	if err != nil {
		return err
	}
	r := s.next()
	body, n := appendCalls(slices.Clip(r.Body), calls)
	changed := r.Record
	changed.Body, changed.Due = body, calls[len(calls)-1].Ended()
	changed.Expires = changed.Due.Add(keep)
	if err := state.Put(ctx, store, &changed); err != nil {
		return err
	}
	r.Record, r.calls = changed, r.calls+n
	s.dropped.Add(last - s.written - uint64(n))
	s.written = last
	return nil
}

// next returns the record to which calls are added: the latest one, another one if that is full, and the oldest one,
// emptied, if all others hold enough.
func (s *Store) next() *record {
	total := 0
	for _, r := range s.records {
		total += r.calls
	}
	n := len(s.records)
	switch {
	case n > 0 && s.records[n-1].calls < fullRecord && len(s.records[n-1].Body) < maxRecord/2:
	case n > 0 && total-s.records[0].calls >= recent.Kept:
		oldest := s.records[0]
		oldest.Body, oldest.calls = nil, 0
		s.records = append(s.records[1:], oldest)
	default:
		s.lastSlot++
		r := &record{Record: state.Record{
			Kind: kind, Name: fmt.Sprintf("%s-%d", s.process.Name(), s.lastSlot), Priority: state.Low, NoNotify: true,
		}}
		s.records = append(s.records, r)
	}
	return s.records[len(s.records)-1]
}

// appendCalls appends the latest of the calls for which a record has room, a line each, and returns how many these are.
func appendCalls(body []byte, calls []*recent.Call) (_ []byte, n int) {
	var lines [][]byte
	size := len(body)
	for _, c := range slices.Backward(calls) {
		line, err := json.Marshal(c)
		if size += len(line) + 1; err != nil || size > maxRecord {
			break
		}
		lines = append(lines, append(line, '\n'))
	}
	slices.Reverse(lines)
	return append(body, bytes.Join(lines, nil)...), len(lines)
}

// Calls returns the latest calls of other processes and of earlier ones, the newest first. The error is one of the
// state; there are no calls while nothing is kept in it.
func (s *Store) Calls(ctx context.Context) (calls []*recent.Call, err error) {
	s.mu.Lock()
	keeps := s.keep > 0
	s.mu.Unlock()
	if !keeps {
		return nil, nil
	}
	store, err := s.process.Store(ctx)
	if err != nil {
		return nil, err
	}
	s.reading.Lock()
	defer s.reading.Unlock()
	known := map[string]*decoded{}
	q := state.Query{Kind: kind, Reverse: true, Limit: pageSize}
	for len(calls) < recent.Kept {
		page, err := store.List(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, r := range page {
			q.Before = r
			d := s.known[r.Name]
			if d == nil || d.version != r.Version {
				d = &decoded{r.Version, s.decode(r)}
			}
			known[r.Name] = d
			calls = append(calls, d.calls...)
		}
		if len(page) < pageSize {
			break
		}
	}
	s.known = known
	slices.SortStableFunc(calls, func(a, b *recent.Call) int { return b.Began.Compare(a.Began) })
	return calls[:min(len(calls), recent.Kept)], nil
}

// decode returns the calls of a record; none of one of this process, whose Log has them.
func (s *Store) decode(r *state.Record) (calls []*recent.Call) {
	if strings.HasPrefix(r.Name, s.process.Name()+"-") {
		return nil
	}
	for line := range bytes.Lines(r.Body) {
		c := new(recent.Call)
		if json.Unmarshal(line, c) == nil { // a later version may have written it
			calls = append(calls, c)
		}
	}
	return calls
}
