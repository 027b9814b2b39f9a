//go:build cgo

package state

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"errors"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mattn/go-sqlite3"

	"hatchel/internal/backoff"
	"hatchel/internal/operator"
	"hatchel/internal/sqlitefile"
)

// SQLite is a Store in one file. Other processes may have the same file open. What is written is acknowledged only if
// the file at the path is the open one.
type SQLite struct {
	shared     bool   // other processes may have the file open
	origin     string // of this store, in the table changes
	path       string // empty in memory
	checkpoint *time.Timer

	refusesWrites atomic.Bool // the last write failed for a reason such as a full disk

	using        sync.RWMutex // held by what uses the connections; exclusively to open them again
	*connections              // guarded by using
	closed       bool         // by Close; guarded by using
	recordStore
}

// connections are those to one file, each of them one connection.
type connections struct {
	durable *sql.DB
	relaxed *sql.DB          // without a sync per commit
	reading *sql.DB          // outside of transactions
	file    *sqlitefile.File // nil in memory
}

var sqliteStatements = newStatements("records",
	"EXISTS (SELECT 1 FROM owners AS o WHERE o.name = owner AND o.expires > $1)",
	sqliteReserve, sqliteReserveFirst, sqliteAhead, sqlitePostpone)

const (
	busyTimeout   = 10 * time.Second // for locks of other processes
	maxStatements = 32               // prepared per connection
	maxCheckpoint = time.Second      // how long a checkpoint of another process may take
	maxConnects   = 10               // attempts to open a file that other programs change
)

// Open opens the store in a file. It creates the file and its directory if they are missing,
// accessible to their owner only. With an empty path the store is in memory and ends with Close. An
// error is a sentence for the operator, without the path.
func Open(ctx context.Context, path string) (*SQLite, error) {
	s := &SQLite{shared: path != "", origin: rand.Text()}
	s.statements, s.db = sqliteStatements, s
	s.SetQuota(defaultQuotaBytes)
	if s.shared {
		if err := createFile(path); err != nil {
			return nil, err
		}
		absolute, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		s.path = absolute
		s.checkpoint = time.AfterFunc(time.Hour, s.emptyLog)
		s.checkpoint.Stop()
	}
	if err := s.connect(ctx); err != nil {
		return nil, sqliteError(err)
	}
	s.sweepSoon()
	return s, nil
}

// connect opens the connections and creates the schema if it is missing. It tries again if the file changes
// meanwhile.
func (s *SQLite) connect(ctx context.Context) (err error) {
	for range maxConnects {
		before := sqlitefile.Identify(s.path)
		c := s.newConnections()
		if err = c.prepare(ctx, s); err == nil && s.shared {
			if c.file, err = sqlitefile.Open(s.path, false); err == nil && !c.file.Is(before) {
				err = sqlitefile.ErrReplaced
			}
		}
		if err == nil {
			s.connections = c
			return nil
		}
		err = errors.Join(err, c.close())
		if !errors.Is(err, sqlitefile.ErrReplaced) {
			return err
		}
	}
	return err
}

// newConnections returns pools of one connection, which is opened at its first use. The WAL is copied to the main
// file by emptyLog alone.
func (s *SQLite) newConnections() *connections {
	options := "_txlock=immediate&_stmt_cache_size=" + strconv.Itoa(maxStatements) +
		"&_busy_timeout=" + strconv.FormatInt(busyTimeout.Milliseconds(), 10)
	if !s.shared {
		db := openConnection("file::memory:?mode=rwc&" + options)
		return &connections{durable: db, relaxed: db, reading: db}
	}
	name := sqlitefile.URI(s.path) + "?mode=rw&_journal_mode=WAL&" + options
	return &connections{
		durable: openConnection(name + "&_synchronous=FULL"), relaxed: openConnection(name + "&_synchronous=NORMAL"),
		reading: openConnection(name + "&_query_only=1"),
	}
}

// connector opens the connections of one pool.
type connector struct {
	name   string
	driver *sqlite3.SQLiteDriver
}

// Connect implements driver.Connector.
func (c *connector) Connect(context.Context) (driver.Conn, error) {
	conn, err := sqlitefile.Connect(c.driver, c.name)
	if err != nil {
		return nil, err
	}
	return &connection{conn}, nil
}

