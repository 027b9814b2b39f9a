package sql

import (
	"context"
	"errors"
	"io"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"

	"hatchel/adapters"
	"hatchel/hcl"
)

func checkPostgres(c *serverConnection) error {
	if c.URL == "" {
		return nil
	}
	if _, err := pgxpool.ParseConfig(c.URL.Reveal()); err != nil { // its text may hold parts of the URL
		return hcl.Blame(&c.URL, `url is no address of a PostgreSQL database. It reads "postgres://user:password@host:5432/name?sslmode=verify-full".`)
	}
	return nil
}

// postgres is one PostgreSQL database.
type postgres struct {
	config *serverConnection
	pool   *pgxpool.Pool
	gate   *gate
	types  pgTypes
}

// maxRow is how large one message of the server may be, and so a row: beyond it the connection is given up before the row is read.
const maxRow = 2 * maxTable

func openPostgres(ctx context.Context, c *serverConnection, env adapters.Env) (any, error) {
	config, err := pgxpool.ParseConfig(c.URL.Reveal())
	if err != nil {
		return nil, errors.New("the url of the connection cannot be read")
	}
	config.MaxConns, config.MinConns = int32(min(c.MaxConnections, 1<<20)), 0
	config.MaxConnIdleTime = c.MaxIdle
	config.ConnConfig.ConnectTimeout = c.ConnectTimeout
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "hatchel"
	}
	config.ConnConfig.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		f := pgproto3.NewFrontend(r, w)
		f.SetMaxBodyLen(maxRow)
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
	p := &postgres{config: c}
	p.types.decimals = c.Decimals == "number"
	if p.pool, err = pgxpool.NewWithConfig(context.WithoutCancel(ctx), config); err != nil {
		return nil, errors.New("the url of the connection cannot be used")
	}
	p.gate = newGate(ctx, c.ConnectTimeout, p.pool.Ping)
	env.Defer(func() error {
		p.gate.close()
		p.pool.Close()
		return nil
	})
	return p, nil
}

// sessionSettings are what the lexer of the templates and the readers of values rely on.
const sessionSettings = "SET standard_conforming_strings = on; SET client_encoding = 'UTF8'; SET TimeZone = 'UTC'; SET DateStyle = 'ISO, YMD'; " +
	"SET IntervalStyle = 'iso_8601'; SET bytea_output = 'hex'; SET extra_float_digits = 1; SET xmloption = content"

// Ping connects if that was not done yet, and asks the server.
func (p *postgres) Ping(ctx context.Context) error {
	return pinged(ctx, p.with(ctx, func(conn *pgconn.PgConn) error { return conn.Ping(ctx) }))
}

// with lends a connection whose session is as it was when it was made.
func (p *postgres) with(ctx context.Context, use func(*pgconn.PgConn) error) error {
	if err := p.gate.pass(ctx); err != nil {
		return err
	}
	lent, err := p.pool.Acquire(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return p.gate.lost(err)
	}
	defer lent.Release()
	conn := lent.Conn().PgConn()
	err = use(conn)
	if conn.ParameterStatus("standard_conforming_strings") != "on" || conn.ParameterStatus("client_encoding") != "UTF8" {
		_ = lent.Conn().Close(ctx) // the lexer's assumptions no longer hold on it
	}
	return err
}

// read ends with ROLLBACK, which also takes back what a function has set for the session.
func (p *postgres) read(ctx context.Context, use func(transaction) error) error {
	return p.with(ctx, func(conn *pgconn.PgConn) error {
		tx := &pgTransaction{database: p, conn: conn, begin: "BEGIN READ ONLY", reads: true}
		err := tx.rollback(ctx, use(tx))
		if !tx.asked || conn.IsClosed() {
			return err
		}
		// a ROLLBACK keeps the locks of a session, and who asks next must not wait for them
		if _, unlocked := conn.Exec(ctx, "SELECT pg_catalog.pg_advisory_unlock_all()").ReadAll(); unlocked != nil {
			_ = conn.Close(context.WithoutCancel(ctx))
		}
		return err
	})
}

func (p *postgres) write(ctx context.Context, use func(transaction) error) error {
	return p.with(ctx, func(conn *pgconn.PgConn) error {
		tx := &pgTransaction{database: p, conn: conn, begin: "BEGIN READ WRITE"}
		if err := use(tx); err != nil {
			return tx.rollback(ctx, err)
		}
		if !tx.begun {
			return nil
		}
		_, err := conn.Exec(ctx, "COMMIT").ReadAll()
		if err != nil && conn.IsClosed() {
			return &commitLost{err}
		}
		return err
	})
}

// commitLost says that the connection ended during a commit.
type commitLost struct{ cause error }

func (c *commitLost) Error() string {
	return "the connection ended during the commit: " + c.cause.Error()
}
func (c *commitLost) Unwrap() error { return c.cause }

func (p *postgres) describe(ctx context.Context, text string, _ bool) (d description, err error) {
	err = p.with(ctx, func(conn *pgconn.PgConn) error {
		st, err := conn.Prepare(ctx, "", text, nil)
		if err != nil {
			return err
		}
		d.params = len(st.ParamOIDs)
		if len(st.Fields) == 0 {
			return nil
		}
		if err := p.types.learn(ctx, conn, st.Fields); err != nil {
			return err
		}
		for _, f := range st.Fields {
			d.columns = append(d.columns, column{f.Name, p.types.of(f.DataTypeOID).schema})
		}
		return nil
	})
	return d, err
}
