package sql

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/mattn/go-sqlite3"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/template/sqltext"
)

// sqliteConnection is a connection "sqlite" block.
type sqliteConnection struct {
	File        string
	Mode        string
	Init        string
	BusyTimeout time.Duration
	Readers     int
}

const (
	openTimeout = 10 * time.Second
	statements  = 128      // kept prepared on each connection
	maxValue    = 64 << 20 // bytes of one value that a statement computes
)

func (c *sqliteConnection) spec() hcl.Spec {
	c.Mode, c.BusyTimeout, c.Readers = "rw", 5*time.Second, max(4, runtime.NumCPU())
	return hcl.Spec{
		hcl.Attr(&c.File, "file", `The database file, relative to the folder. With mode = "rw" it is created when it is missing; its folder is not.`).Require(),
		modeAttr(&c.Mode),
		hcl.Attr(&c.Init, "init", `Statements that run when the database is first opened for writing, such as file("schema.sql"). They must be able to run again.`),
		hcl.Attr(&c.BusyTimeout, "busy_timeout", "How long a statement waits for another process that holds the file.").DefaultDoc(`"5s"`),
		hcl.Attr(&c.Readers, "readers", "How many queries run at once. Changes run one after the other.").DefaultDoc("one a processor, at least 4"),
	}
}

// modeAttr is the argument mode of every kind of connection.
func modeAttr(mode *string) hcl.Field {
	return hcl.Attr(mode, "mode", `"ro" lets nothing be changed through this connection; "rw" lets exec change it.`).DefaultDoc(`"rw"`)
}

func checkMode(mode *string) error {
	if *mode == "ro" || *mode == "rw" {
		return nil
	}
	return hcl.Blame(mode, `mode is "ro" or "rw", and this is %q.`, *mode)
}

// Check refuses what cannot be a database.
func (c *sqliteConnection) Check() error {
	errs := []error{checkMode(&c.Mode)}
	switch {
	case c.File == "":
		errs = append(errs, hcl.Blame(&c.File, "file is the name of the database file."))
	case c.File == ":memory:":
		errs = append(errs, hcl.Blame(&c.File, "A database in memory would be empty for every connection: name a file."))
	}
	if c.Init != "" && c.readOnly() {
		errs = append(errs, hcl.Blame(&c.Init, `init changes the database, and mode is "ro".`))
	}
	if c.Readers < 1 {
		errs = append(errs, hcl.Blame(&c.Readers, "readers is at least 1."))
	}
	return errors.Join(errs...)
}

func (c *sqliteConnection) readOnly() bool           { return c.Mode == "ro" }
func (c *sqliteConnection) dialect() sqltext.Dialect { return sqltext.SQLite }

// sqlite is one database file: a pool of connections that only read and, if the mode allows it, one that writes.
type sqlite struct {
	config  *sqliteConnection
	file    string
	gate    *gate
	readers *pool[*liteConn]
	writer  *pool[*liteConn]
	watch   *watchdog

	free, over context.Context // for the driver: one that never ends, and one that has ended
}

func openSQLite(ctx context.Context, c *sqliteConnection, env adapters.Env) (any, error) {
	s := &sqlite{config: c, file: c.File, watch: newWatchdog(), free: context.WithoutCancel(ctx)}
	over, end := context.WithCancel(s.free)
	end()
	s.over = over
	if !filepath.IsAbs(s.file) {
		s.file = filepath.Join(env.Dir, s.file)
	}
	s.readers = newPool(c.Readers, s.openReader)
	s.writer = newPool(1, s.openWriter)
	s.gate = newGate(ctx, openTimeout, s.dial)
	env.Defer(s.close)
	return s, nil
}

func (s *sqlite) close() error {
	s.gate.close()
	err := errors.Join(s.readers.close(), s.writer.close())
	s.watch.close()
	return err
}

// dial opens the first connection. Of a database that may be written to it is the writer, which creates the file.
func (s *sqlite) dial(ctx context.Context) error {
	pool := s.readers
	if !s.config.readOnly() {
		pool = s.writer
	}
	c, err := pool.take(ctx)
	if err == nil {
		pool.give(c, true)
	}
	return err
}

// dsn is the name of the file with how to open it.
func (s *sqlite) dsn(mode string, wait time.Duration, rest url.Values) string {
	rest.Set("mode", mode)
	rest.Set("_busy_timeout", strconv.FormatInt(wait.Milliseconds(), 10))
	rest.Set("_foreign_keys", "1")
	rest.Set("_stmt_cache_size", strconv.Itoa(statements))
	return "file:" + (&url.URL{Path: filepath.ToSlash(s.file)}).EscapedPath() + "?" + rest.Encode()
}

