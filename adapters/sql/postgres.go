package sql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"

	"hatchel/adapters"
	"hatchel/adapters/credential"
)

// postgresDatabase is one PostgreSQL database. Behind a pooler it assumes nothing of a connection between transactions,
// because each of them may run on another connection of the server: statements have no names, settings are set in the
// transaction that needs them, and the end of a transaction removes what it has put into the session.
type postgresDatabase struct {
	*identifier
	config          *serverConnection
	pool            *pgxpool.Pool
	slots           chan struct{} // one for each connection that may be lent
	login           *login        // nil without an auth block
	readiness       *readiness
	settings        string   // the statement that sets the settings of a transaction
	sessionSettings string   // that for a session
	callerSettings  [][]byte // the names in session
	sessionNames    []string // the settings that are, behind a pooler, after a transaction what they were before it
	resetSession    string   // the statements that reset a direct session after a change
	types           pgTypes
}

// maxPostgresRow is the maximum size in bytes of a message from the server, and so of a row. The
// connection is closed before a larger one is read.
const maxPostgresRow = 2 * maxResultSize

// errURLFile is the error of an address that passes its check but cannot be used.
var errURLFile = errors.New("a certificate, a key or a service that the url names cannot be used")

// checkPostgresURL checks a URL, or the notation of libpq: host=... user=.... Its errors may quote the password.
func checkPostgresURL(text string) error {
	config, err := parsePostgresURL(text)
	if err != nil {
		return err
	}
	for _, host := range postgresHosts(config) {
		if !strings.HasPrefix(host, "/") && !hostName.MatchString(host) {
			return errHostName
		}
	}
	return nil
}

// parsePostgresURL parses an address for its check. A load looks nothing up, so it leaves out what the parser would
// read elsewhere: the name of the user from the system, passwords and keys from files. Its errors may quote the
// password.
func parsePostgresURL(text string) (*pgxpool.Config, error) {
	authority := postgresSettingsOf(text)["sslrootcert"]
	if authority != "system" { // which verifies as verify-full does; a file is read when a connection is made
		authority = ""
	}
	settings := "user=u&password=p&sslcert=&sslkey=&sslrootcert=" + authority // the last of a name counts
	switch {
	case !isPostgresURL(text):
		text += " user=u password=p sslcert='' sslkey='' sslrootcert='" + authority + "'"
	case strings.Contains(text, "?"):
		text += "&" + settings
	default:
		text += "?" + settings
	}
	return pgxpool.ParseConfig(text)
}

// isPostgresURL reports whether an address is a URL; otherwise it has the notation of libpq.
func isPostgresURL(text string) bool {
	return strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://")
}

func openPostgres(ctx context.Context, c *serverConnection, env adapters.Env) (any, error) {
	if env.Mocks != nil {
		return openMockedServer(ctx, c, env, openPostgres)
	}
	l, err := c.newLogin(ctx, env, credential.NewMachine())
	if err != nil {
		return nil, err
	}
	return openDatabases(ctx, c, env, l, newPostgresDatabase)
}

func newPostgresDatabase(ctx context.Context, c *serverConnection, env adapters.Env, l *login) (database, error) {
	config, err := pgxpool.ParseConfig(c.URL.Reveal())
	if err != nil {
		return nil, errURLFile
	}
	if err := c.trust(env, postgresTLS(config)); err != nil {
		return nil, err
	}
	config.MaxConns, config.MinConns = int32(min(c.MaxConnections, 1<<20)), 0
	config.MaxConnIdleTime = c.MaxIdle
	config.ConnConfig.ConnectTimeout = c.ConnectTimeout
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "hatchel"
	}
	config.ConnConfig.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		f := pgproto3.NewFrontend(r, w)
		f.SetMaxBodyLen(maxPostgresRow)
		return f
	}
	// A transaction whose connection turns out to be dead runs again, so no round trip is spent on a check.
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	l.usePostgres(config)
	p := &postgresDatabase{identifier: newIdentifier(c, env.ConnectionName), config: c, login: l}
	p.slots = make(chan struct{}, config.MaxConns)
	p.sessionNames = sessionSettings[:len(sessionSettings):len(sessionSettings)]
	for _, e := range c.Session.Entries() {
		p.sessionNames = append(p.sessionNames, e.Name)
		p.callerSettings = append(p.callerSettings, []byte(e.Name))
	}
	p.settings, p.sessionSettings = postgresSettings(c, p.sessionNames), "SELECT "+setSettings(c, "false")
	p.resetSession = resetSession + p.sessionSettings
	config.AfterConnect = p.checkSession
	p.types.init(c)
	if p.pool, err = pgxpool.NewWithConfig(context.WithoutCancel(ctx), config); err != nil {
		return nil, errInvalidURL
	}
	p.readiness = newReadiness(ctx, c.ConnectTimeout, func(ctx context.Context) error {
		return p.repeat(ctx, func() error {
			conn, err := p.lend(ctx)
			if err != nil {
				return err
			}
			defer conn.Release()
			return conn.Ping(ctx)
		})
	})
	env.Defer(func() error {
		p.readiness.close()
		p.close()
		return nil
	})
	return p, nil
}

// close closes the idle connections. Those that are lent are closed when they are released, so a call that does not
// end holds nobody back.
func (p *postgresDatabase) close() {
	if p.pool.Stat().AcquiredConns() > 0 {
		go p.pool.Close()
		return
	}
	p.pool.Close()
}

