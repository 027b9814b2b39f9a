//go:build cgo

package sql

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/mattn/go-sqlite3"

	"hatchel/adapters"
	"hatchel/internal/lazyregexp"
	"hatchel/internal/sqlitefile"
)

const (
	openTimeout = 10 * time.Second
	// maxSQLiteValue is the maximum size in bytes of a value that a query computes.
	maxSQLiteValue = 64 << 20
	// lockPollInterval is how long the writer waits for the lock of the file before it checks the call.
	lockPollInterval = 50 * time.Millisecond
)

// sqliteDatabase is one database file. It has a pool of connections that only read and, if the mode
// allows it, one connection that writes.
type sqliteDatabase struct {
	*identifier // nil: a file has no sessions and no roles
	config      *sqliteConnection
	file        string
	readiness   *readiness
	readers     *pool[*sqliteConn]
	writer      *pool[*sqliteConn]
	watchdog    *watchdog

	share *fileShare // nil in memory

	inMemory bool // file is only a name, and init has run
	asItIs   bool // the file is not created, and init does not run

	neverDone, alreadyDone context.Context // for the driver
}

// openSQLiteFile returns the database in the file of a connection. Mocks neither create it nor run init.
func openSQLiteFile(ctx context.Context, c *sqliteConnection, env adapters.Env) (database, error) {
	if env.Inspect && env.Mocks == nil {
		reading := *c
		reading.Mode = "ro"
		c = &reading
	}
	s := newSQLiteDatabase(ctx, c, adapters.Absolute(env.Dir, c.File), env, false)
	s.asItIs = env.Mocks != nil
	return s, nil
}

// engineResultOf returns the result of an error of SQLite; 0 for any other error.
func engineResultOf(err error) sqliteResult {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return 0
	}
	return cmp.Or(sqliteResult(e.ExtendedCode), sqliteResult(e.Code))
}

// newSQLiteDatabase returns the database in a file or in memory, which is opened on first use.
func newSQLiteDatabase(
	ctx context.Context, c *sqliteConnection, file string, env adapters.Env, inMemory bool,
) *sqliteDatabase {
	neverDone := context.WithoutCancel(ctx)
	alreadyDone, cancel := context.WithCancel(neverDone)
	cancel()
	s := &sqliteDatabase{
		config: c, file: file, watchdog: newWatchdog(), inMemory: inMemory,
		neverDone: neverDone, alreadyDone: alreadyDone,
	}
	s.readers = newPool(c.MaxReaders, s.openReader)
	s.writer = newPool(1, s.openWriter)
	s.readiness = newReadiness(ctx, openTimeout, s.connect)
	if !inMemory {
		s.share = joinFile(s)
	}
	env.Defer(s.close)
	return s
}

func (s *sqliteDatabase) close() error {
	s.readiness.close()
	err := errors.Join(s.readers.close(), s.writer.close())
	if s.share != nil {
		s.share.leaveFile(s)
	}
	s.watchdog.close()
	return err
}

// connect opens the file. If the mode allows writing, it creates a missing one.
func (s *sqliteDatabase) connect(ctx context.Context) error {
	switch {
	case s.inMemory && s.config.readOnly():
		return s.readers.check(ctx)
	case s.inMemory:
		return s.writer.check(ctx)
	}
	select {
	case s.share.refreshing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.share.refreshing }()
	if f := s.share.current.Load(); f == nil {
		return s.openFile(true)
	} else if !s.config.readOnly() && !f.IsClosed() {
		return f.MayWrite()
	}
	return nil
}

func (s *sqliteDatabase) dsn(mode string, options url.Values) string {
	if s.inMemory {
		options.Set("vfs", "memdb")
	}
	options.Set("mode", mode)
	options.Set("_busy_timeout", strconv.FormatInt(s.config.BusyTimeout.Milliseconds(), 10))
	options.Set("_foreign_keys", "1")
	options.Set("_stmt_cache_size", strconv.Itoa(maxPrepared))
	return sqlitefile.URI(s.file) + "?" + options.Encode()
}

// openReader opens a connection of the current file that cannot write.
func (s *sqliteDatabase) openReader(context.Context) (*sqliteConn, error) {
	if s.inMemory {
		return s.openReaderOf(nil)
	}
	f := s.share.current.Load()
	c, err := s.openReaderOf(f)
	if err != nil {
		return nil, err
	}
	return s.checkOpened(c)
}

