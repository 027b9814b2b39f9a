// Package historystore keeps the history of calls of each process of a server in its state, so that the charts of the
// console are those of all processes, also after a restart.
//
// A process has one record, which it replaces once a minute after calls. Nobody has to remove it: it expires when all
// that it counts is older than a day.
package historystore

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"hatchel/internal/ctxtime"
	"hatchel/internal/service"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/observe/metrics"
)

const (
	kind = "call_history"

	writeInterval = time.Minute
	readInterval  = 15 * time.Second // of records, which others write once a minute
	readTimeout   = time.Second
	closeTimeout  = time.Second // of Close, for what is not written yet
	maxRecords    = 128         // that are read: those of the processes that have written last
	pageSize      = 16          // records that are read at once
	keep          = metrics.HoursKept * time.Hour
)

// Open returns the store of the server; nil where no store outlives the process.
type Open func(context.Context) (state.Store, error)

// Keeper keeps one History. Its methods may be called concurrently. Use [Keep].
type Keeper struct {
	process *state.Process
	open    Open
	history *metrics.History
	writing *service.Group

	name    string       // of the record
	record  state.Record // belongs to the writer
	written uint64       // calls in it; belongs to the writer

	mu    sync.Mutex
	read  time.Time           // when the records were read last; guarded by mu
	known map[string]*decoded // by the name of the record; guarded by mu
	kept  bool                // there is a store; guarded by mu
}

// decoded is what a record of a version holds.
type decoded struct {
	version int
	*metrics.Recorded
}

// Keep records a history, which belongs to a process, until Close.
func Keep(process *state.Process, open Open, history *metrics.History) *Keeper {
	k := &Keeper{process: process, open: open, history: history, writing: service.NewGroup(process.Context())}
	k.name = rand.Text()
	k.record = state.Record{Kind: kind, Name: k.name, Priority: state.Low, NoNotify: true}
	k.writing.Go(k.write)
	return k
}

// Close writes what is not written yet, for a second at most.
func (k *Keeper) Close() { k.writing.Close() }

// write writes the record once a minute, until ctx ends.
func (k *Keeper) write(ctx context.Context) {
	for ctxtime.Sleep(ctx, writeInterval) == nil {
		k.process.LogFailure("storing the history of calls", k.writeRecord(ctx, time.Now()))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	k.writeRecord(ctx, time.Now()) // a failure was logged before, or the process ends
}

// writeRecord writes the record if there were calls since it was written last.
func (k *Keeper) writeRecord(ctx context.Context, now time.Time) error {
	k.history.Read(now)
	calls := k.history.Counted()
	if calls == k.written {
		return nil
	}
	store, err := k.open(ctx)
	if err != nil || store == nil {
		return err
	}
	r := k.record
	r.Body, r.Due, r.Expires = k.history.Record(), now, now.Add(keep)
	if err := state.Put(ctx, store, &r); err != nil {
		return err
	}
	k.record, k.written = r, calls
	return nil
}

// Refresh sets in the history what other processes and earlier ones have recorded, which it reads again after some
// seconds. It reports whether there is a store. While that is unavailable, the history has what was read last.
func (k *Keeper) Refresh(ctx context.Context, now time.Time) (kept bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now.Sub(k.read) < readInterval {
		return k.kept
	}
	k.read = now // also if it fails: a page waits for the store once
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	store, err := k.open(ctx)
	if err == nil && store == nil {
		k.kept = false
		return false
	}
	k.kept = true
	if err == nil {
		err = k.readRecords(ctx, store)
	}
	k.process.LogFailure("reading the history of calls", err)
	return true
}

// readRecords reads the records of others. The caller holds mu.
func (k *Keeper) readRecords(ctx context.Context, store state.Store) error {
	known := map[string]*decoded{}
	var all []*metrics.Recorded
	q := state.Query{Kind: kind, Reverse: true, Limit: pageSize}
	for range maxRecords / pageSize {
		page, err := store.List(ctx, q)
		if err != nil {
			return err
		}
		for _, r := range page {
			q.Before = r
			if r.Name == k.name {
				continue
			}
			d := k.known[r.Name]
			if d == nil || d.version != r.Version {
				d = &decoded{version: r.Version}
				d.Recorded, _ = metrics.ParseRecorded(r.Body) // nil for one that a later version has written
			}
			known[r.Name] = d
			if d.Recorded != nil {
				all = append(all, d.Recorded)
			}
		}
		if len(page) < pageSize {
			break
		}
	}
	k.known = known
	k.history.SetOthers(all)
	return nil
}
