package audit

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"time"
)

// Head identifies a record of a log: the last one.
type Head struct {
	Sequence int64  `json:"seq"`
	Hash     string `json:"hash"`
}

// Memory keeps the head of a log in another place.
type Memory interface {
	// Head returns the head that was kept last, or the zero Head.
	Head(ctx context.Context) (Head, error)
	Keep(ctx context.Context, h Head) error
}

// memoryDelay is how long after a record the head is kept.
const memoryDelay = time.Second

// Remember compares the log with the head that m has kept, and from then on keeps the head there. It reports whether
// records were missing at the end, which is then recorded. Only the first Remember of a log does anything.
func (l *Log) Remember(ctx context.Context, m Memory) (cut bool, err error) {
	l.saving.Lock()
	defer l.saving.Unlock()
	if l.memory != nil {
		return false, nil
	}
	known, err := m.Head(ctx)
	if err != nil {
		return false, err
	}
	if cut, err = l.lacks(known); err != nil {
		return false, err
	}
	if cut {
		const format = "The end of the log was cut off while no server wrote it: the state remembers record %d."
		err = l.Append(&Record{Time: time.Now(), Event: EventCut, Message: fmt.Sprintf(format, known.Sequence),
			LostDigest: known.Hash}, true)
		if err != nil {
			return true, err
		}
	}
	l.memory = m
	l.remembers.Store(true)
	return cut, l.keepHead(ctx)
}

// keepHead keeps the head once it is on the disk. The caller holds saving.
func (l *Log) keepHead(ctx context.Context) error {
	l.writing.Lock()
	head := l.head
	l.writing.Unlock()
	if err := l.sync(head.sequence); err != nil {
		return err
	}
	return l.memory.Keep(ctx, Head{head.sequence, string(head.hash[:])})
}

// scheduleMemory has the head kept soon. A head that is not kept is older than the log, which is no mistake.
func (l *Log) scheduleMemory() {
	if !l.remembers.Load() || !l.keepPending.CompareAndSwap(false, true) {
		return
	}
	time.AfterFunc(memoryDelay, func() {
		l.keepPending.Store(false)
		l.saving.Lock()
		defer l.saving.Unlock()
		if l.memory != nil {
			_ = l.keepHead(context.Background())
		}
	})
}

// closeMemory keeps the last head. The memory is not used afterwards.
func (l *Log) closeMemory() {
	l.saving.Lock()
	defer l.saving.Unlock()
	if l.memory != nil {
		_ = l.keepHead(context.Background())
		l.memory = nil
	}
	l.remembers.Store(false)
}

// lacks reports whether a record is not in the files, although it is not older than all of them.
func (l *Log) lacks(known Head) (bool, error) {
	if known.Sequence == 0 {
		return false, nil
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	files, err := Files(l.path)
	if err != nil {
		return false, err
	}
	for _, name := range slices.Backward(files) {
		f, err := os.Open(name)
		if err != nil {
			return false, err
		}
		head, _, err := lastRecord(f, known.Sequence)
		f.Close()
		if err != nil {
			return false, err
		}
		if head.sequence > 0 {
			return head.sequence != known.Sequence || string(head.hash[:]) != known.Hash, nil
		}
	}
	return false, nil
}

// anySequence makes lastRecord find the last record.
const anySequence = math.MaxInt64
