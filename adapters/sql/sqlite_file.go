//go:build cgo

package sql

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mattn/go-sqlite3"

	"hatchel/adapters"
	"hatchel/internal/sqlitefile"
)

// fileShare is what the databases of this process have in common that use the same path. SQLite shares the index of a
// WAL among all connections of a process, so they can only be closed together.
type fileShare struct {
	path       string
	current    atomic.Pointer[sqlitefile.File] // nil before the first connection
	refreshing chan struct{}                   // full while a call opens the file
	checkpoint *time.Timer

	members []*sqliteDatabase // guarded by fileShares.mu
	hadLog  bool              // the WAL was there before the file was opened; used while refreshing is full
}

// fileShares are those of the process by their path, as SQLite itself keeps them.
var fileShares struct {
	mu     sync.Mutex
	byPath map[string]*fileShare // guarded by mu
}

// joinFile adds a database to those of its path.
func joinFile(s *sqliteDatabase) *fileShare {
	fileShares.mu.Lock()
	defer fileShares.mu.Unlock()
	share := fileShares.byPath[s.file]
	if share == nil {
		share = &fileShare{path: s.file, refreshing: make(chan struct{}, 1)}
		share.checkpoint = time.AfterFunc(time.Hour, func() {
			if f := share.current.Load(); f != nil {
				f.EmptyLog(share.checkpoint)
			}
		})
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
	if f := h.current.Load(); f != nil {
		if !h.hadLog {
			f.RemoveLog()
		}
		f.Close()
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

// explainDirectory adds to an error of SQLite what SQLite needs of the directory of the file, if it cannot be written.
func (s *sqliteDatabase) explainDirectory(err error) error {
	var refused sqlite3.Error
	if !errors.As(err, &refused) || refused.Code != sqlite3.ErrReadonly && refused.Code != sqlite3.ErrCantOpen {
		return err
	}
	dir := filepath.Dir(s.file)
	if adapters.MayWrite(dir) {
		return err
	}
	const access = "give the user of the server write access to the directory"
	switch journal, statErr := os.Stat(s.file + "-journal"); {
	case !s.config.readOnly():
		return fmt.Errorf(`%w: the connection writes, but the directory %s cannot be written: %s, or write `+
			`mode = "ro"`, err, dir, access)
	case statErr == nil && journal.Size() > 0:
		return fmt.Errorf("%w: a write to the file was interrupted, and undoing it needs to write in the directory "+
			"%s: %s, or open the file once where it can be written", err, dir, access)
	}
	return fmt.Errorf("%w: the file has a WAL as its journal, whose index SQLite keeps in the directory %s also to "+
		"read, and this cannot be written: %s, or run PRAGMA journal_mode = DELETE on the file where it is made",
		err, dir, access)
}

// drain waits until no connection is lent, and lends none before the caller calls free.
func (h *fileShare) drain(ctx context.Context) (free func(), err error) {
	var drained []func()
	free = func() {
		for _, f := range drained {
			f()
		}
	}
	for _, p := range h.pools() {
		one, err := p.drain(ctx)
		if err != nil {
			free()
			return nil, err
		}
		drained = append(drained, one)
	}
	return free, nil
}

// closeIdle closes the connections that no call uses.
func (h *fileShare) closeIdle() {
	for _, p := range h.pools() {
		p.discardIdle()
	}
}

const maxOpenAttempts = 10

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
	current, err := f.IsCurrent()
	if current && err == nil {
		return nil
	}
	if err == nil {
		err = f.GiveUp(ctx, s.config.BusyTimeout, sqlitefile.Closer{Drain: h.drain, Idle: h.closeIdle})
	}
	if err == nil {
		err = s.openFile(false)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("it was removed while it was in use")
	}
	if err != nil {
		return &unreachableError{cause: fmt.Errorf("the database file %s cannot be used: %w", s.file, err)}
	}
	return nil
}

// openFile opens the file at the path, again if it changes meanwhile. The caller fills refreshing.
func (s *sqliteDatabase) openFile(create bool) (err error) {
	for range maxOpenAttempts {
		if err = s.openOnce(create); !errors.Is(err, sqlitefile.ErrReplaced) {
			return err
		}
	}
	return err
}

// openOnce opens the file at the path. Its error is ErrReplaced if the file has changed meanwhile.
func (s *sqliteDatabase) openOnce(create bool) (err error) {
	if create {
		_, err := os.Stat(s.file + "-wal")
		s.share.hadLog = err == nil
	}
	var writer *sqliteConn
	isNew, before := sqlitefile.IsNew(s.file), sqlitefile.Identify(s.file)
	if s.config.readOnly() {
		err = s.checkFile()
	} else {
		writer, err = s.openWriterOf(nil, create)
	}
	var f *sqlitefile.File
	if err == nil {
		f, err = sqlitefile.Open(s.file, s.config.readOnly())
	}
	if err == nil && !isNew && !f.Is(before) { // the writer may have opened another one
		f.Close()
		err = sqlitefile.ErrReplaced
	}
	if err != nil {
		if writer != nil {
			err = errors.Join(err, writer.close())
		}
		return s.explainDirectory(err)
	}
	s.share.current.Store(f)
	if writer != nil {
		writer.file = f
		s.writer.offer(writer)
	}
	return nil
}
