//go:build cgo

package sqlitefile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mattn/go-sqlite3"

	"hatchel/internal/ctxtime"
)

// File is the file of a database as it was opened. It is used while the file at the path is this one, and was changed
// by SQLite alone. Its methods may be called concurrently, GiveUp by one goroutine at a time.
//
// SQLite must not copy the WAL by itself: the connections that write set wal_autocheckpoint = 0, and EmptyLog is
// called. So the main file changes only within Change, Commit and EmptyLog, or by another process.
type File struct {
	HasWAL bool // its journal is a WAL

	path  string
	paths paths // without symbolic links

	known    atomic.Pointer[files] // after the last change that SQLite made
	lookedAt atomic.Int64          // when a reader last looked at the WAL, in nanoseconds since 1970
	changing atomic.Bool           // this process changes the main file now
	closed   atomic.Bool
	draining atomic.Bool // GiveUp waits until its connections are returned

	abandoned string // where its WAL is; empty if the file was not abandoned

	mu     sync.Mutex // held while this process changes the main file
	log    walState   // when known was recorded; guarded by mu
	anchor *anchor    // guarded by mu
}

// walState is how much of a WAL is in the main file.
type walState struct {
	logHeader
	frames, copied int // of the WAL; those that are in the main file
}

var (
	// ErrReplaced is returned when the file at the path is not the open one. Nothing was changed.
	ErrReplaced = errors.New("the database file was replaced by another program; nothing was changed, try again")

	// ErrReplacedInCommit is returned when the file was replaced during a commit.
	ErrReplacedInCommit = errors.New("the database file was replaced by another program during the commit, so the " +
		"change may be lost; check before trying again")

	errAbandoned = errors.New("it was overwritten by another program while changes to the old content were pending")
)

const (
	// CheckpointDelay is how long nothing is written before EmptyLog is called. An empty WAL has nothing that
	// could be mixed with another main file.
	CheckpointDelay = 10 * time.Millisecond

	maxLogSize    = 4 << 20               // bytes of a WAL from which it is copied at once
	logInterval   = 10 * time.Millisecond // of looks at the WAL by readers
	maxCheckpoint = time.Second           // how long a checkpoint of another process may take
	settlePoll    = 20 * time.Millisecond
)

// Open remembers the file at a path, which exists. It returns ErrReplaced if the file changes meanwhile.
func Open(path string, readOnly bool) (*File, error) {
	resolved, err := Resolve(path)
	if err != nil {
		return nil, err
	}
	f := &File{path: path, paths: pathsOf(resolved)}
	if f.anchor, err = openAnchor(resolved, readOnly); err != nil {
		return nil, err
	}
	f.HasWAL = f.anchor.wal
	f.mu.Lock()
	defer f.mu.Unlock()
	err = f.record()
	if main, statErr := statMain(path); err == nil && (statErr != nil || !f.known.Load().sameContent(main)) {
		err = ErrReplaced
	}
	if err != nil {
		f.anchor.close()
		return nil, err
	}
	return f, nil
}

// Close closes the connection of f, after those of its user. If it may write and is the last one, SQLite copies
// the WAL to the main file and removes it. It does nothing for a file that was abandoned.
func (f *File) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed.Swap(true) && f.abandoned == "" {
		f.closeAnchor()
	}
}

// closeAnchor closes the last connection. If another file is at the path, the WAL and the index there are left to it.
// The caller holds mu.
func (f *File) closeAnchor() {
	now, err := f.paths.stat()
	if known := f.known.Load(); f.HasWAL && (err != nil || !known.sameMain(now) || !known.sameLog(now)) {
		f.anchor.keepLog()
	}
	f.anchor.close()
}

// RemoveLog removes the empty WAL that readers leave behind, unless others use the file. SQLite does so when the last
// connection may write.
func (f *File) RemoveLog() {
	if current, err := f.IsCurrent(); err != nil || !current || !f.HasWAL {
		return
	}
	if last, err := openAnchor(f.paths.main, false); err == nil {
		f.Close()
		last.close()
	}
}

