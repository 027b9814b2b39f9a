package state

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mattn/go-sqlite3"
)

// SQLite is a Store in one file. Everything but paces goes through one connection, one after the other; other processes may have the same file open.
type SQLite struct {
	db     *sql.DB
	hasty  *sql.DB      // the same file; what is written does not wait for the disk: when the machine stops in this moment it may be forgotten, when the process does it is not
	shared bool         // other processes may have it open
	origin string       // this store, among those that note what they change
	bound  atomic.Int64 // bytes, from which on nothing new is taken

	mu    sync.Mutex
	swept time.Time // when what had expired was last removed; zero before there are tables; guarded by mu
}

const (
	busyTimeout = 10 * time.Second // for another process to let go of the file
	busyPause   = 20 * time.Millisecond
	statements  = 32 // that a connection keeps prepared
	sweepEvery  = time.Minute
	sweepAtOnce = 10000   // records
	mostHeld    = 1 << 30 // bytes, unless Bound says otherwise
)

// Open opens the store in a file, which is made when it is missing, as is its folder; nobody but their owner may look into either. With an empty path the
// store is in memory and ends with Close. An error is a sentence for the operator, without the path.
func Open(ctx context.Context, path string) (*SQLite, error) {
	name := "file::memory:?"
	if path != "" {
		if err := secure(path); err != nil {
			return nil, err
		}
		absolute, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		name = "file:" + (&url.URL{Path: filepath.ToSlash(absolute)}).EscapedPath() + "?_journal_mode=WAL&"
	}
	name += "mode=rwc&_txlock=immediate&_stmt_cache_size=" + strconv.Itoa(statements) + "&_busy_timeout=" + strconv.FormatInt(busyTimeout.Milliseconds(), 10)
	db, err := single(name + "&_synchronous=FULL")
	if err != nil {
		return nil, err
	}
	s := &SQLite{db: db, hasty: db, shared: path != "", origin: rand.Text()}
	if s.shared {
		if s.hasty, err = single(name + "&_synchronous=NORMAL"); err != nil {
			return nil, err
		}
	}
	s.Bound(mostHeld)
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(sentence(err), s.Close())
	}
	s.swept = time.Now().Add(-sweepEvery)
	return s, nil
}

// single is one connection, which is made when it is used first.
func single(name string) (*sql.DB, error) {
	db, err := sql.Open("sqlite3", name)
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

// prepare makes the tables, if they are missing. While several processes make a new file at once, SQLite tells some of them that it is busy without waiting.
func (s *SQLite) prepare(ctx context.Context) error {
	for began := time.Now(); ; {
		err := s.transact(ctx, prepare)
		var e sqlite3.Error
		if !errors.As(err, &e) || e.Code != sqlite3.ErrBusy || time.Since(began) > busyTimeout {
			return err
		}
		pause := time.NewTimer(busyPause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		}
	}
}

// Bound says from how many bytes on nothing new is taken: 1 GiB when nobody says so. As much again is there for what becomes of what was taken.
func (s *SQLite) Bound(bytes int64) { s.bound.Store(bytes) }

// Close implements Store.
func (s *SQLite) Close() error { return errors.Join(s.hasty.Close(), s.db.Close()) }

// transact runs one transaction that may write. It has the file to itself.
func (s *SQLite) transact(ctx context.Context, do func(context.Context, *sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if s.due() {
		err = s.tidy(ctx, tx)
	}
	if err == nil {
		err = do(ctx, tx)
	}
	if err != nil {
		return errors.Join(err, ignoreDone(tx.Rollback()))
	}
	if err = tx.Commit(); errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// due reports whether it is time to sweep, once in a while.
func (s *SQLite) due() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.swept.IsZero() || time.Since(s.swept) < sweepEvery {
		return false
	}
	s.swept = time.Now()
	return true
}

// tidy sweeps, and has the next transaction go on where more is left.
func (s *SQLite) tidy(ctx context.Context, tx *sql.Tx) error {
	more, err := sweep(ctx, tx)
	if more {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.swept = time.Now().Add(-sweepEvery)
	}
	return err
}

// sweep removes what has expired, and reports whether more records have: no more of them than one call can wait for, and keeps, are removed at once.
func sweep(ctx context.Context, tx *sql.Tx) (more bool, err error) {
	swept, err := tx.ExecContext(ctx, "DELETE FROM records WHERE id IN (SELECT id FROM records WHERE expires <= ? LIMIT ?)", now(), sweepAtOnce)
	if err != nil {
		return false, err
	}
	n, err := swept.RowsAffected()
	for statement, until := range map[string]int64{
		"DELETE FROM owners WHERE expires <= ?": now(),
		"DELETE FROM paces WHERE next <= ?":     time.Now().UnixMicro(),
		"DELETE FROM changes WHERE made <= ?":   time.Now().Add(-noted).UnixMilli(),
	} {
		if err == nil {
			_, err = tx.ExecContext(ctx, statement, until)
		}
	}
	return n == sweepAtOnce, err
}

// room is ErrFull when so many bytes are held, even when what has expired is gone.
func (s *SQLite) room(ctx context.Context, tx *sql.Tx, most int64) (err error) {
	for more := true; err == nil; {
		var held int64
		const query = "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
		err = tx.QueryRowContext(ctx, query).Scan(&held)
		switch {
		case err != nil:
		case held < most:
			return nil
		case !more:
			return ErrFull
		default:
			more, err = sweep(ctx, tx)
		}
	}
	return err
}

// grows is ErrFull when a record takes more room than it did before, and there is none.
func (s *SQLite) grows(ctx context.Context, tx *sql.Tx, r *Record) error {
	if len(r.Body) <= small {
		return nil
	}
	full := s.room(ctx, tx, 2*s.bound.Load())
	if !errors.Is(full, ErrFull) {
		return full
	}
	var before int
	err := tx.QueryRowContext(ctx, "SELECT length(body) FROM records WHERE kind = ? AND name = ?", r.Kind, r.Name).Scan(&before)
	if errors.Is(err, sql.ErrNoRows) || err == nil && len(r.Body) <= before {
		return nil
	}
	return errors.Join(err, full)
}

func now() int64 { return time.Now().UnixMilli() }

// changes reports whether a statement has changed a row.
func changes(ctx context.Context, tx *sql.Tx, statement string, arguments ...any) (bool, error) {
	res, err := tx.ExecContext(ctx, statement, arguments...)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return err == nil && n > 0, err
}

// ignoreDone leaves out that a transaction has ended already, as it does with its context.
func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}