// Driver implements driver.Connector.
func (c *connector) Driver() driver.Driver { return c.driver }

// connection is one of a pool that outlives a transaction whose context ends: package sql closes others then, and with
// it a database in memory.
type connection struct{ *sqlite3.SQLiteConn }

// ResetSession implements driver.SessionResetter.
func (*connection) ResetSession(context.Context) error { return nil }

// IsValid implements driver.Validator. A connection is not used again whose transaction could not be rolled back.
func (c *connection) IsValid() bool { return c.AutoCommit() }

// openConnection returns a pool of one connection, which is opened at its first use.
func openConnection(name string) *sql.DB {
	db := sql.OpenDB(&connector{name, &sqlite3.SQLiteDriver{ConnectHook: func(conn *sqlite3.SQLiteConn) error {
		_, err := conn.Exec("PRAGMA wal_autocheckpoint = 0", nil)
		return err
	}}})
	db.SetMaxOpenConns(1)
	return db
}

// close closes the connections; that of the file last.
func (c *connections) close() error {
	err := errors.Join(c.reading.Close(), c.relaxed.Close(), c.durable.Close())
	if c.file != nil {
		c.file.Close()
	}
	return err
}

// prepare creates the schema if it is missing. It retries, because SQLite reports a busy file at
// once while several processes create it.
func (c *connections) prepare(ctx context.Context, s *SQLite) (err error) {
	waiting, cancel := context.WithTimeout(ctx, busyTimeout)
	defer cancel()
	for range busyBackoff.Attempts(waiting) {
		var e sqlite3.Error
		err = c.transact(ctx, s, c.durable, createSchema)
		if !errors.As(err, &e) || e.Code != sqlite3.ErrBusy {
			return err
		}
	}
	return cmp.Or(ctx.Err(), err)
}

// busyBackoff is how often the schema is tried again.
var busyBackoff = backoff.Policy{First: 20 * time.Millisecond}

// Close implements Store.
func (s *SQLite) Close() error {
	if s.checkpoint != nil {
		s.checkpoint.Stop()
	}
	s.using.Lock()
	defer s.using.Unlock()
	s.closed = true
	return s.connections.close()
}

// Ping returns why the store is unavailable, in a sentence for the operator.
func (s *SQLite) Ping(ctx context.Context) error {
	if s.refusesWrites.Load() { // nothing else may write until calls are made again
		return s.Heartbeat(ctx, "", time.Time{})
	}
	return s.run(ctx, reads, func(ctx context.Context, t session) error {
		_, err := t.execute(ctx, "SELECT name FROM owners LIMIT 1")
		return err
	})
}

// run implements database. A transaction has the file for itself.
func (s *SQLite) run(ctx context.Context, a access, do func(context.Context, session) error) error {
	for attempt := 1; ; attempt++ {
		err := s.runOnce(ctx, a, do)
		switch {
		case errors.Is(err, sqlitefile.ErrReplacedInCommit):
			return errStateReplaced
		case !errors.Is(err, sqlitefile.ErrReplaced):
			return asUnavailable(err)
		case attempt == maxConnects:
			return errStateReplaced
		}
		if err := s.reconnect(ctx); err != nil {
			return err
		}
	}
}

// runOnce runs do. Its error is ErrReplaced if the file at the path is not the open one; then nothing was changed.
func (s *SQLite) runOnce(ctx context.Context, a access, do func(context.Context, session) error) error {
	s.using.RLock()
	defer s.using.RUnlock()
	if s.closed {
		return errClosed
	}
	c := s.connections
	if a == reads {
		err := do(ctx, &sqliteSession{s, c.reading})
		if c.file != nil && !c.file.IsCurrentForRead() {
			return sqlitefile.ErrReplaced
		}
		return err
	}
	db := c.durable
	if a == relaxed {
		db = c.relaxed
	}
	err := c.transact(ctx, s, db, func(ctx context.Context, t session) error {
		if s.sweepDue() {
			more, err := t.(*sqliteSession).sweep(ctx)
			if more {
				s.sweepSoon()
			}
			if err != nil {
				return err
			}
		}
		return do(ctx, t)
	})
	s.refusesWrites.Store(err != nil && errors.Is(asUnavailable(err), ErrNeedsOperator))
	switch {
	case c.file == nil:
	case err == nil:
		c.file.EmptyLogSoon(s.checkpoint)
	case !errors.Is(err, sqlitefile.ErrReplacedInCommit) && !c.file.IsCurrentForRead():
		return sqlitefile.ErrReplaced // such as the error of a file that is no longer a database
	}
	return err
}

