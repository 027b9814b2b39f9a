package state

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"
	"strconv"
	"time"

	"github.com/mattn/go-sqlite3"

	"hatchel/internal/ctxtime"
)

// SQLite is a Store in one file. All statements but those of [Records.Reserve] share one connection.
// Other processes may have the same file open.
type SQLite struct {
	durable *sql.DB
	relaxed *sql.DB        // the same file without a sync per commit
	reader  *sqliteSession // outside of transactions
	shared  bool           // other processes may have the file open
	origin  string         // of this store, in the table changes
	recordStore
}

var sqliteStatements = newStatements("records",
	"EXISTS (SELECT 1 FROM owners AS o WHERE o.name = owner AND o.expires > $1)",
	sqliteReserve, sqliteReserveFirst, sqliteAhead, sqlitePostpone)

const (
	busyTimeout   = 10 * time.Second // for locks of other processes
	busyRetry     = 20 * time.Millisecond
	maxStatements = 32 // prepared per connection
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
	s := &SQLite{durable: db, relaxed: db, shared: path != "", origin: rand.Text()}
	if s.shared {
		if s.relaxed, err = openConnection(name + "&_synchronous=NORMAL"); err != nil {
			return nil, err
		}
	}
	s.statements, s.db, s.reader = sqliteStatements, s, &sqliteSession{s, db}
	s.SetQuota(defaultQuotaBytes)
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(sqliteError(err), s.Close())
	}
	s.sweepSoon()
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
		err := s.run(ctx, writes, createSchema)
		var e sqlite3.Error
		if !errors.As(err, &e) || e.Code != sqlite3.ErrBusy || time.Since(began) > busyTimeout {
			return err
		}
		if err := ctxtime.Sleep(ctx, busyRetry); err != nil {
			return err
		}
	}
}

// Close implements Store.
func (s *SQLite) Close() error { return errors.Join(s.relaxed.Close(), s.durable.Close()) }

// run implements database. A transaction has the file for itself.
func (s *SQLite) run(ctx context.Context, a access, do func(context.Context, session) error) error {
	db := s.durable
	switch a {
	case reads:
		return do(ctx, s.reader)
	case relaxed:
		db = s.relaxed
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	t := &sqliteSession{s, tx}
	if s.sweepDue() {
		var more bool
		if more, err = t.sweep(ctx); more {
			s.sweepSoon()
		}
	}
	if err == nil {
		err = do(ctx, t)
	}
	if err != nil {
		if undone := tx.Rollback(); !errors.Is(undone, sql.ErrTxDone) { // it has ended with its context
			err = errors.Join(err, undone)
		}
		return err
	}
	if err = tx.Commit(); errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// Heartbeat implements Store.
func (s *SQLite) Heartbeat(ctx context.Context, owner string, until time.Time) error {
	return s.run(ctx, writes, func(ctx context.Context, t session) error {
		const statement = "INSERT OR REPLACE INTO owners (name, expires) VALUES (?, ?)"
		_, err := t.execute(ctx, statement, owner, until.UnixMilli())
		return err
	})
}
