package sql

import (
	"context"
	"database/sql/driver"
	"errors"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"hatchel/adapters"
	"hatchel/hcl"
)

var errAddress = errors.New("the url of the connection cannot be read")

// mysqlAddress reads the url: mysql://… or the driver's own notation, user:password@tcp(host:port)/name.
func mysqlAddress(text string) (*mysql.Config, error) {
	if rest, ok := strings.CutPrefix(text, "mariadb://"); ok {
		text = "mysql://" + rest
	}
	if strings.HasPrefix(text, "mysql://") {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" {
			return nil, errAddress
		}
		config, err := mysql.ParseDSN("/?" + u.RawQuery)
		if err != nil {
			return nil, errAddress
		}
		config.User = u.User.Username()
		config.Passwd, _ = u.User.Password()
		config.Net, config.Addr, config.DBName = "tcp", u.Host, strings.TrimPrefix(u.Path, "/")
		if u.Port() == "" {
			config.Addr = u.Host + ":3306"
		}
		return config, nil
	}
	config, err := mysql.ParseDSN(text)
	if err != nil { // its text may hold parts of the URL
		return nil, errAddress
	}
	return config, nil
}

func checkMySQL(c *serverConnection) error {
	if c.URL == "" {
		return nil
	}
	if _, err := mysqlAddress(c.URL.Reveal()); err != nil {
		return hcl.Blame(&c.URL, `url is no address of a MySQL database. It reads "mysql://user:password@host:3306/name?tls=true".`)
	}
	return nil
}

// mariaDB is one MySQL or MariaDB database.
type mariaDB struct {
	config    *serverConnection
	connector driver.Connector
	pool      *pool[*myConn]
	gate      *gate
	types     myTypes
	hunts     sync.WaitGroup // of connections that were killed; they end with the gate
}

func openMySQL(ctx context.Context, c *serverConnection, env adapters.Env) (any, error) {
	config, err := mysqlAddress(c.URL.Reveal())
	if err != nil {
		return nil, err
	}
	// One statement at a time, values never inside its text, no files of this machine, and the rows that an UPDATE has found count as on other databases.
	config.MultiStatements, config.InterpolateParams, config.AllowAllFiles, config.ParseTime = false, false, false, false
	config.ClientFoundRows = true
	config.Timeout = c.ConnectTimeout
	config.Logger = &mysql.NopLogger{}
	config.Loc = time.UTC
	if err := config.Apply(mysql.Charset("utf8mb4", "")); err != nil {
		return nil, errAddress
	}
	if config.Params == nil {
		config.Params = map[string]string{}
	}
	config.Params["sql_mode"] = "'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'"
	config.Params["time_zone"] = "'+00:00'"
	m := &mariaDB{config: c, types: myTypes{decimals: c.Decimals == "number"}}
	if m.connector, err = mysql.NewConnector(config); err != nil {
		return nil, errAddress
	}
	m.pool = newPool(c.MaxConnections, m.connect)
	m.pool.maxIdle = c.MaxIdle
	m.gate = newGate(ctx, c.ConnectTimeout, func(ctx context.Context) error {
		conn, err := m.pool.take(ctx)
		if err == nil {
			m.pool.give(conn, true)
		}
		return err
	})
	env.Defer(func() error {
		m.gate.close()
		err := m.pool.close()
		m.hunts.Wait()
		return err
	})
	return m, nil
}

// connect opens a session.
func (m *mariaDB) connect(ctx context.Context) (*myConn, error) {
	raw, err := m.connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c := &myConn{raw: raw.(mySession), types: &m.types, most: m.config.Timeout, statements: map[string]*myStatement{}}
	if err := c.identify(ctx); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// Ping connects if that was not done yet, and asks the server.
func (m *mariaDB) Ping(ctx context.Context) error {
	return pinged(ctx, m.with(ctx, func(c *myConn) error { return c.command(ctx, "DO 0") }))
}

// with lends a connection. One that turns out to have ended while it was idle is replaced, as long as nothing was sent. When the call ends before its
// statement does, the server is told to stop it.
func (m *mariaDB) with(ctx context.Context, use func(*myConn) error) error {
	for tries := 0; ; tries++ {
		if err := m.gate.pass(ctx); err != nil {
			return err
		}
		c, err := m.pool.take(ctx)
		if err != nil {
			if down := new(unreachable); errors.As(err, &down) {
				return m.gate.lost(down.cause)
			}
			return err
		}
		fresh := c.uses == 0
		if err = c.raw.ResetSession(ctx); err == nil {
			err = m.lent(ctx, c, use)
		}
		broken := c.broken || !c.raw.IsValid()
		m.pool.give(c, !broken)
		if !errors.Is(err, driver.ErrBadConn) || fresh || tries > m.config.MaxConnections {
			return err
		}
	}
}

func (m *mariaDB) lent(ctx context.Context, c *myConn, use func(*myConn) error) error {
	c.uses++
	kill := sync.OnceFunc(func() { m.kill(ctx, c.thread) })
	stop := context.AfterFunc(ctx, kill)
	err := use(c)
	// The driver returns before the server has stopped, and perhaps before the kill has begun: stop may still prevent one that is due. It is waited for,
	// so that it hits nothing that comes later.
	if !stop() || ctx.Err() != nil {
		kill()
		c.broken = true
	}
	return err
}

func (m *mariaDB) read(ctx context.Context, use func(transaction) error) error {
	return m.transact(ctx, "READ ONLY", use)
}

func (m *mariaDB) write(ctx context.Context, use func(transaction) error) error {
	return m.transact(ctx, "READ WRITE", use)
}

func (m *mariaDB) transact(ctx context.Context, access string, use func(transaction) error) error {
	return m.with(ctx, func(c *myConn) error {
		if err := c.begin(ctx, access); err != nil {
			return err
		}
		err := use(&myTransaction{m, c})
		if err != nil || access == "READ ONLY" {
			if undone := c.command(ctx, "ROLLBACK"); undone != nil {
				c.broken = true
			}
			return sent(err)
		}
		if err = c.command(ctx, "COMMIT"); err == nil {
			return nil
		}
		c.broken = true
		if e := new(mysql.MySQLError); !errors.As(err, &e) {
			return &commitLost{sent(err)}
		}
		return err
	})
}

// sent keeps an error behind BEGIN from looking as if nothing had been sent.
func sent(err error) error {
	if errors.Is(err, driver.ErrBadConn) {
		return errors.New("the connection ended: " + err.Error())
	}
	return err
}

// describe prepares a statement. The driver does not tell its columns, so those of a query are asked for as the columns of a table of no rows; where
// that is no statement, nothing is known.
func (m *mariaDB) describe(ctx context.Context, text string, writes bool) (d description, err error) {
	err = m.with(ctx, func(c *myConn) error {
		st, err := c.raw.PrepareContext(ctx, text)
		if err != nil {
			return err
		}
		d.params = st.NumInput()
		if err := st.Close(); err != nil || writes {
			return err
		}
		if err := c.begin(ctx, "READ ONLY"); err != nil {
			return err
		}
		t := &table{limit: 1}
		probe := &execution{text: "SELECT * FROM (" + text + "\n) AS t LIMIT 0", args: make([]any, d.params), rows: t, rowsWanted: true}
		if err := (&myTransaction{m, c}).run(ctx, probe); err == nil && t.heading != nil {
			d.columns = t.heading.columns
		}
		c.forget(probe.text)
		return c.command(ctx, "ROLLBACK")
	})
	return d, err
}
