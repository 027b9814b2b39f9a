package sql

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hatchel/internal/ctxtime"
	"hatchel/internal/sqlitefile"
)

// fileShare is what the databases of this process have in common that use the same path. SQLite shares the index of a
// WAL among all connections of a process, so they can only be closed together.
type fileShare struct {
	path       string
	current    atomic.Pointer[openFile] // nil before the first connection
	refreshing chan struct{}            // full while a call opens the file
	checkpoint *time.Timer

	members     []*sqliteDatabase // guarded by fileShares.mu
	abandonedAs string            // where the WAL of the abandoned file is; used while refreshing is full
	isAbandoned bool              // used while refreshing is full
	hadLog      bool              // the WAL was there before the file was opened; used while refreshing is full
}

// fileShares are those of the process by their path, as SQLite itself keeps them.
var fileShares struct {
	mu        sync.Mutex
	byPath    map[string]*fileShare // guarded by mu
	abandoned []*fileShare          // their connections stay open; guarded by mu
}

// joinFile adds a database to those of its path.
func joinFile(s *sqliteDatabase) *fileShare {
	fileShares.mu.Lock()
	defer fileShares.mu.Unlock()
	share := fileShares.byPath[s.file]
	if share == nil {
		share = &fileShare{path: s.file, refreshing: make(chan struct{}, 1)}
		share.checkpoint = time.AfterFunc(time.Hour, share.emptyLog)
		share.checkpoint.Stop()
		if fileShares.byPath == nil {
			fileShares.byPath = map[string]*fileShare{}
		}
		fileShares.byPath[s.file] = share
	}
	share.members = append(share.members, s)
	return share
}

// leaveFile removes a database, whose pools are closed. The last one closes the file.
func (h *fileShare) leaveFile(s *sqliteDatabase) {
	fileShares.mu.Lock()
	h.members = slices.DeleteFunc(h.members, func(m *sqliteDatabase) bool { return m == s })
	last := len(h.members) == 0
	if last {
		delete(fileShares.byPath, h.path)
	}
	fileShares.mu.Unlock()
	if !last {
		return
	}
	h.checkpoint.Stop()
	if f := h.current.Load(); f != nil && !h.isAbandoned {
		if current, err := h.isCurrent(f); err == nil && current && f.wal && f.anchor.readOnly && !h.hadLog {
			// SQLite removes the empty WAL that readers leave behind when a connection that may write is the last one.
			if last, err := openAnchor(f.paths.Main, false); err == nil {
				defer last.close()
			}
		}
		f.close()
	}
}

// pools returns those of all members, the readers first.
func (h *fileShare) pools() (all []*pool[*sqliteConn]) {
	fileShares.mu.Lock()
	defer fileShares.mu.Unlock()
	for _, m := range h.members {
		all = append(all, m.readers)
	}
	for _, m := range h.members {
		all = append(all, m.writer)
	}
	return all
}

// openFile is a file as it was opened. Its connections are used while the file at the path is this one, and was
// changed by SQLite alone.
type openFile struct {
	paths sqlitefile.Paths // without symbolic links
	wal   bool             // its journal is a WAL

	known    atomic.Pointer[sqlitefile.Files] // after the last change that SQLite made
	lookedAt atomic.Int64                     // when a reader last looked at the WAL, in nanoseconds since 1970
	changing atomic.Bool                      // this process changes the main file now
	closed   atomic.Bool

	mu     sync.Mutex // held while this process changes the main file
	log    walState   // when known was recorded; guarded by mu
	anchor *anchor    // guarded by mu
}

// walState is how much of a WAL is in the main file.
type walState struct {
	sqlitefile.Log
	frames, copied int // of the WAL; those that are in the main file
}

var (
	// errFileReplaced is the error of a use during which the file was replaced. Nothing was changed.
	errFileReplaced = errors.New(
		"the database file is being replaced by another program; nothing was changed, try again")

	errReplacedInCommit = modelError{errors.New("the database file was replaced by another program during the commit, " +
		"so the change may be lost; check before trying again")}
)

