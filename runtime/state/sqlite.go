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

	"hatchel/internal/ctxtime"
)

// SQLite is a Store in one file. All statements but those of [Records.Reserve] share one connection.
// Other processes may have the same file open.
type SQLite struct {
	db        *sql.DB
	relaxedDB *sql.DB      // the same file without a sync per commit: commits survive the process, not the machine
	shared    bool         // other processes may have the file open
	origin    string       // of this store, in the table changes
	quota     atomic.Int64 // bytes

	mu    sync.Mutex
	swept time.Time // when expired rows were last removed; zero before the schema exists; guarded by mu
}

const (
	busyTimeout       = 10 * time.Second // for locks of other processes
	busyRetry         = 20 * time.Millisecond
	maxStatements     = 32 // prepared per connection
	sweepInterval     = time.Minute
	sweepBatch        = 10000   // records
	defaultQuotaBytes = 1 << 30 // bytes
)

// Open opens the store in a file. It creates the file and its directory if they are missing,
// accessible to their owner only. With an empty path the store is in memory and ends with Close. An
// error is a sentence for the operator, without the path.
func Open(ctx context.Context, path string) (*SQLite, error) {
	name := "file::memory:?"
	if path != "" {
		if err := createFile(path); err != nil {
			return nil, err
		}
		absolute, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		name = "file:" + (&url.URL{Path: filepath.ToSlash(absolute)}).EscapedPath() + "?_journal_mode=WAL&"
	}
	name += "mode=rwc&_txlock=immediate&_stmt_cache_size=" + strconv.Itoa(maxStatements) +
		"&_busy_timeout=" + strconv.FormatInt(busyTimeout.Milliseconds(), 10)
	db, err := openConnection(name + "&_synchronous=FULL")
	if err != nil {
		return nil, err
	}
	s := &SQLite{db: db, relaxedDB: db, shared: path != "", origin: rand.Text()}
	if s.shared {
		if s.relaxedDB, err = openConnection(name + "&_synchronous=NORMAL"); err != nil {
			return nil, err
		}
	}
	s.SetQuota(defaultQuotaBytes)
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(sqliteError(err), s.Close())
	}
	s.swept = time.Now().Add(-sweepInterval)
	return s, nil
}

// openConnection returns a pool of one connection, which is opened at its first use.
func openConnection(name string) (*sql.DB, error) {
	db, err := sql.Open("sqlite3", name)
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

// prepare creates the schema if it is missing. It retries, because SQLite reports a busy file at
// once while several processes create it.
func (s *SQLite) prepare(ctx context.Context) error {
	for began := time.Now(); ; {
		err := s.transact(ctx, createSchema)
		var e sqlite3.Error
		if !errors.As(err, &e) || e.Code != sqlite3.ErrBusy || time.Since(began) > busyTimeout {
			return err
		}
		if err := ctxtime.Sleep(ctx, busyRetry); err != nil {
			return err
		}
	}
}

// SetQuota sets the quota in bytes: Add fails when the store is larger. The default is 1 GiB. As much
// again is reserved for changes and follow-up records.
func (s *SQLite) SetQuota(bytes int64) { s.quota.Store(bytes) }

// Close implements Store.
func (s *SQLite) Close() error { return errors.Join(s.relaxedDB.Close(), s.db.Close()) }

// transact runs a transaction that may write. It has the file for itself.
func (s *SQLite) transact(ctx context.Context, do func(context.Context, *sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if s.sweepDue() {
		err = s.sweepSome(ctx, tx)
	}
	if err == nil {
		err = do(ctx, tx)
	}
	if err != nil {
		return errors.Join(err, ignoreTxDone(tx.Rollback()))
	}
	if err = tx.Commit(); errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// sweepDue reports true once per interval.
func (s *SQLite) sweepDue() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.swept.IsZero() || time.Since(s.swept) < sweepInterval {
		return false
	}
	s.swept = time.Now()
	return true
}

// sweepSome removes expired rows. The next transaction continues if there are more.
func (s *SQLite) sweepSome(ctx context.Context, tx *sql.Tx) error {
	more, err := sweepSQLite(ctx, tx)
	if more {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.swept = time.Now().Add(-sweepInterval)
	}
	return err
}

// sweepSQLite removes expired rows, but only one batch of records so that no call waits long. It
// reports whether more records have expired.
func sweepSQLite(ctx context.Context, tx *sql.Tx) (more bool, err error) {
	const expired = "DELETE FROM records WHERE id IN (SELECT id FROM records WHERE expires <= ? LIMIT ?)"
	result, err := tx.ExecContext(ctx, expired, now(), sweepBatch)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	for statement, until := range map[string]int64{
		"DELETE FROM owners WHERE expires <= ?": now(),
		"DELETE FROM rates WHERE next <= ?":     time.Now().UnixMicro(),
		"DELETE FROM changes WHERE made <= ?":   time.Now().Add(-changeRetention).UnixMilli(),
	} {
		if err == nil {
			_, err = tx.ExecContext(ctx, statement, until)
		}
	}
	return n == sweepBatch, err
}

// checkSize returns ErrFull when the file has limit bytes or more, even without expired rows.
func (s *SQLite) checkSize(ctx context.Context, tx *sql.Tx, limit int64) (err error) {
	for more := true; err == nil; {
		var size int64
		const query = "SELECT (page_count - freelist_count) * page_size " +
			"FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
		err = tx.QueryRowContext(ctx, query).Scan(&size)
		switch {
		case err != nil:
		case size < limit:
			return nil
		case !more:
			return ErrFull
		default:
			more, err = sweepSQLite(ctx, tx)
		}
	}
	return err
}

// checkGrowth returns ErrFull when the body of a record grows and the store is full.
func (s *SQLite) checkGrowth(ctx context.Context, tx *sql.Tx, r *Record) error {
	if len(r.Body) <= smallBody {
		return nil
	}
	full := s.checkSize(ctx, tx, 2*s.quota.Load())
	if !errors.Is(full, ErrFull) {
		return full
	}
	var before int
	const query = "SELECT length(body) FROM records WHERE kind = ? AND name = ?"
	err := tx.QueryRowContext(ctx, query, r.Kind, r.Name).Scan(&before)
	if errors.Is(err, sql.ErrNoRows) || err == nil && len(r.Body) <= before {
		return nil
	}
	return errors.Join(err, full)
}

// execute reports whether a statement has changed a row.
func execute(ctx context.Context, tx *sql.Tx, statement string, arguments ...any) (bool, error) {
	result, err := tx.ExecContext(ctx, statement, arguments...)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return err == nil && n > 0, err
}

// ignoreTxDone leaves out the error of a transaction that has ended with its context.
func ignoreTxDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}
