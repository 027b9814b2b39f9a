package audit

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hatchel/internal/ctxtime"
)

// faulty is a file whose writes and syncs fail on demand.
type faulty struct {
	*os.File
	room  atomic.Int64 // bytes that are left on its disk; negative for any number
	syncs atomic.Int64
	bad   atomic.Bool // syncs fail
	slow  func()      // is waited for by each sync; nil when none has to wait
}

func (f *faulty) Write(p []byte) (int, error) {
	room := f.room.Load()
	if room < 0 || int64(len(p)) <= room {
		f.room.Store(max(room-int64(len(p)), min(room, 0)))
		return f.File.Write(p)
	}
	n, err := f.File.Write(p[:room])
	f.room.Add(-int64(n))
	return n, errors.Join(err, syscall.ENOSPC)
}

func (f *faulty) Sync() error {
	f.syncs.Add(1)
	if f.bad.Load() {
		return syscall.EIO
	}
	if f.slow != nil {
		f.slow()
	}
	return f.File.Sync()
}

func faultyLog(t testing.TB, path string) (*Log, *faulty) {
	l := open(t, path, Limits{})
	f := &faulty{File: l.file.(*os.File)}
	f.room.Store(-1)
	l.file = f
	return l, f
}

// Exactly the records without an error are in the log, once.
func TestFullDiskLosesNoRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l, f := faultyLog(t, path)
	var mu sync.Mutex
	written, refused := map[string]bool{}, map[string]bool{}
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		f.room.Store(random.Int64N(3000))
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				name := fmt.Sprintf("%d.%d", round, i)
				err := l.Append(call(name), false)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					written[name] = true
				} else {
					refused[name] = true
				}
			})
		}
		all.Wait()
	}
	if l.LastError() == nil && len(refused) == 0 {
		t.Fatal("nothing has failed")
	}
	f.room.Store(-1)
	check(t, l.Check(t.Context()))
	check(t, l.Append(call("end"), true))
	if v := holds(t, path); v.Repairs == 0 {
		t.Error(v)
	}
	seen := map[string]bool{}
	for _, r := range events(t, path) {
		if r.Event != EventCall || r.Name == "end" {
			continue
		}
		if !written[r.Name] || seen[r.Name] {
			t.Errorf("%s was not written, or is there twice", r.Name)
		}
		seen[r.Name] = true
	}
	if len(seen) != len(written) {
		t.Errorf("%d of %d records are there", len(seen), len(written))
	}
}

func TestConcurrentRecordsShareASync(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l, f := faultyLog(t, path)
	const callers, rounds = 32, 20
	deadline := time.Now().Add(time.Minute)
	for range rounds {
		whole := l.written.Load() + callers
		f.slow = func() { // until all callers have come
			for l.written.Load() < whole && time.Now().Before(deadline) && ctxtime.Sleep(t.Context(), time.Millisecond) == nil {
			}
		}
		before := f.syncs.Load()
		var all sync.WaitGroup
		for i := range callers {
			all.Go(func() {
				if err := l.Append(call(fmt.Sprint(i)), true); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := f.syncs.Load() - before; n > 2 {
			t.Errorf("%d records took %d syncs", callers, n)
		}
	}
	holds(t, path)
}

func TestFailedSyncIsPermanent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l, f := faultyLog(t, path)
	f.bad.Store(true)
	if err := l.Append(call("x"), true); !errors.Is(err, syscall.EIO) {
		t.Errorf("got %v", err)
	}
	f.bad.Store(false)
	// The next sync may succeed although the pages of the failed one are lost.
	for _, durable := range []bool{true, false} {
		if err := l.Append(call("x"), durable); !errors.Is(err, syscall.EIO) {
			t.Errorf("got %v", err)
		}
	}
	if err := l.Check(t.Context()); err == nil {
		t.Error("Check succeeds again")
	}
}