const (
	// checkpointDelay is how long nothing is written before a WAL is copied to the main file. An empty WAL has nothing
	// that could be mixed with another main file.
	checkpointDelay = 10 * time.Millisecond
	maxLogSize      = 4 << 20               // bytes of a WAL from which it is copied at once
	logInterval     = 10 * time.Millisecond // of looks at the WAL by readers
	refreshPoll     = 20 * time.Millisecond
	maxOpenAttempts = 10
)

// isCurrent reports whether the open file is the one at the path, and was changed by SQLite alone as far as is known.
// An error says why there is no file.
func (h *fileShare) isCurrent(f *openFile) (bool, error) {
	current, err := h.compare(f)
	if current || err != nil {
		return current, err
	}
	f.mu.Lock() // a change that this process makes may have been seen before it was recorded
	defer f.mu.Unlock()
	return h.compare(f)
}

// isCurrentForRead is isCurrent of a connection that has read from the file, perhaps a mixture. It looks at the main
// file, and at the others from time to time only.
func (h *fileShare) isCurrentForRead(f *openFile) bool {
	if now, err := sqlitefile.StatMain(h.path); err == nil && f.known.Load().SameContent(now) && !f.closed.Load() {
		if !f.wal {
			return true
		}
		clock := time.Now().UnixNano()
		if clock-f.lookedAt.Load() < int64(logInterval) {
			return true
		}
		f.lookedAt.Store(clock)
	}
	current, err := h.isCurrent(f)
	return err == nil && current
}

// compare compares the files with those that are known.
func (h *fileShare) compare(f *openFile) (same bool, err error) {
	now, err := sqlitefile.StatMain(h.path)
	if err != nil {
		return false, err
	}
	known := f.known.Load()
	if f.closed.Load() || !known.SameMain(now) || !known.SameContent(now) && !f.changing.Load() {
		return false, nil
	}
	if !f.wal {
		return true, nil
	}
	err = f.paths.StatLog(&now)
	return err == nil && known.SameLog(now), err
}

// record remembers the files after a change by SQLite. The caller holds mu.
func (f *openFile) record() error {
	now, err := f.paths.Stat()
	if err != nil {
		return err
	}
	f.known.Store(&now)
	if f.wal {
		f.log, err = f.walState()
	}
	return err
}

// walState returns the state of the WAL. The caller holds mu.
func (f *openFile) walState() (w walState, err error) {
	if w.Log, err = f.paths.ReadLog(); err != nil {
		return w, err
	}
	row, err := f.anchor.row("PRAGMA wal_checkpoint(NOOP)")
	if err == nil && len(row) == 3 {
		w.frames, w.copied = max(0, intOf(row[1])), max(0, intOf(row[2]))
	}
	return w, err
}

// change calls do, which changes the file in this process, and records the files after it.
func (h *fileShare) change(f *openFile, do func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if same, err := h.compare(f); err != nil || !same {
		return errFileReplaced
	}
	f.changing.Store(true)
	defer f.changing.Store(false)
	if err := do(); err != nil {
		return err
	}
	return f.record()
}