// MayWrite makes sure that f may copy the WAL, also if it was opened only to read.
func (f *File) MayWrite() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.anchor.readOnly {
		return nil
	}
	a, err := openAnchor(f.paths.main, false)
	if err != nil {
		return err
	}
	f.anchor.close()
	f.anchor = a
	return nil
}

// Is reports whether f is a file that was identified before it was opened.
func (f *File) Is(main Identity) bool { return f.known.Load().main == main.file }

// IsClosed reports whether the file was closed or given up.
func (f *File) IsClosed() bool { return f.closed.Load() }

// IsDraining reports whether the connections of f have to be returned, so that another file can be opened. What they
// still read or write is not used.
func (f *File) IsDraining() bool { return f.draining.Load() }

// IsCurrent reports whether the open file is the one at the path, and was changed by SQLite alone as far as is known.
// An error says why there is no file.
func (f *File) IsCurrent() (bool, error) {
	current, err := f.compare()
	if current || err != nil {
		return current, err
	}
	f.mu.Lock() // a change that this process makes may have been seen before it was recorded
	defer f.mu.Unlock()
	return f.compare()
}

// IsCurrentForRead is IsCurrent after something was read, perhaps a mixture. It looks at the main file, and at the
// others from time to time only.
func (f *File) IsCurrentForRead() bool {
	if now, err := statMain(f.path); err == nil && f.known.Load().sameContent(now) && !f.closed.Load() {
		if !f.HasWAL {
			return true
		}
		clock := time.Now().UnixNano()
		if clock-f.lookedAt.Load() < int64(logInterval) {
			return true
		}
		f.lookedAt.Store(clock)
	}
	current, err := f.IsCurrent()
	return err == nil && current
}

// compare compares the files with those that are known.
func (f *File) compare() (same bool, err error) {
	now, err := statMain(f.path)
	if err != nil {
		return false, err
	}
	known := f.known.Load()
	if f.closed.Load() || !known.sameMain(now) || !known.sameContent(now) && !f.changing.Load() {
		return false, nil
	}
	if !f.HasWAL {
		return true, nil
	}
	err = f.paths.statLog(&now)
	return err == nil && known.sameLog(now), err
}

// record remembers the files after a change by SQLite, unless they are others than before. The caller holds mu.
func (f *File) record() error {
	now, err := f.paths.stat()
	if err != nil {
		return err
	}
	if known := f.known.Load(); known != nil && (!known.sameMain(now) || !known.sameLog(now)) {
		return ErrReplaced
	}
	f.known.Store(&now)
	if f.HasWAL {
		f.log, err = f.walState()
	}
	return err
}

// walState returns the state of the WAL. The caller holds mu.
func (f *File) walState() (w walState, err error) {
	if w.logHeader, err = f.paths.readLog(); err != nil {
		return w, err
	}
	row, err := f.anchor.row("PRAGMA wal_checkpoint(NOOP)")
	var refused sqlite3.Error
	if f.anchor.readOnly && errors.As(err, &refused) && refused.Code == sqlite3.ErrReadonly {
		return w, nil // the index of the WAL cannot be written, so that it has no locks and no state
	}
	if err == nil && len(row) == 3 {
		w.frames, w.copied = max(0, intOf(row[1])), max(0, intOf(row[2]))
	}
	return w, err
}

// Change calls do, which may change the main file. It returns ErrReplaced, and does nothing, if the file is not
// current.
func (f *File) Change(do func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if same, err := f.compare(); err != nil || !same {
		return ErrReplaced
	}
	f.changing.Store(true)
	defer f.changing.Store(false)
	if err := do(); err != nil {
		return err
	}
	return f.record()
}