// checkSession checks that a new connection has transactions and accepts the settings.
func (p *postgresDatabase) checkSession(ctx context.Context, conn *pgx.Conn) error {
	bounded, cancel := context.WithTimeout(ctx, p.config.ConnectTimeout)
	defer cancel()
	err := p.openSession(bounded, conn.PgConn())
	if report, ok := errors.AsType[*pgconn.PgError](err); ok && report.Code == "22023" && p.config.TimeZone != "" {
		return mistake(fmt.Sprintf("the database does not know time_zone = %q", p.config.TimeZone))
	}
	if mistakeOf(err) == statementPooling {
		return statementPooling
	}
	return markInterruption(bounded, conn.PgConn(), err)
}

// Pool implements adapters.Pooled.
func (p *postgresDatabase) Pool() (inUse, maximum int) {
	return int(p.pool.Stat().AcquiredConns()), cap(p.slots)
}

// Ping implements adapters.Health. It connects if necessary and queries the server.
func (p *postgresDatabase) Ping(ctx context.Context) error {
	return pingError(ctx, p.withConn(ctx, func(conn *pgconn.PgConn) error {
		return markInterruption(ctx, conn, conn.Ping(ctx))
	}))
}

// A transaction is sent at most maxAttempts times if its connection is lost, as when a pooler has several dead ones. If
// the server has begun it, it runs at most maxRuns times, because somebody may have ended the connection for its sake.
const (
	maxAttempts = 12
	maxRuns     = 3
)

// withConn lends a connection to use. If the connection is lost, use is called again with another one, unless a commit
// was sent.
func (p *postgresDatabase) withConn(ctx context.Context, use func(*pgconn.PgConn) error) error {
	return p.repeat(ctx, func() error { return p.withOneConn(ctx, use) })
}

// repeat repeats an attempt whose connection was lost. It empties the pool of the connections that may have died with
// it.
func (p *postgresDatabase) repeat(ctx context.Context, attempt func() error) error {
	for attempts, runs := 1, 1; ; attempts++ {
		err := attempt()
		if !isInterruption(err) || ctx.Err() != nil {
			return err
		}
		p.pool.Reset()
		if interrupted := new(interruptedError); errors.As(err, &interrupted) && interrupted.begun {
			runs++
		}
		if attempts == maxAttempts || runs > maxRuns {
			return err
		}
	}
}

func (p *postgresDatabase) withOneConn(ctx context.Context, use func(*pgconn.PgConn) error) error {
	if err := p.readiness.wait(ctx); err != nil {
		return err
	}
	acquired, err := p.acquire(ctx)
	if err != nil {
		return err
	}
	defer acquired.Release()
	defer func() { <-p.slots }()
	return use(acquired.Conn().PgConn())
}

// unusableSlot is how long a slot stays unused for which there was no connection.
const unusableSlot = time.Minute

// acquire lends a connection and its slot. A pooler lets those wait for whom it has no connection to the server, so if
// the time limit for connecting passes while others are connected, the slot is not used for a while, and the call waits
// for one of the connections that there are.
func (p *postgresDatabase) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	for {
		select {
		case p.slots <- struct{}{}:
		case <-ctx.Done():
			return nil, errBusy
		}
		acquired, err := p.lend(ctx)
		switch {
		case err == nil:
			return acquired, nil
		case ctx.Err() == nil && p.pool.Stat().TotalConns() > 0 && errors.Is(err, context.DeadlineExceeded):
			time.AfterFunc(unusableSlot, func() { <-p.slots })
			continue
		}
		<-p.slots
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case isInterruption(err):
			return nil, err
		}
		return nil, p.readiness.markDown(err)
	}
}

const beginReadOnly, beginReadWrite = "BEGIN READ ONLY", "BEGIN READ WRITE"

func (p *postgresDatabase) newTransaction(conn *pgconn.PgConn, as identity, begin string) *pgTransaction {
	tx := &pgTransaction{pgSession: sessionOf(conn), database: p, conn: conn, as: as, beginText: begin}
	tx.readOnly = begin == beginReadOnly
	return tx
}

// read implements database. ROLLBACK also restores what a function has set in the session.
func (p *postgresDatabase) read(ctx context.Context, as identity, use func(transaction) error) error {
	return p.withConn(ctx, func(conn *pgconn.PgConn) error {
		tx := p.newTransaction(conn, as, beginReadOnly)
		return tx.rollback(ctx, use(tx))
	})
}

func (p *postgresDatabase) write(ctx context.Context, as identity, use func(transaction) error) error {
	return p.withConn(ctx, func(conn *pgconn.PgConn) error {
		tx := p.newTransaction(conn, as, beginReadWrite)
		if err := use(tx); err != nil {
			return tx.rollback(ctx, err)
		}
		return tx.commit(ctx)
	})
}

var (
	errCommitLost = errors.New("the connection ended during the commit")
	// errNotCommitted is the error of a transaction that the server has rolled back instead.
	errNotCommitted = errors.New("the server has rolled back the transaction")
)

func (p *postgresDatabase) describe(
	ctx context.Context, as identity, text string, _ bool,
) (info statementInfo, err error) {
	err = p.withConn(ctx, func(conn *pgconn.PgConn) error {
		tx := p.newTransaction(conn, as, beginReadOnly)
		info, err = tx.describe(ctx, text)
		info.superuser = sessionOf(conn).superuser
		return tx.rollback(ctx, err)
	})
	return info, err
}