// commit commits the transaction of the writer, provided that the file is the one at the path before and after it.
func (s *sqliteDatabase) commit(ctx context.Context, c *sqliteConn) error {
	f := c.file
	if f == nil {
		return c.control(commit)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if same, err := s.share.compare(f); err != nil || !same {
		return errFileReplaced
	}
	f.changing.Store(!f.wal)
	defer f.changing.Store(false)
	if err := s.whileBusy(ctx, func() error { return c.control(commit) }); err != nil {
		return err
	}
	known := f.known.Load()
	now, err := sqlitefile.StatMain(s.file)
	switch {
	case err != nil || !known.SameMain(now):
		return errReplacedInCommit
	case !f.wal:
		f.known.Store(&now)
		return nil
	}
	log, err := f.paths.ReadLog()
	if same, statErr := s.share.compare(f); err != nil || statErr != nil || !same {
		return errReplacedInCommit
	}
	if log.Salt != f.log.Salt { // it began again, so this is not what explains a change of the main file
		f.log.copied = 0
	}
	f.log.Log = log
	return nil
}

// emptyLogSoon has the WAL copied to the main file when nothing is written for a moment, or now if it is large.
func (h *fileShare) emptyLogSoon(f *openFile) {
	if f == nil || !f.wal {
		return
	}
	f.mu.Lock()
	large := f.log.Size > maxLogSize
	f.mu.Unlock()
	if large {
		h.emptyLog()
		return
	}
	h.checkpoint.Reset(checkpointDelay)
}

// emptyLog copies the WAL to the main file and empties it, as far as no reader needs it. A failure is made up for later.
func (h *fileShare) emptyLog() {
	f := h.current.Load()
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if same, err := h.compare(f); err != nil || !same || f.anchor.readOnly {
		return
	}
	f.changing.Store(true)
	defer f.changing.Store(false)
	_, _ = f.anchor.row("PRAGMA wal_checkpoint(TRUNCATE)")
	if f.record() == nil && f.log.frames > f.log.copied { // readers need them
		h.checkpoint.Reset(10 * checkpointDelay)
	}
}

// refresh opens the file at the path if it is no longer the open one.
func (s *sqliteDatabase) refresh(ctx context.Context) error {
	h := s.share
	select {
	case h.refreshing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-h.refreshing }()
	f := h.current.Load()
	current, err := h.isCurrent(f)
	if current && err == nil {
		return nil
	}
	if err == nil {
		err = s.giveUp(ctx, f)
	}
	if err == nil {
		err = s.openFile(false)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("the database file %s was removed while it was in use", s.file)
	}
	if err != nil {
		return &unreachableError{cause: err}
	}
	return nil
}

// giveUp closes a file that is no longer the one at the path, or has another content.
func (s *sqliteDatabase) giveUp(ctx context.Context, f *openFile) error {
	h := s.share
	now, err := sqlitefile.StatMain(s.file)
	if err == nil {
		err = f.paths.StatLog(&now)
	}
	switch {
	case err != nil:
		return err
	case now.IsEmpty():
		return fmt.Errorf("the database file %s is empty, as it is while it is copied", s.file)
	case h.isAbandoned:
		return h.errAbandoned()
	case f.closed.Load():
		return nil
	case f.wal && !f.known.Load().SameMain(now):
		err = s.leave(ctx, f, now)
	case f.wal:
		err = s.settle(ctx, f, now)
	}
	if err == nil {
		h.closeIdle(f)
	}
	return err
}

// closeIdle closes the connections of a file that no call uses.
func (h *fileShare) closeIdle(f *openFile) {
	f.closed.Store(true)
	for _, p := range h.pools() {
		p.discardIdle()
	}
	f.close()
}

// close closes the anchor. If it may write, and is the last connection, SQLite copies the WAL to the main file.
func (f *openFile) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed.Store(true)
	f.anchor.close()
}

// leave makes sure that a file which was moved away or removed has what is in its WAL, and that the WAL does not stay
// behind at the path, where SQLite would take it for that of the new file.
func (s *sqliteDatabase) leave(ctx context.Context, f *openFile, now sqlitefile.Files) error {
	if f.anchor.readOnly {
		if log, err := f.paths.ReadLog(); err != nil || log.Size > 0 && f.known.Load().OwnsLog(now) {
			return fmt.Errorf("%s is that of another file than %s now is; remove it", f.paths.WAL, s.file)
		}
		return nil
	}
	for deadline := time.Now().Add(s.config.BusyTimeout); ; {
		f.mu.Lock()
		_, err := f.anchor.row("PRAGMA wal_checkpoint(PASSIVE)")
		w, stateErr := f.walState()
		f.mu.Unlock()
		if err != nil || stateErr != nil || w.frames <= w.copied || time.Now().After(deadline) {
			break
		}
		if err := ctxtime.Sleep(ctx, refreshPoll); err != nil { // a reader ends
			return errFileReplaced
		}
	}
	if !f.known.Load().OwnsLog(now) {
		return nil
	}
	_, err := f.setLogAside()
	return err
}