// Commit calls commit, which commits a transaction, provided that the file is the one at the path before and
// after it. Otherwise it returns ErrReplaced without having called it, or ErrReplacedInCommit.
func (f *File) Commit(commit func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if same, err := f.compare(); err != nil || !same {
		return ErrReplaced
	}
	f.changing.Store(!f.HasWAL)
	defer f.changing.Store(false)
	if err := commit(); err != nil {
		return err
	}
	known := f.known.Load()
	now, err := statMain(f.path)
	switch {
	case err != nil || !known.sameMain(now):
		return ErrReplacedInCommit
	case !f.HasWAL:
		f.known.Store(&now)
		return nil
	}
	log, err := f.paths.readLog()
	if statErr := f.paths.statLog(&now); err != nil || statErr != nil || !known.sameLog(now) {
		return ErrReplacedInCommit
	}
	if log.salt != f.log.salt { // it began again
		f.log.copied = 0
	}
	f.log.logHeader = log
	// Another process may have copied what was just written, and emptied the WAL.
	if known.sameContent(now) || log.size == 0 && f.record() == nil || f.awaitCheckpoint() {
		return nil
	}
	return ErrReplacedInCommit
}

// awaitCheckpoint reports whether another process has copied a part of the WAL to the main file, which explains
// that it has changed; if it is doing so now, awaitCheckpoint waits for it. The caller holds mu.
func (f *File) awaitCheckpoint() bool {
	for deadline := time.Now().Add(maxCheckpoint); time.Now().Before(deadline); time.Sleep(settlePoll) {
		w, err := f.walState()
		if err != nil {
			return false
		}
		if w.copied > f.log.copied || w.salt != f.log.salt {
			return f.record() == nil
		}
	}
	return false
}

// EmptyLogSoon has a timer that calls EmptyLog fire when nothing is written for a moment, or calls it now if the
// WAL is large. It is called after each commit.
func (f *File) EmptyLogSoon(timer *time.Timer) {
	if !f.HasWAL {
		return
	}
	f.mu.Lock()
	large := f.log.size > maxLogSize
	f.mu.Unlock()
	if large {
		f.EmptyLog(timer)
		return
	}
	timer.Reset(CheckpointDelay)
}

// EmptyLog copies the WAL to the main file and empties it, as far as no reader needs it; if one does, the timer fires
// again. A failure is made up for by the next call.
func (f *File) EmptyLog(timer *time.Timer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if same, err := f.compare(); err != nil || !same || f.anchor.readOnly {
		return
	}
	f.changing.Store(true)
	defer f.changing.Store(false)
	_, _ = f.anchor.row("PRAGMA wal_checkpoint(TRUNCATE)")
	if f.record() == nil && f.log.frames > f.log.copied {
		timer.Reset(10 * CheckpointDelay)
	}
}

// Closer closes connections of a file.
type Closer struct {
	Drain func(context.Context) (free func(), err error) // waits until no connection is in use, and keeps it so
	Idle  func()                                         // closes the connections that are not in use
}

// GiveUp closes a file that is no longer the one at the path, or has another content, so that the one at the path
// can be opened. It waits for other processes and readers, at most for timeout. An error says why the file at
// the path must not be opened; one that is fs.ErrNotExist says that there is none.
func (f *File) GiveUp(ctx context.Context, timeout time.Duration, connections Closer) error {
	now, err := statMain(f.path)
	if err == nil {
		err = f.paths.statLog(&now)
	}
	switch {
	case err != nil:
		return err
	case now.isEmpty():
		return errors.New("it is empty, as it is while it is copied")
	case f.abandoned != "":
		return f.errAbandoned()
	case f.closed.Load():
		return nil
	case f.HasWAL:
		known := f.known.Load()
		if !known.sameMain(now) || !known.sameLog(now) {
			// SQLite finds the WAL and its index by the path, also when it removes them with the last connection.
			f.draining.Store(true)
			defer f.draining.Store(false)
			free, err := connections.Drain(ctx)
			if err != nil {
				return ErrReplaced
			}
			defer free()
		}
		if known.sameMain(now) {
			err = f.settle(ctx, timeout, now)
		} else {
			err = f.leave(ctx, timeout, now)
		}
	}
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.closed.Store(true)
	f.mu.Unlock()
	connections.Idle()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closeAnchor()
	return nil
}

