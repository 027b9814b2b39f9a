package sql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"hatchel/adapters"
)

var errInvalidURL = errors.New("the url of the connection is not valid")

// parseMySQLURL parses a URL, or the notation of the driver: user:password@tcp(host:port)/name. Its
// errors may quote the password.
func parseMySQLURL(text string) (*mysql.Config, error) {
	if rest, ok := strings.CutPrefix(text, "mariadb://"); ok {
		text = "mysql://" + rest
	}
	if !strings.HasPrefix(text, "mysql://") {
		return mysql.ParseDSN(text)
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return nil, errInvalidURL
	}
	config, err := mysql.ParseDSN("/?" + u.RawQuery)
	if err != nil {
		return nil, err
	}
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	config.Net, config.Addr, config.DBName = "tcp", u.Host, strings.TrimPrefix(u.Path, "/")
	if u.Port() == "" {
		config.Addr = u.Host + ":3306"
	}
	return config, nil
}

// mysqlDatabase is one MySQL or MariaDB database.
type mysqlDatabase struct {
	config    *serverConnection
	connector driver.Connector
	pool      *pool[*mysqlConn]
	readiness *readiness
	kills     sync.WaitGroup // kill loops; they end with readiness
}

func openMySQL(ctx context.Context, c *serverConnection, env adapters.Env) (any, error) {
	if env.Mocks != nil {
		return openMockedServer(ctx, c, env, openMySQL)
	}
	config, err := parseMySQLURL(c.URL.Reveal())
	if err != nil {
		return nil, errInvalidURL
	}
	// These settings are part of the security model: one statement at a time, values never inside its
	// text, no files of this machine.
	config.MultiStatements, config.InterpolateParams, config.AllowAllFiles = false, false, false
	config.ParseTime = false
	config.ClientFoundRows = true // UPDATE counts the matching rows, as in the other databases
	config.Timeout = c.ConnectTimeout
	config.Logger = &mysql.NopLogger{}
	config.Loc = time.UTC
	if err := config.Apply(mysql.Charset("utf8mb4", "")); err != nil {
		return nil, errInvalidURL
	}
	if config.Params == nil {
		config.Params = map[string]string{}
	}
	config.Params["sql_mode"] = "'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO," +
		"NO_ENGINE_SUBSTITUTION'"
	config.Params["time_zone"] = "'+00:00'"
	m := &mysqlDatabase{config: c}
	if m.connector, err = mysql.NewConnector(config); err != nil {
		return nil, errInvalidURL
	}
	m.pool = newPool(c.MaxConnections, m.connect)
	m.pool.maxIdle = c.MaxIdle
	m.readiness = newReadiness(ctx, c.ConnectTimeout, m.pool.check)
	env.Defer(func() error {
		m.readiness.close()
		err := m.pool.close()
		m.kills.Wait()
		return err
	})
	return m, nil
}

func (m *mysqlDatabase) connect(ctx context.Context) (*mysqlConn, error) {
	raw, err := m.connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c := &mysqlConn{database: m, raw: raw.(mysqlDriverConn)}
	c.statements = newLRU(func(_ string, s *mysqlStatement) { _ = s.stmt.Close() })
	if err := c.readID(ctx); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// Pool implements adapters.Pooled.
func (m *mysqlDatabase) Pool() (inUse, maximum int) { return m.pool.usage() }

// Ping implements adapters.Health. It connects if necessary and sends a statement.
func (m *mysqlDatabase) Ping(ctx context.Context) error {
	return pingError(ctx, m.withConn(ctx, func(c *mysqlConn) error { return c.exec(ctx, "DO 0") }))
}

// withConn lends a connection to use. If an idle connection turns out to be closed before anything was
// sent, it tries another one.
func (m *mysqlDatabase) withConn(ctx context.Context, use func(*mysqlConn) error) error {
	for attempts := 0; ; attempts++ {
		if err := m.readiness.wait(ctx); err != nil {
			return err
		}
		c, err := m.pool.acquire(ctx)
		if err != nil {
			if down := new(unreachableError); errors.As(err, &down) {
				return m.readiness.markDown(down.cause)
			}
			return err
		}
		fresh := !c.used
		if err = c.raw.ResetSession(ctx); err == nil {
			err = m.runCancelable(ctx, c, use)
		}
		m.pool.release(c, !c.broken && c.raw.IsValid())
		if !errors.Is(err, driver.ErrBadConn) || fresh || attempts > m.config.MaxConnections {
			return err
		}
	}
}

// runCancelable calls use, and kills the connection on the server if the context ends first. The driver
// returns before the server has stopped, and perhaps before the kill has begun. The kill is waited for,
// so that it cannot hit a later statement.
func (m *mysqlDatabase) runCancelable(ctx context.Context, c *mysqlConn, use func(*mysqlConn) error) error {
	c.used = true
	kill := sync.OnceFunc(func() { m.kill(ctx, c.id) })
	stop := context.AfterFunc(ctx, kill)
	err := use(c)
	if !stop() || ctx.Err() != nil {
		kill()
		c.broken = true
	}
	return err
}

func (m *mysqlDatabase) read(ctx context.Context, use func(transaction) error) error {
	return m.transact(ctx, "READ ONLY", use)
}

func (m *mysqlDatabase) write(ctx context.Context, use func(transaction) error) error {
	return m.transact(ctx, "READ WRITE", use)
}

func (m *mysqlDatabase) transact(ctx context.Context, access string, use func(transaction) error) error {
	return m.withConn(ctx, func(c *mysqlConn) error {
		if err := c.begin(ctx, access); err != nil {
			return err
		}
		err := use(c)
		if err != nil || access == "READ ONLY" {
			if c.exec(ctx, "ROLLBACK") != nil {
				c.broken = true
			}
			return hideBadConn(err)
		}
		if err = c.exec(ctx, "COMMIT"); err == nil {
			return nil
		}
		c.broken = true
		if e := new(mysql.MySQLError); !errors.As(err, &e) {
			return fmt.Errorf("%w: %w", errCommitLost, hideBadConn(err))
		}
		return err
	})
}

// hideBadConn replaces driver.ErrBadConn after BEGIN, because withConn takes it to mean that nothing was
// sent.
func hideBadConn(err error) error {
	if errors.Is(err, driver.ErrBadConn) {
		return errors.New("the connection ended: " + err.Error())
	}
	return err
}

// describe implements database. The driver does not report columns, so a query is run as a subquery that
// returns no rows. The columns are unknown if the query cannot be a subquery.
func (m *mysqlDatabase) describe(ctx context.Context, text string, writes bool) (info statementInfo, err error) {
	err = m.withConn(ctx, func(c *mysqlConn) error {
		if writes {
			if err := c.setAccess(ctx, "READ WRITE"); err != nil {
				return err
			}
		}
		st, err := c.raw.PrepareContext(ctx, text)
		if err != nil {
			return err
		}
		info.params = st.NumInput()
		if err := st.Close(); err != nil || writes {
			return err
		}
		if err := c.begin(ctx, "READ ONLY"); err != nil {
			return err
		}
		e := &execution{
			text:    "SELECT * FROM (" + text + "\n) AS t LIMIT 0",
			args:    make([]any, info.params),
			result:  &resultSet{maxRows: 1},
			isQuery: true,
		}
		if err := c.run(ctx, e); err == nil && e.result.columns != nil {
			info.columns = e.result.columns.columns
		}
		c.statements.Remove(e.text)
		return c.exec(ctx, "ROLLBACK")
	})
	return info, err
}