// setLogAside keeps the WAL under another name, which it returns, and removes its index.
func (f *openFile) setLogAside() (aside string, err error) {
	log, err := f.paths.ReadLog()
	switch {
	case err != nil:
	case log.Size == 0:
		err = os.Remove(f.paths.WAL)
	default:
		aside = f.paths.WAL + ".replaced-" + time.Now().UTC().Format("20060102T150405.000")
		err = os.Rename(f.paths.WAL, aside)
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = os.Remove(f.paths.SHM)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return aside, err
}

// settle makes sure that nothing of a WAL can be mixed with a main file that was changed in place. It returns nil if the
// file can be opened again.
func (s *sqliteDatabase) settle(ctx context.Context, f *openFile, now sqlitefile.Files) error {
	known := f.known.Load()
	if !known.SameLog(now) { // the connections that have the former WAL must all be closed
		for _, p := range s.share.pools() {
			free, err := p.drain(ctx)
			if err != nil {
				return errFileReplaced
			}
			defer free()
		}
	}
	for deadline := time.Now().Add(s.config.BusyTimeout); ; {
		f.mu.Lock()
		w, err := f.walState()
		pending := w.frames > w.copied
		// Another process has copied the WAL, or all of it before the WAL began again.
		explained := w.copied > f.log.copied || known.SameLog(now) && w.Salt != f.log.Salt
		f.mu.Unlock()
		switch {
		case err != nil:
			return err
		case !pending || explained || known.SameContent(now):
			return nil
		case time.Now().After(deadline): // no other process is in the middle of a checkpoint
			return s.share.abandon(f, now)
		}
		if err := ctxtime.Sleep(ctx, refreshPoll); err != nil {
			return errFileReplaced
		}
	}
}

// abandon gives up a file that was overwritten while its WAL had changes that are not in it. The anchor stays open until
// the process ends, because SQLite would copy these changes into the new content when the last connection is closed.
// The WAL is kept under another name, so that nobody else does it.
func (h *fileShare) abandon(f *openFile, now sqlitefile.Files) (err error) {
	h.isAbandoned = true
	fileShares.mu.Lock()
	fileShares.abandoned = append(fileShares.abandoned, h)
	fileShares.mu.Unlock()
	if f.known.Load().OwnsLog(now) {
		h.abandonedAs, err = f.setLogAside()
	}
	return errors.Join(err, h.errAbandoned())
}

func (h *fileShare) errAbandoned() error {
	const text = "the database file %s was overwritten by another program while changes to the old content were " +
		"pending; they are kept in %s; restart the server to use the new content"
	return fmt.Errorf(text, h.path, h.abandonedAs)
}

// openFile opens the file at the path, again if it changes meanwhile. The caller fills refreshing.
func (s *sqliteDatabase) openFile(create bool) (err error) {
	for range maxOpenAttempts {
		if err = s.openOnce(create); !errors.Is(err, errFileReplaced) {
			return err
		}
	}
	return err
}

// openOnce opens the file at the path. Its error is errFileReplaced if the file has changed meanwhile.
func (s *sqliteDatabase) openOnce(create bool) error {
	path, err := sqlitefile.Resolve(s.file)
	if err != nil {
		return err
	}
	f := &openFile{paths: sqlitefile.PathsOf(path)}
	if create {
		_, err := os.Stat(f.paths.WAL)
		s.share.hadLog = err == nil
	}
	var writer *sqliteConn
	if s.config.readOnly() {
		err = s.checkFile()
	} else {
		writer, err = s.openWriterOf(f, create)
	}
	if err == nil {
		f.anchor, err = openAnchor(path, s.config.readOnly())
	}
	if err == nil {
		f.wal = f.anchor.wal
		f.mu.Lock()
		err = f.record()
		f.mu.Unlock()
	}
	if main, statErr := sqlitefile.StatMain(s.file); err == nil && (statErr != nil || !f.known.Load().SameContent(main)) {
		err = errFileReplaced
	}
	if err != nil {
		if f.anchor != nil {
			f.anchor.close()
		}
		if writer != nil {
			err = errors.Join(err, writer.close())
		}
		return err
	}
	s.share.current.Store(f)
	if writer != nil {
		s.writer.offer(writer)
	}
	return nil
}

// mayWrite makes sure that the anchor may write, which it may not if a database that only reads has opened the file.
func (f *openFile) mayWrite() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.anchor.readOnly {
		return nil
	}
	a, err := openAnchor(f.paths.Main, false)
	if err != nil {
		return err
	}
	f.anchor.close()
	f.anchor = a
	return nil
}

// dsnPath returns a path as SQLite reads it in a URI.
func dsnPath(path string) string {
	return "file:" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()
}
