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

// Limits are the size at which a file is rotated and the number of rotated files to keep.
type Limits struct {
	MaxFileSize int64 // bytes of a full file; 0 for no rotation
	MaxFiles    int   // number of full files that are kept; 0 for all
}

// Log is a log in files, or on a stream. Its methods may be called concurrently.
//
// Concurrent records are written together, and concurrent durable records share one sync of the
// file.
type Log struct {
	path   string // empty for a stream
	lock   io.Closer
	stream *stream // nil for files

	group
	limits Limits // guarded by mu

	// The fields of this block are guarded by writing.
	head         chainHead
	size         int64        // of the file
	tail         *partialTail // the end of the file that is not a record; nil when there is none
	unterminated bool         // the last line of the file lacks its line break
	ownRecord    *Record      // to be written before all others; nil when there is none
	out          []byte       // reused, as is ends
	ends         []lineEnd

	// file is nil for a stream, and after Close. It is changed under both writing and syncing, so
	// that either of them guards a read.
	file disk

	syncing sync.Mutex
	synced  int64 // sequence of the last record on the disk; guarded by syncing
	broken  error // why nothing can be made durable any more; guarded by syncing

	written     atomic.Int64 // sequence of the last record in the file
	syncFailed  atomic.Bool
	syncPending atomic.Bool // a background sync is scheduled

	keeper
}

// syncDelay is how long a record that is not durable may wait for a sync.
const syncDelay = 200 * time.Millisecond

var (
	errClosed = errors.New("the audit log is closed")
	errMoved  = errors.New("the file is no longer at its path: put it back, or restart the server")
)

// changedError returns the error for a file that another process has changed. No record is appended
// to it, because the chain would be broken.
func changedError(size, written int64) error {
	return fmt.Errorf("the file was changed by another program: it has %d bytes instead of %d. "+
		"Find the cause, then restart the server to continue with the existing records", size, written)
}

// disk is the file of a log.
type disk interface {
	io.WriteCloser
	Stat() (os.FileInfo, error)
	Sync() error
}

// Append adds a record. It ignores Sequence, Prev and Hash of r, which the log sets. After an error
// the record is not in the log; or, if it had to be durable, it may be lost with the machine.
func (l *Log) Append(r *Record, durable bool) error {
	sequence, err := l.add(r, l.put)
	if err == nil {
		err = l.makeDurable(sequence, durable)
		l.schedule(l)
	}
	l.setLastError(err)
	return err
}

// put writes a batch. The caller holds writing.
func (l *Log) put(b *batch) {
	l.mu.Lock()
	limits := l.limits
	l.mu.Unlock()
	if b.err = l.checkUnchanged(); b.err != nil {
		return
	}
	if b.err = l.rotate(limits, int64(len(b.members))); b.err == nil {
		l.write(b)
	}
}

// checkUnchanged returns an error when the file is not as this process has left it. The caller
// holds writing.
func (l *Log) checkUnchanged() error {
	if l.stream != nil {
		return nil
	}
	if l.file == nil {
		return errClosed
	}
	if !isAt(l.path, l.file) {
		return errMoved
	}
	switch info, err := l.file.Stat(); {
	case err != nil:
		return err
	case info.Size() != l.size:
		return changedError(info.Size(), l.size)
	}
	return nil
}

// makeDurable waits until a durable record is on the disk. For any other it schedules a sync.
func (l *Log) makeDurable(sequence int64, durable bool) error {
	switch {
	case l.stream != nil:
		return nil
	case durable || l.syncFailed.Load():
		return l.sync(sequence)
	case l.syncPending.CompareAndSwap(false, true):
		time.AfterFunc(syncDelay, func() {
			l.syncPending.Store(false)
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
	if !isAt(l.path, l.file) {
		l.syncFailed.Store(true)
		return errMoved
	}
	if err := l.file.Sync(); err != nil {
		l.markBroken(err)
		return err
	}
	l.syncFailed.Store(false)
	l.synced = upTo
	return nil
}

// markBroken stores that a sync has failed. No other is tried: after a failure the kernel may take
// pages for written that are not. The caller holds syncing.
func (l *Log) markBroken(err error) {
	l.broken = err
	l.syncFailed.Store(true)
}

// SetLimits sets the limits from now on.
func (l *Log) SetLimits(limits Limits) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limits = limits
}

// Check returns why records cannot be written. If the last one could not, it first tries to write
// another. Writing a file takes no longer than its disk does, so ctx is ignored.
func (l *Log) Check(context.Context) error {
	err := l.LastError()
	if err == nil {
		l.writing.Lock()
		err := l.checkUnchanged()
		l.writing.Unlock()
		if err != nil || !l.syncFailed.Load() {
			return err
		}
		return l.sync(l.written.Load())
	}
	return l.Append(recoveredRecord(err), true)
}

// Close records that this process writes no more, and closes the file. An error is about what could
// not be written.
func (l *Log) Close() error {
	err := l.Append(NewRecord(EventClosed, Common{}), true)
	l.closeMemory(l)
	if !l.stop() {
		return nil
	}
	l.writing.Lock() // accepted records are written
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
