package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Limits say when a file is full.
type Limits struct {
	Rotate int64 // bytes; 0 for never
	Keep   int   // full files that are kept; 0 for all
}

// Log is where records are written: files, or a stream. It is safe for concurrent use.
//
// Records that are added at the same time are written together: who comes first takes those of everybody who comes while the ones before are written. Those that must be durable
// share the wait for the disk in the same way.
type Log struct {
	path   string // empty for a stream
	lock   io.Closer
	stream io.Writer

	group
	limits Limits // guarded by mu

	at      place   // guarded by writing, as are those below
	size    int64   // of the file
	torn    *torn   // what the file ends with and is no record; nil when there is nothing
	unended bool    // the last line of the file lacks its end
	notice  *Record // to be written before all others; nil when there is none
	out     []byte  // reused, as are ends and places
	ends    []int
	places  []place

	file disk // nil for a stream, and when it is closed; changed under writing and syncing, so that either guards it

	syncing sync.Mutex
	synced  int64 // the last record that is on the disk; guarded by syncing
	broken  error // why nothing can be durable any more; guarded by syncing

	written atomic.Int64 // the last record that is in the file
	unsound atomic.Bool  // the file could not be synced
	due     atomic.Bool  // it will be soon
}

// soon is how long a record that need not be durable at once may be so far.
const soon = 200 * time.Millisecond

var (
	errClosed = errors.New("the audit log is closed")
	errMoved  = errors.New("the file is not at its path any more: put it back, or restart the server")
)

// touched is why nothing is written to a file that somebody else has written to, or has taken from: what came behind that would be no chain.
func touched(there, written int64) error {
	return fmt.Errorf("the file was changed while it was written: it has %d bytes, and %d were written. Look at what was done to it, and restart the server to go on from what is there", there, written)
}

// disk is the file that is written to.
type disk interface {
	io.WriteCloser
	Stat() (os.FileInfo, error)
	Sync() error
}

// Append adds a record, of which Sequence, Prev and Hash are given. With an error the record is not in the log, or, when it must be durable, may be lost with the machine.
func (l *Log) Append(r *Record, durable bool) error {
	sequence, err := l.add(r, l.put)
	if err == nil {
		err = l.settle(sequence, durable)
	}
	l.noted(err)
	return err
}

// put writes a batch. The caller holds writing.
func (l *Log) put(b *batch) {
	l.mu.Lock()
	limits := l.limits
	l.mu.Unlock()
	if b.err = l.untouched(); b.err != nil {
		return
	}
	if b.err = l.rotate(limits, int64(len(b.members))); b.err == nil {
		l.write(b)
	}
}

// untouched is why the file is not as this process has left it. The caller holds writing.
func (l *Log) untouched() error {
	if l.stream != nil {
		return nil
	}
	if l.file == nil {
		return errClosed
	}
	if !l.inPlace() {
		return errMoved
	}
	switch info, err := l.file.Stat(); {
	case err != nil:
		return err
	case info.Size() != l.size:
		return touched(info.Size(), l.size)
	}
	return nil
}

// settle waits until a record is as durable as it must be.
func (l *Log) settle(sequence int64, durable bool) error {
	switch {
	case l.stream != nil:
		return nil
	case durable || l.unsound.Load():
		return l.sync(sequence)
	case l.due.CompareAndSwap(false, true):
		time.AfterFunc(soon, func() {
			l.due.Store(false)
			l.sync(l.written.Load())
		})
	}
	return nil
}

// sync waits until the records up to a sequence are on the disk.
func (l *Log) sync(sequence int64) error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	switch {
	case l.broken != nil:
		return l.broken
	case l.synced >= sequence:
		return nil
	case l.file == nil:
		return errClosed
	}
	upTo := l.written.Load()
	if !l.inPlace() {
		l.unsound.Store(true)
		return errMoved
	}
	if err := l.file.Sync(); err != nil {
		l.breaks(err)
		return err
	}
	l.unsound.Store(false)
	l.synced = upTo
	return nil
}

// breaks notes that the disk has failed. What was not written once may be taken for written the next time, so that there is no next time. The caller holds syncing.
func (l *Log) breaks(err error) {
	l.broken = err
	l.unsound.Store(true)
}

// inPlace reports whether the path still leads to the file.
func (l *Log) inPlace() bool {
	there, err := os.Stat(l.path)
	here, mine := l.file.Stat()
	return err == nil && mine == nil && os.SameFile(there, here)
}

// Limit says when a file is full from now on.
func (l *Log) Limit(limits Limits) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limits = limits
}

// Check is Failing, after another try if the last one has failed. What a file takes does not depend on how long anybody waits.
func (l *Log) Check(context.Context) error {
	err := l.Failing()
	if err == nil {
		if err := l.look(); err != nil || !l.unsound.Load() {
			return err
		}
		return l.sync(l.written.Load())
	}
	return l.Append(&Record{Time: time.Now(), Event: EventRecovered, Message: err.Error()}, true)
}

// look is untouched between two records.
func (l *Log) look() error {
	l.writing.Lock()
	defer l.writing.Unlock()
	return l.untouched()
}

// Close writes down that nothing more comes, and closes the file. An error is of what could not be written.
func (l *Log) Close() error {
	err := l.Append(&Record{Time: time.Now(), Event: EventClosed}, true)
	if !l.closes() {
		return nil
	}
	l.writing.Lock() // what was added before is written
	defer l.writing.Unlock()
	l.syncing.Lock()
	defer l.syncing.Unlock()
	if l.file != nil {
		err = errors.Join(err, l.file.Close())
		l.file = nil
	}
	if l.lock != nil {
		err = errors.Join(err, l.lock.Close())
	}
	return err
}
