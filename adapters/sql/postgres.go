package sql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"

	"hatchel/adapters"
)

// postgresDatabase is one PostgreSQL database.
type postgresDatabase struct {
	config    *serverConnection
	pool      *pgxpool.Pool
	readiness *readiness
	types     pgTypes
}

// maxPostgresRow is the maximum size in bytes of a message from the server, and so of a row. The
// connection is closed before a larger one is read.
const maxPostgresRow = 2 * maxResultSize

// errURLFile is the error of an address that passes its check but cannot be used.
var errURLFile = errors.New("a certificate, a key or a service that the url names cannot be used")

// checkPostgresURL checks a URL, or the notation of libpq: host=... user=.... A load looks nothing up, so it leaves out
// what the parser would read elsewhere: the name of the user from the system, passwords and keys from files. Its errors
// may quote the password.
func checkPostgresURL(text string) error {
	const settings = "user=u&password=p&sslcert=&sslkey=&sslrootcert=" // the last of a name counts
	switch {
	case !strings.HasPrefix(text, "postgres://") && !strings.HasPrefix(text, "postgresql://"):
		text += " user=u password=p sslcert='' sslkey='' sslrootcert=''"
	case strings.Contains(text, "?"):
		text += "&" + settings
	default:
		text += "?" + settings
	}
	_, err := pgxpool.ParseConfig(text)
	return err
}

func openPostgres(ctx context.Context, c *serverConnection, env adapters.Env) (any, error) {
	if env.Mocks != nil {
		return openMockedServer(ctx, c, env, openPostgres)
	}
	config, err := pgxpool.ParseConfig(c.URL.Reveal())
	if err != nil {
		return nil, errURLFile
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
	setup := sessionSettings
	if c.readOnly() {
		setup += "; SET default_transaction_read_only = on"
	}
	if c.Timeout > 0 {
		setup += "; SET statement_timeout = " + strconv.FormatInt(max(1, c.Timeout.Milliseconds()), 10)
	}
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.PgConn().Exec(ctx, setup).ReadAll()
		return err
	}
	p := &postgresDatabase{config: c}
	p.types.decimalsAsNumbers = c.decimalsAsNumbers()
	if p.pool, err = pgxpool.NewWithConfig(context.WithoutCancel(ctx), config); err != nil {
		return nil, errInvalidURL
	}
	p.readiness = newReadiness(ctx, c.ConnectTimeout, p.pool.Ping)
	env.Defer(func() error {
		p.readiness.close()
		p.pool.Close()
		return nil
	})
	return p, nil
}

// sessionSettings are the settings that the lexer of sqltext and the type converters depend on.
const sessionSettings = "SET standard_conforming_strings = on; SET client_encoding = 'UTF8'; " +
	"SET TimeZone = 'UTC'; SET DateStyle = 'ISO, YMD'; SET IntervalStyle = 'iso_8601'; " +
	"SET bytea_output = 'hex'; SET extra_float_digits = 1; SET xmloption = content"

// Pool implements adapters.Pooled.
func (p *postgresDatabase) Pool() (inUse, maximum int) {
	stat := p.pool.Stat()
	return int(stat.AcquiredConns()), int(stat.MaxConns())
}

// Ping implements adapters.Health. It connects if necessary and queries the server.
func (p *postgresDatabase) Ping(ctx context.Context) error {
	return pingError(ctx, p.withConn(ctx, func(conn *pgconn.PgConn) error { return conn.Ping(ctx) }))
}

// withConn lends a connection to use. It closes the connection if its session settings have changed.
func (p *postgresDatabase) withConn(ctx context.Context, use func(*pgconn.PgConn) error) error {
	if err := p.readiness.wait(ctx); err != nil {
		return err
	}
	acquired, err := p.pool.Acquire(ctx)
	if err != nil {
		if lent := p.pool.Stat(); ctx.Err() != nil && lent.AcquiredConns() == lent.MaxConns() {
			return errBusy
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return p.readiness.markDown(err)
	}
	defer acquired.Release()
	conn := acquired.Conn().PgConn()
	err = use(conn)
	conforming, encoding := conn.ParameterStatus("standard_conforming_strings"), conn.ParameterStatus("client_encoding")
	if conforming != "on" || encoding != "UTF8" {
		_ = acquired.Conn().Close(ctx)
	}
	return err
}

// read implements database. ROLLBACK also restores what a function has set in the session. It does not
// release advisory locks, which a caller's statement may have taken.
func (p *postgresDatabase) read(ctx context.Context, use func(transaction) error) error {
	return p.withConn(ctx, func(conn *pgconn.PgConn) error {
		tx := &pgTransaction{database: p, conn: conn, beginText: "BEGIN READ ONLY", readOnly: true}
		err := tx.rollback(ctx, use(tx))
		if !tx.ranCallerStatement || conn.IsClosed() {
			return err
		}
		if _, unlockErr := conn.Exec(ctx, "SELECT pg_catalog.pg_advisory_unlock_all()").ReadAll(); unlockErr != nil {
			_ = conn.Close(context.WithoutCancel(ctx))
		}
		return err
	})
}

func (p *postgresDatabase) write(ctx context.Context, use func(transaction) error) error {
	return p.withConn(ctx, func(conn *pgconn.PgConn) error {
		tx := &pgTransaction{database: p, conn: conn, beginText: "BEGIN READ WRITE"}
		if err := use(tx); err != nil {
			return tx.rollback(ctx, err)
		}
		if !tx.begun {
			return nil
		}
		_, err := conn.Exec(ctx, "COMMIT").ReadAll()
		if err != nil && conn.IsClosed() {
			return fmt.Errorf("%w: %w", errCommitLost, err)
		}
		return err
	})
}

var errCommitLost = errors.New("the connection ended during the commit")

func (p *postgresDatabase) describe(ctx context.Context, text string, _ bool) (info statementInfo, err error) {
	err = p.withConn(ctx, func(conn *pgconn.PgConn) error {
		st, err := conn.Prepare(ctx, "", text, nil)
		if err != nil {
			return err
		}
		info.params = len(st.ParamOIDs)
		if len(st.Fields) == 0 {
			return nil
		}
		if err := p.types.learn(ctx, conn, st.Fields); err != nil {
			return err
		}
		for _, f := range st.Fields {
			info.columns = append(info.columns, column{f.Name, p.types.typeOf(f.DataTypeOID).schema})
		}
		return nil
	})
	return info, err
}