// openWriter opens the connection of the current file that writes.
func (s *sqliteDatabase) openWriter(context.Context) (c *sqliteConn, err error) {
	if s.inMemory {
		return s.openWriterOf(nil, false)
	}
	f := s.share.current.Load()
	err = f.Change(func() (err error) {
		c, err = s.openWriterOf(f, false)
		return err
	})
	switch {
	case err == nil:
		return s.checkOpened(c)
	case c != nil: // the file was replaced after it was opened
		err = errors.Join(err, c.close())
	}
	return nil, err
}

// checkOpened checks that SQLite has opened the current file.
func (s *sqliteDatabase) checkOpened(c *sqliteConn) (*sqliteConn, error) {
	_, err := c.raw.Exec("SELECT count(*) FROM sqlite_schema", nil) // SQLite opens it late
	if err == nil {
		var same bool
		if same, err = c.file.IsCurrent(); err == nil && !same {
			err = sqlitefile.ErrReplaced
		}
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// openReaderOf opens a connection that cannot write: the file is opened for reading, the session is
// query_only, and the authorizer refuses statements that do more than read.
func (s *sqliteDatabase) openReaderOf(f *sqlitefile.File) (*sqliteConn, error) {
	if err := s.checkFile(); err != nil {
		return nil, err
	}
	c, err := s.openConn(f, s.dsn("ro", url.Values{"_query_only": {"1"}}))
	if err != nil {
		return nil, err
	}
	c.raw.SetLimit(sqlite3.SQLITE_LIMIT_LENGTH, maxSQLiteValue)
	c.raw.SetLimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
	c.raw.RegisterAuthorizer(c.authorize)
	return c, nil
}

// checkFile explains the cases in which SQLite would report "unable to open database file".
func (s *sqliteDatabase) checkFile() error {
	if s.inMemory {
		return nil
	}
	info, err := os.Stat(s.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the database file %s does not exist", s.file)
	case err == nil && info.IsDir():
		return fmt.Errorf("%s is a directory, not a database file", s.file)
	}
	return nil
}

// openWriterOf opens the connection that writes. A file that it creates has a WAL as its journal; others keep theirs.
func (s *sqliteDatabase) openWriterOf(f *sqlitefile.File, create bool) (*sqliteConn, error) {
	dir := filepath.Dir(s.file)
	if info, err := os.Stat(dir); !s.inMemory && (err != nil || !info.IsDir()) {
		return nil, fmt.Errorf("the directory %s does not exist, so no database can be created in it", dir)
	}
	mode, options := "rw", url.Values{}
	if (create || s.inMemory) && !s.asItIs {
		mode = "rwc"
	} else if err := s.checkFile(); err != nil {
		return nil, err
	}
	if mode == "rwc" && !s.inMemory && sqlitefile.IsNew(s.file) {
		options.Set("_journal_mode", "WAL")
	}
	c, err := s.openConn(f, s.dsn(mode, options))
	if err != nil {
		return nil, err
	}
	if !s.inMemory && !s.asItIs {
		err = s.runInit(c)
	}
	if err == nil {
		_, err = c.raw.Exec("PRAGMA wal_autocheckpoint = 0", nil)
	}
	if err == nil {
		_, err = c.raw.Exec("PRAGMA busy_timeout = "+strconv.FormatInt(lockPollInterval.Milliseconds(), 10), nil)
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	c.raw.RegisterAuthorizer(c.observe)
	return c, nil
}

// runInit runs the statements of the argument init in one transaction.
func (s *sqliteDatabase) runInit(c *sqliteConn) error {
	if s.config.Init == "" {
		return nil
	}
	for _, text := range s.initStatements() {
		if _, err := c.raw.Exec(text, nil); err != nil {
			return fmt.Errorf("init failed: %w", err)
		}
	}
	return nil
}

// initStatements are those that init runs.
func (s *sqliteDatabase) initStatements() []string {
	return []string{"BEGIN IMMEDIATE", s.config.Init, "COMMIT"}
}

func (s *sqliteDatabase) openConn(f *sqlitefile.File, dsn string) (*sqliteConn, error) {
	raw, err := sqlitefile.Connect(&sqlite3.SQLiteDriver{}, dsn)
	if err != nil {
		return nil, err
	}
	c := &sqliteConn{database: s, file: f, raw: raw, columns: map[*string]*sqliteColumns{}}
	if s.inMemory { // ATTACH and VACUUM INTO would make files
		c.raw.SetLimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
	}
	if err := c.prepareControls(); err != nil {
		return nil, errors.Join(err, c.close())
	}
	if !s.watchdog.add(c) {
		return nil, errors.Join(errClosed, c.close())
	}
	return c, nil
}

// Opens implements adapters.Creator.
func (s *sqliteDatabase) Opens() (name string, creates bool) { return s.file, !s.config.readOnly() }

// Pool implements adapters.Pooled.
func (s *sqliteDatabase) Pool() (inUse, maximum int) {
	readers, maxReaders := s.readers.usage()
	writers, maxWriters := s.writer.usage()
	return readers + writers, maxReaders + maxWriters
}

// Ping implements adapters.Health. It opens the database if necessary, and again if its file was replaced.
func (s *sqliteDatabase) Ping(ctx context.Context) error {
	err := s.readiness.wait(ctx)
	if err == nil {
		err = s.checkCurrent(ctx)
	}
	return pingError(ctx, err)
}

// checkCurrent opens the file at the path again if it is not the open one.
func (s *sqliteDatabase) checkCurrent(ctx context.Context) error {
	if s.share == nil || s.share.current.Load() == nil {
		return nil
	}
	if current, err := s.share.current.Load().IsCurrent(); current && err == nil {
		return nil
	}
	return s.refresh(ctx)
}

// maxFileAttempts is how often a transaction is begun while other programs replace the file.
const maxFileAttempts = 3

// whileReplaced runs a transaction, and again if it finds at its end that the file is no longer the one at the path,
// which has changed nothing. So the file is not looked at before the first attempt.
func (s *sqliteDatabase) whileReplaced(ctx context.Context, transact func() error) error {
	err := transact()
	for range maxFileAttempts - 1 {
		if !errors.Is(err, sqlitefile.ErrReplaced) || ctx.Err() != nil {
			break
		}
		if err = s.checkCurrent(ctx); err == nil {
			err = transact()
		}
	}
	for _, worded := range []error{sqlitefile.ErrReplaced, sqlitefile.ErrReplacedInCommit} {
		if errors.Is(err, worded) {
			return modelError{worded}
		}
	}
	return err
}

func (s *sqliteDatabase) read(ctx context.Context, _ identity, use func(transaction) error) error {
	return s.whileReplaced(ctx, func() error {
		return s.withConn(ctx, s.readers, func(c *sqliteConn) error {
			tx := sqliteReadTx{conn: c}
			err := use(&tx)
			if tx.begun {
				err = errors.Join(err, c.control(rollback))
			}
			if c.file != nil && (wasDrained(ctx, err) || !c.file.IsCurrentForRead()) {
				return sqlitefile.ErrReplaced
			}
			return err
		})
	})
}

func (s *sqliteDatabase) write(ctx context.Context, _ identity, use func(transaction) error) error {
	return s.whileReplaced(ctx, func() error {
		return s.withConn(ctx, s.writer, func(c *sqliteConn) error {
			if err := s.whileBusy(ctx, func() error { return c.control(beginImmediate) }); err != nil {
				return err
			}
			err := use(c)
			if err == nil {
				err = ctx.Err()
			}
			if err == nil {
				err = s.commit(ctx, c)
			}
			if err == nil {
				if c.file != nil {
					c.file.EmptyLogSoon(s.share.checkpoint)
				}
				return nil
			}
			if !c.raw.AutoCommit() && c.control(rollback) != nil {
				c.broken = true
				return err
			}
			if c.file != nil && err != sqlitefile.ErrReplacedInCommit &&
				(wasDrained(ctx, err) || !c.file.IsCurrentForRead()) {
				return sqlitefile.ErrReplaced // nothing is committed
			}
			return err
		})
	})
}

// commit commits the transaction of the writer, provided that the file is the one at the path.
func (s *sqliteDatabase) commit(ctx context.Context, c *sqliteConn) error {
	commitNow := func() error { return s.whileBusy(ctx, func() error { return c.control(commit) }) }
	if c.file == nil {
		return commitNow()
	}
	return c.file.Commit(commitNow)
}

// whileBusy takes a lock of the file. It waits for other connections until the busy timeout expires or the call ends.
func (s *sqliteDatabase) whileBusy(ctx context.Context, lock func() error) error {
	deadline := time.Now().Add(s.config.BusyTimeout)
	for {
		err := lock()
		var e sqlite3.Error
		if err == nil || !errors.As(err, &e) || e.Code != sqlite3.ErrBusy || time.Now().After(deadline) {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// withConn lends a connection to use. The watchdog interrupts its statement when the context ends.
func (s *sqliteDatabase) withConn(ctx context.Context, pool *pool[*sqliteConn], use func(*sqliteConn) error) error {
	c, err := s.acquire(ctx, pool)
	if err != nil {
		return err
	}
	c.setCall(ctx)
	s.watchdog.wake()
	returned := false // false after a panic
	defer func() {
		c.endCall()
		pool.release(c, returned && !c.broken && s.isOfCurrentFile(c))
	}()
	err = use(c)
	returned = true
	return err
}

// acquire lends a connection of the file at the path.
func (s *sqliteDatabase) acquire(ctx context.Context, pool *pool[*sqliteConn]) (*sqliteConn, error) {
	if err := s.readiness.wait(ctx); err != nil {
		return nil, err
	}
	for {
		c, err := pool.acquire(ctx)
		if err != nil || s.isOfCurrentFile(c) {
			return c, err
		}
		pool.release(c, false)
	}
}

// isOfCurrentFile reports whether a connection is one of the file that is open now.
func (s *sqliteDatabase) isOfCurrentFile(c *sqliteConn) bool {
	return c.file == nil || c.file == s.share.current.Load() && !c.file.IsClosed()
}

func (s *sqliteDatabase) describe(
	ctx context.Context, _ identity, text string, writes bool,
) (info statementInfo, err error) {
	if err := s.checkCurrent(ctx); err != nil {
		return info, err
	}
	pool := s.readers
	if writes && !s.config.readOnly() {
		pool = s.writer
	}
	err = s.withConn(ctx, pool, func(c *sqliteConn) error {
		prepared, err := c.raw.Prepare(text)
		if err != nil {
			return err
		}
		stmt := prepared.(*sqlite3.SQLiteStmt)
		defer stmt.Close()
		info.params = stmt.NumInput()
		rows, err := stmt.QueryContext(ctx, nil) // executes nothing before Next
		if err != nil {
			return err
		}
		defer rows.Close()
		names, declared := rows.Columns(), rows.(*sqlite3.SQLiteRows).DeclTypes()
		for i, name := range names {
			info.columns = append(info.columns, newSQLiteColumn(name, declared[i]))
		}
		return nil
	})
	return info, err
}

// Operations of SQLite's authorizer that the driver does not name.
const (
	authorizeFunction  = 31
	authorizeRecursive = 33
)

// authorize is the authorizer of a reader. It refuses everything that does more than read: writes,
// transactions, ATTACH, which could open another file, and every PRAGMA that sets something.
func (c *sqliteConn) authorize(op int, first, second, _ string) int {
	if c.preparingControl.Load() {
		return sqlite3.SQLITE_OK
	}
	switch op {
	case sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, authorizeRecursive:
		return sqlite3.SQLITE_OK
	case authorizeFunction:
		if !deniedFunctions.MatchString(second) {
			return sqlite3.SQLITE_OK
		}
	case sqlite3.SQLITE_PRAGMA:
		name := strings.ToLower(first)
		if schemaPragmas[name] || second == "" && settingPragmas[name] {
			return sqlite3.SQLITE_OK
		}
	}
	return sqlite3.SQLITE_DENY
}

var (
	// deniedFunctions load code or change what the session may do.
	deniedFunctions = lazyregexp.New(`(?i)^(load_extension|authenticate|auth_|fts3_tokenizer)`)
	// schemaPragmas report the schema, with or without an argument.
	schemaPragmas = wordSet("table_info table_xinfo table_list index_list index_info index_xinfo foreign_key_list " +
		"database_list collation_list function_list compile_options foreign_key_check")
	// settingPragmas report a setting, and change it if they have an argument.
	settingPragmas = wordSet("user_version schema_version encoding application_id page_count page_size " +
		"journal_mode data_version")
)
