package audit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"hatchel/runtime/durable/postgres"
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

// keeper keeps the head of a log in a Memory.
type keeper struct {
	saving      sync.Mutex      // held before the locks of the log
	ctx         context.Context // of background saves; guarded by saving
	memory      Memory          // nil before remember and after the log is closed; guarded by saving
	remembers   atomic.Bool     // there is a memory
	keepPending atomic.Bool     // a background save of the head is scheduled
}

// rememberedLog is a log whose head a keeper keeps.
type rememberedLog interface {
	Append(r *Record, durable bool) error
	// lacks reports whether a record is not in the log, although it is not older than all of the log.
	lacks(ctx context.Context, known Head) (bool, error)
	// durableHead returns the last record that this process has written, once it is durable.
	durableHead() (Head, error)
}

// remember compares the log with the head that m has kept, and from then on keeps the head there. It reports whether
// records were missing at the end, which is then recorded. Only the first remember of a log does anything.
func (k *keeper) remember(ctx context.Context, m Memory, log rememberedLog) (cut bool, err error) {
	k.saving.Lock()
	defer k.saving.Unlock()
	if k.memory != nil {
		return false, nil
	}
	known, err := m.Head(ctx)
	if err != nil {
		return false, err
	}
	if known.Sequence > 0 {
		if cut, err = log.lacks(ctx, known); err != nil {
			return false, err
		}
	}
	if cut {
		const format = "The end of the log was cut off while no server wrote it: the state remembers record %d."
		r := NewRecord(EventCut, Common{})
		r.Message, r.LostDigest = fmt.Sprintf(format, known.Sequence), known.Hash
		if err = log.Append(r, true); err != nil {
			return true, err
		}
		known = Head{}
	}
	k.memory, k.ctx = m, context.WithoutCancel(ctx)
	k.remembers.Store(true)
	return cut, k.keepHead(ctx, log, known)
}

// keepHead keeps the head once it is durable, unless the known one, which another process may have kept, is newer. The
// caller holds saving.
func (k *keeper) keepHead(ctx context.Context, log rememberedLog, known Head) error {
	head, err := log.durableHead()
	if err != nil || head.Sequence <= known.Sequence {
		return err
	}
	return k.memory.Keep(ctx, head)
}

// keepNewHead keeps the head of a log that has a memory. A head that is not kept is older than the log, which is no
// mistake. The caller holds saving.
func (k *keeper) keepNewHead(log rememberedLog) {
	if k.memory == nil {
		return
	}
	if known, err := k.memory.Head(k.ctx); err == nil {
		_ = k.keepHead(k.ctx, log, known)
	}
}

// schedule has the head kept soon.
func (k *keeper) schedule(log rememberedLog) {
	if !k.remembers.Load() || !k.keepPending.CompareAndSwap(false, true) {
		return
	}
	time.AfterFunc(memoryDelay, func() {
		k.keepPending.Store(false)
		k.saving.Lock()
		defer k.saving.Unlock()
		k.keepNewHead(log)
	})
}

// closeMemory keeps the last head. The memory is not used afterwards.
func (k *keeper) closeMemory(log rememberedLog) {
	k.saving.Lock()
	defer k.saving.Unlock()
	k.keepNewHead(log)
	k.memory = nil
	k.remembers.Store(false)
}

// Remember has m keep the head of the log. It reports whether records are missing at the end that m knows, which is
// then recorded. Only the first Remember of a log does anything.
func (l *Log) Remember(ctx context.Context, m Memory) (cut bool, err error) {
	return l.remember(ctx, m, l)
}

func (l *Log) durableHead() (Head, error) {
	l.writing.Lock()
	head := l.head
	l.writing.Unlock()
	return head.export(), l.sync(head.sequence)
}

func (h chainHead) export() Head { return Head{h.sequence, string(h.hash[:])} }

func (l *Log) lacks(_ context.Context, known Head) (bool, error) {
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
			return head.export() != known, nil
		}
	}
	return false, nil
}

// anySequence makes lastRecord find the last record.
const anySequence = math.MaxInt64

// Remember is [Log.Remember] for a table, which any number of processes may remember in one place.
func (t *Table) Remember(ctx context.Context, m Memory) (cut bool, err error) {
	return t.remember(ctx, m, t)
}

func (t *Table) durableHead() (Head, error) {
	t.writing.Lock()
	defer t.writing.Unlock()
	return t.last.export(), nil
}

func (t *Table) lacks(ctx context.Context, known Head) (bool, error) {
	if err := t.LastError(); err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	const query = "SELECT seq, hash FROM hatchel_audit WHERE seq <= $1 ORDER BY seq DESC LIMIT 1"
	var last Head
	err := t.pool.QueryRow(ctx, query, known.Sequence).Scan(&last.Sequence, &last.Hash)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return last != known, postgres.DescribeError(t.ctx, err)
}