// transact runs do in a transaction.
func (c *connections) transact(
	ctx context.Context, s *SQLite, db *sql.DB, do func(context.Context, session) error,
) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err = do(ctx, &sqliteSession{s, tx}); err == nil {
		err = c.commit(tx)
	}
	switch undone := tx.Rollback(); {
	case errors.Is(undone, sql.ErrTxDone): // it is committed, or has ended with its context
	case err != nil:
		err = errors.Join(err, undone)
	}
	if errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// commit commits a transaction, provided that the file at the path is the open one.
func (c *connections) commit(tx *sql.Tx) error {
	if c.file == nil {
		return tx.Commit()
	}
	return c.file.Commit(tx.Commit)
}

// emptyLog copies the WAL to the main file, later if the file is being opened again.
func (s *SQLite) emptyLog() {
	if !s.using.TryRLock() {
		s.checkpoint.Reset(sqlitefile.CheckpointDelay)
		return
	}
	defer s.using.RUnlock()
	if s.closed {
		return
	}
	s.file.EmptyLog(s.checkpoint)
}

// errClosed is returned after Close, which no file that changes undoes.
var errClosed = errors.New("the store is closed")

// errStateReplaced is returned while the file at the path is another one than the open one.
var errStateReplaced = unavailableError{"its file was removed, or replaced by another one, while it was in use: " +
	"move the same file back (a copy is another file), or restart the server to use the one at its path", false}

// unavailableError is ErrUnavailable in words for the operator.
type unavailableError struct {
	reason string
	passes bool // without the operator
}

func (e unavailableError) Error() string { return e.reason }

// Is makes it ErrUnavailable, and ErrNeedsOperator unless it passes.
func (e unavailableError) Is(target error) bool {
	return target == ErrUnavailable || target == ErrNeedsOperator && !e.passes
}

// asUnavailable returns an error of a file that SQLite cannot use as one of the store; any other error as it is.
func asUnavailable(err error) error {
	var e sqlite3.Error
	var reason operator.Error
	if !errors.As(err, &e) || !errors.As(sqliteError(err), &reason) {
		return err
	}
	return unavailableError{string(reason), e.Code == sqlite3.ErrBusy || e.Code == sqlite3.ErrLocked}
}

// reconnect opens the file again if another program has written to it. A file that was replaced or removed stays an
// error: what this process has in memory belongs to the former one.
func (s *SQLite) reconnect(ctx context.Context) error {
	s.using.Lock()
	defer s.using.Unlock()
	if s.closed {
		return errClosed
	}
	c := s.connections
	if current, err := c.file.IsCurrent(); err == nil && current {
		return nil
	}
	if !c.file.Is(sqlitefile.Identify(s.path)) {
		return errStateReplaced
	}
	err := c.file.GiveUp(ctx, maxCheckpoint, sqlitefile.Closer{
		Drain: func(context.Context) (func(), error) { return func() {}, nil }, // using is held
		Idle: func() {
			_ = c.reading.Close()
			_ = c.relaxed.Close()
			_ = c.durable.Close()
		},
	})
	if err == nil {
		err = s.connect(ctx)
	}
	if err != nil {
		return unavailableError{sqliteError(err).Error(), false}
	}
	return nil
}

// Heartbeat implements Store.
func (s *SQLite) Heartbeat(ctx context.Context, owner string, until time.Time) error {
	return s.run(ctx, writes, func(ctx context.Context, t session) error {
		const statement = "INSERT OR REPLACE INTO owners (name, expires) VALUES (?, ?)"
		_, err := t.execute(ctx, statement, owner, until.UnixMilli())
		return err
	})
}
