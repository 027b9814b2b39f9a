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
	"hatchel/adapters/credential"
)

var errInvalidURL = errors.New("the url of the connection is not valid")

// parseMySQLURL parses a URL, or the notation of the driver: user:password@tcp(host:port)/name. Its
// errors may quote the password.
func parseMySQLURL(text string) (*mysql.Config, error) {
	config, err := parseMySQLAddress(text)
	if err != nil {
		return nil, err
	}
	setServerName(config)
	if config.TLSConfig == tlsVerifyCA {
		verifyChain(config.TLS)
	}
	return config, nil
}

func parseMySQLAddress(text string) (*mysql.Config, error) {
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
	*identifier
	config    *serverConnection
	name      string   // of the database that a connection selects once it is open; empty if it opens with it
	variables []string // the names of session
	connector driver.Connector
	login     *login // nil without an auth block
	pool      *pool[*mysqlConn]
	readiness *readiness
}

func openMySQL(ctx context.Context, c *serverConnection, env adapters.Env) (any, error) {
	if env.Mocks != nil {
		return openMockedServer(ctx, c, env, openMySQL)
	}
	l, err := c.newLogin(ctx, env, credential.NewMachine())
	if err != nil {
		return nil, err
	}
	return openDatabases(ctx, c, env, l, newMySQLDatabase)
}

func newMySQLDatabase(ctx context.Context, c *serverConnection, env adapters.Env, l *login) (database, error) {
	config, err := parseMySQLURL(c.URL.Reveal())
	if err != nil {
		return nil, errInvalidURL
	}
	// These settings are part of the security model: one statement at a time, values never inside its
	// text, no files of this machine.
	config.MultiStatements, config.InterpolateParams, config.AllowAllFiles = false, false, false
	config.ParseTime = false
	config.ClientFoundRows = true // UPDATE counts the matching rows, as in the other databases
	config.CheckConnLiveness = true
	config.RejectReadOnly = false // it reports a refused statement like a lost connection
	config.Timeout = c.ConnectTimeout
	config.Logger = &mysql.NopLogger{}
	config.Loc = time.UTC
	if err := config.Apply(mysql.Charset("utf8mb4", "")); err != nil {
		return nil, errInvalidURL
	}
	if err := c.trust(env, mysqlTLS(config)); err != nil {
		return nil, err
	}
	m := &mysqlDatabase{identifier: newIdentifier(c, env.ConnectionName), config: c, login: l}
	m.variables = m.names()
	if c.Role != nil {
		m.name, config.DBName = config.DBName, ""
	}
	if m.connector, err = l.newMySQLConnector(config); err != nil {
		return nil, errInvalidURL
	}
	m.pool = newPool(c.MaxConnections, m.connect)
	m.pool.maxIdle = c.MaxIdle
	m.readiness = newReadiness(ctx, c.ConnectTimeout, m.pool.check)
	env.Defer(func() error {
		m.readiness.close()
		return m.pool.close()
	})
	return m, nil
}

// connect opens a connection. The time limit also bounds what the server has to say before it is usable.
func (m *mysqlDatabase) connect(ctx context.Context) (*mysqlConn, error) {
	ctx, cancel := context.WithTimeout(ctx, m.config.ConnectTimeout)
	defer cancel()
	raw, err := m.connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c := &mysqlConn{database: m, raw: raw.(mysqlDriverConn)}
	c.statements = newLRU(maxPrepared, func(_ string, s *mysqlStatement) { _ = s.stmt.Close() })
	err = c.readSession(ctx)
	if err == nil && m.name != "" {
		err = c.trySelectDatabase(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// Pool implements adapters.Pooled.
func (m *mysqlDatabase) Pool() (inUse, maximum int) { return m.pool.usage() }

// Ping implements adapters.Health. It connects if necessary and sends a statement.
func (m *mysqlDatabase) Ping(ctx context.Context) error {
	return pingError(ctx, m.withConn(ctx, func(c *mysqlConn) error {
		err := c.exec(ctx, "DO 0")
		if c.isLost(err) {
			return &notExecutedError{err}
		}
		return err
	}))
}

// notExecutedError reports that a connection was lost, or has turned out to be that of a server that takes no
// changes, while it is certain that no statement was executed.
type notExecutedError struct{ cause error }

func (e *notExecutedError) Error() string { return "the connection ended: " + e.cause.Error() }

func (e *notExecutedError) Unwrap() error { return e.cause }

// withConn lends a connection to use. If one that was idle is lost before anything was executed, all that
// are idle are closed, since they were probably lost for the same reason, and use gets another one.
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
		if err = c.raw.ResetSession(ctx); err != nil { // the server has closed it, or says why it will
			err = &notExecutedError{err}
		} else {
			err = m.runCancelable(ctx, c, use)
		}
		notExecuted := errors.As(err, new(*notExecutedError))
		lost := notExecuted || c.isLost(err)
		if lost && ctx.Err() == nil && !hasLeftVariables(err) {
			m.pool.discardIdle()
		}
		m.pool.release(c, !lost && !c.broken && c.raw.IsValid())
		if !notExecuted || fresh || ctx.Err() != nil || attempts > m.config.MaxConnections {
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

// read implements database. A read that loses its connection is repeated once.
func (m *mysqlDatabase) read(ctx context.Context, as identity, use func(transaction) error) error {
	lost := false
	transact := func() error {
		return m.withConn(ctx, func(c *mysqlConn) error {
			err := c.transact(ctx, as, "READ ONLY", use)
			lost = c.isLost(err)
			return err
		})
	}
	err := transact()
	if lost && ctx.Err() == nil {
		err = transact()
	}
	return err
}

func (m *mysqlDatabase) write(ctx context.Context, as identity, use func(transaction) error) error {
	return m.withConn(ctx, func(c *mysqlConn) error { return c.transact(ctx, as, "READ WRITE", use) })
}

// describe implements database. The driver does not report columns, so a query is run as a subquery that
// returns no rows. The columns are unknown if the query cannot be a subquery.
func (m *mysqlDatabase) describe(
	ctx context.Context, as identity, text string, writes bool,
) (info statementInfo, err error) {
	access := "READ ONLY"
	if writes {
		access = "READ WRITE"
	}
	err = m.withConn(ctx, func(c *mysqlConn) error {
		c.executing = false
		if err := c.begin(ctx, as, access); err != nil {
			return c.notExecuted(err)
		}
		err := c.describe(ctx, text, writes, &info)
		if failed := c.exec(ctx, "ROLLBACK"); failed != nil {
			c.broken = true
		}
		return err
	})
	return info, err
}