// leave makes sure that a file which was moved away or removed has what is in its WAL, and that the WAL does not stay
// behind at the path, where SQLite would take it for that of the new file.
func (f *File) leave(ctx context.Context, timeout time.Duration, now files) error {
	if f.anchor.readOnly {
		if log, err := f.paths.readLog(); err != nil || log.size > 0 && f.known.Load().ownsLog(now) {
			return fmt.Errorf("%s is that of another file than the one now at the path; remove it", f.paths.wal)
		}
		return nil
	}
	for deadline := time.Now().Add(timeout); ; {
		f.mu.Lock()
		_, err := f.anchor.row("PRAGMA wal_checkpoint(PASSIVE)")
		w, stateErr := f.walState()
		f.mu.Unlock()
		if err != nil || stateErr != nil || w.frames <= w.copied || time.Now().After(deadline) {
			break
		}
		if ctxtime.Sleep(ctx, settlePoll) != nil { // a reader ends
			return ErrReplaced
		}
	}
	if !f.known.Load().ownsLog(now) {
		return nil
	}
	_, err := f.setLogAside()
	return err
}

// setLogAside keeps the WAL under another name, which it returns, and removes its index.
func (f *File) setLogAside() (aside string, err error) {
	log, err := f.paths.readLog()
	switch {
	case err != nil:
	case log.size == 0:
		err = os.Remove(f.paths.wal)
	default:
		aside = f.paths.wal + ".replaced-" + time.Now().UTC().Format("20060102T150405.000")
		err = os.Rename(f.paths.wal, aside)
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = os.Remove(f.paths.shm)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return aside, err
}

// settle makes sure that nothing of a WAL can be mixed with a main file that was changed in place. It returns nil
// if the file can be opened again.
func (f *File) settle(ctx context.Context, timeout time.Duration, now files) error {
	known := f.known.Load()
	for deadline := time.Now().Add(timeout); ; {
		f.mu.Lock()
		w, err := f.walState()
		pending := w.frames > w.copied
		// Another process has copied the WAL, or all of it before the WAL began again.
		explained := w.copied > f.log.copied || known.sameLog(now) && w.salt != f.log.salt
		f.mu.Unlock()
		switch {
		case err != nil:
			return err
		case !pending || explained || known.sameContent(now):
			return nil
		case time.Now().After(deadline): // no other process is in the middle of a checkpoint
			return f.abandon(now)
		}
		if ctxtime.Sleep(ctx, settlePoll) != nil {
			return ErrReplaced
		}
	}
}

// abandonedFiles keeps the connections of abandoned files open until the process ends.
var abandonedFiles struct {
	mu  sync.Mutex
	all []*File // guarded by mu
}

// abandon gives up a file that was overwritten while its WAL had changes that are not in it. The anchor stays
// open, because SQLite would copy these changes into the new content when the last connection is closed. The WAL
// is kept under another name, so that nobody else does it.
func (f *File) abandon(now files) (err error) {
	abandonedFiles.mu.Lock()
	abandonedFiles.all = append(abandonedFiles.all, f)
	abandonedFiles.mu.Unlock()
	aside := ""
	if f.known.Load().ownsLog(now) {
		aside, err = f.setLogAside()
	}
	f.mu.Lock()
	f.abandoned = cmp.Or(aside, "the removed WAL")
	f.mu.Unlock()
	return errors.Join(err, f.errAbandoned())
}

func (f *File) errAbandoned() error {
	return fmt.Errorf("%w; they are in %s; restart the server to use the new content", errAbandoned, f.abandoned)
}