// openReader opens a connection that can change nothing: the file is opened for reading, the session refuses changes, and statements that
// are more than a read are not prepared.
func (s *sqlite) openReader(context.Context) (*liteConn, error) {
	if err := s.present(); err != nil {
		return nil, err
	}
	c, err := s.openConn(s.dsn("ro", s.config.BusyTimeout, url.Values{"_query_only": {"1"}}))
	if err != nil {
		return nil, err
	}
	c.raw.SetLimit(sqlite3.SQLITE_LIMIT_LENGTH, maxValue)
	c.raw.SetLimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
	c.raw.RegisterAuthorizer(c.authorize)
	return c, nil
}

// present says in words what SQLite would call "unable to open database file".
func (s *sqlite) present() error {
	info, err := os.Stat(s.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no database file %s", s.file)
	case err == nil && info.IsDir():
		return fmt.Errorf("%s is a folder, not a database file", s.file)
	}
	return nil
}

// lockSlice is how long the writer waits for another process before it looks whether the call is still wanted.
const lockSlice = 50 * time.Millisecond

func (s *sqlite) openWriter(context.Context) (*liteConn, error) {
	if info, err := os.Stat(filepath.Dir(s.file)); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("the folder %s does not exist, so no database can be created in it", filepath.Dir(s.file))
	}
	c, err := s.openConn(s.dsn("rwc", s.config.BusyTimeout, url.Values{"_journal_mode": {"WAL"}, "_synchronous": {"NORMAL"}}))
	if err != nil {
		return nil, err
	}
	if err := s.initialise(c); err != nil {
		return nil, errors.Join(err, c.close())
	}
	if _, err := c.raw.Exec("PRAGMA busy_timeout = "+strconv.FormatInt(lockSlice.Milliseconds(), 10), nil); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// initialise runs the author's init as one transaction.
func (s *sqlite) initialise(c *liteConn) error {
	if s.config.Init == "" {
		return nil
	}
	for _, text := range []string{"BEGIN IMMEDIATE", s.config.Init, "COMMIT"} {
		if _, err := c.raw.Exec(text, nil); err != nil {
			return fmt.Errorf("init failed: %w", err)
		}
	}
	return nil
}

func (s *sqlite) openConn(dsn string) (*liteConn, error) {
	raw, err := (&sqlite3.SQLiteDriver{}).Open(dsn)
	if err != nil {
		return nil, err
	}
	c := &liteConn{raw: raw.(*sqlite3.SQLiteConn), headings: map[*string]*liteHeading{}, free: s.free, over: s.over}
	if err := c.prepareOwn(); err != nil {
		return nil, errors.Join(err, c.close())
	}
	s.watch.add(c)
	c.closed = func() { s.watch.remove(c) }
	return c, nil
}

// Ping opens the database if that was not done yet.
func (s *sqlite) Ping(ctx context.Context) error {
	if err := s.gate.pass(ctx); err != nil {
		return pinged(ctx, err)
	}
	return s.present()
}

func (s *sqlite) read(ctx context.Context, use func(transaction) error) error {
	return s.with(ctx, s.readers, func(c *liteConn) error {
		tx := liteRead{c, false}
		err := use(&tx)
		if tx.begun {
			err = errors.Join(err, c.own(c.rollback))
		}
		return err
	})
}

func (s *sqlite) write(ctx context.Context, use func(transaction) error) error {
	return s.with(ctx, s.writer, func(c *liteConn) error {
		if err := s.begin(ctx, c); err != nil {
			return err
		}
		err := use(c)
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = c.own(c.commit)
		}
		if err != nil && !c.raw.AutoCommit() {
			if undone := c.own(c.rollback); undone != nil {
				c.broken = true
			}
		}
		return err
	})
}

// begin takes the write lock of the file, waiting for other processes as long as the connection allows and the call lasts.
func (s *sqlite) begin(ctx context.Context, c *liteConn) error {
	deadline := time.Now().Add(s.config.BusyTimeout)
	for {
		err := c.own(c.immediate)
		var e sqlite3.Error
		if err == nil || !errors.As(err, &e) || e.Code != sqlite3.ErrBusy || time.Now().After(deadline) {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// with lends a connection to use, which ends soon after the context does.
func (s *sqlite) with(ctx context.Context, pool *pool[*liteConn], use func(*liteConn) error) error {
	if err := s.gate.pass(ctx); err != nil {
		return err
	}
	c, err := pool.take(ctx)
	if err != nil {
		return err
	}
	c.watch(ctx)
	s.watch.wake()
	ended := false
	defer func() {
		c.unwatch()
		pool.give(c, ended && !c.broken)
	}()
	err = use(c)
	ended = true
	return err
}
