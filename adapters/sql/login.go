package sql

import (
	"context"
	"crypto/tls"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"hatchel/adapters"
	"hatchel/adapters/credential"
	"hatchel/internal/backoff"
)

// passwordSource makes the passwords of new connections. It may be used concurrently.
type passwordSource interface {
	// Password returns the password of a user for an endpoint: a host and a port. Its error has no credential.
	Password(ctx context.Context, endpoint, user string) (string, error)
	// Invalidate drops what a password was made of, which a database has refused, unless that was replaced already.
	Invalidate(password string)
	// Status and Identity say what the source has, and whose it is. They fetch nothing.
	Status() credential.Status
	Identity() string
}

// login gives each new connection of a database a password of its own. Open connections stay when it changes. A nil
// login leaves the password of the url.
type login struct {
	source passwordSource
	cloud  string // its name, for people

	mu       sync.Mutex
	refusals int       // of passwords since one was accepted; guarded by mu
	resume   time.Time // no credential is dropped earlier; guarded by mu
}

// clone returns a login with the same credentials for another database.
func (l *login) clone() *login {
	if l == nil {
		return nil
	}
	return &login{source: l.source, cloud: l.cloud}
}

// Credential implements adapters.SignedIn.
func (l *login) Credential() *adapters.CredentialState {
	if l == nil {
		return nil
	}
	return l.source.Status().State(l.source.Identity())
}

// Credential implements adapters.SignedIn.
func (p *postgresDatabase) Credential() *adapters.CredentialState { return p.login.Credential() }

// Credential implements adapters.SignedIn.
func (m *mysqlDatabase) Credential() *adapters.CredentialState { return m.login.Credential() }

// Credential implements adapters.SignedIn. All instances have the same credential.
func (s *instances) Credential() *adapters.CredentialState {
	first, _ := s.databases[s.names[0]].(adapters.SignedIn)
	return first.Credential()
}

// Credential implements adapters.SignedIn.
func (a *action) Credential() *adapters.CredentialState {
	if db, ok := a.db.(adapters.SignedIn); ok {
		return db.Credential()
	}
	return nil
}

// signInError reports that there is no password for a connection. It hides the network error of the source, which is
// none of the database.
type signInError struct{ text string }

func (e *signInError) Error() string { return e.text }

func (l *login) password(ctx context.Context, endpoint, user string) (string, error) {
	password, err := l.source.Password(ctx, endpoint, user)
	switch {
	case err == nil:
		return password, nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "", &signInError{"signing in failed: there was no answer within the time limit for connecting"}
	case ctx.Err() != nil:
		return "", ctx.Err()
	}
	return "", &signInError{err.Error()}
}

// refusalPauses are the pauses after which a password that was refused is taken as the reason again. Until then, a
// credential is kept: the database would refuse the next one, too.
var refusalPauses = backoff.Policy{First: time.Second, Max: time.Minute, Jitter: 0.2}

// renews reports whether another attempt to connect may succeed with another password, after a database has refused
// one: it may have been made shortly before a change.
func (l *login) renews(err error, password string) bool {
	if l == nil || !isRefusal(err) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Now().Before(l.resume) {
		return false
	}
	l.source.Invalidate(password)
	return true
}

// explain returns the error of an attempt to connect. If the database has refused the password, it says which, and the
// next attempts do not renew it for a while. The report of the database does not repeat the password.
func (l *login) explain(err error, password string) error {
	if l == nil {
		return err
	}
	err = hidePassword(err, password)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		l.refusals = 0
	case isRefusal(err):
		l.refusals++
		l.resume = time.Now().Add(refusalPauses.Pause(l.refusals))
		return fmt.Errorf("%w: %w", refusedToken(l.cloud), err)
	}
	return err
}

// hiddenPassword is an error whose text does not have the password that the error repeats.
type hiddenPassword struct {
	error
	password string
}

func (e *hiddenPassword) Error() string { return strings.ReplaceAll(e.error.Error(), e.password, "**") }
func (e *hiddenPassword) Unwrap() error { return e.error }

// hidePassword removes a password from what a database has reported.
func hidePassword(err error, password string) error {
	if err == nil || password == "" {
		return err
	}
	if report, ok := errors.AsType[*pgconn.PgError](err); ok {
		for _, text := range []*string{&report.Message, &report.Detail, &report.Hint} {
			*text = strings.ReplaceAll(*text, password, "**")
		}
	}
	if report, ok := errors.AsType[*mysql.MySQLError](err); ok {
		report.Message = strings.ReplaceAll(report.Message, password, "**")
	}
	return &hiddenPassword{err, password}
}

// isRefusal reports whether a database has refused the password of a user, and not, as with pg_hba.conf, the user.
func isRefusal(err error) bool {
	if report, ok := errors.AsType[*pgconn.PgError](err); ok && report.Code == "28000" {
		return report.Routine != "ClientAuthentication" && report.Routine != "InitializeSessionUserId"
	}
	report, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && string(report.SQLState[:]) == "28000" || mistakeOf(err) == wrongCredentials
}

// usePostgres makes new connections of a pool sign in. A password may be for one of the hosts of a url alone, so it is
// asked for after TLS was negotiated with one of them.
func (l *login) usePostgres(config *pgxpool.Config) {
	if l == nil {
		return
	}
	config.ConnConfig.Password = "" // of the environment
	config.ConnConfig.AfterNetConnect = func(ctx context.Context, c *pgconn.Config, conn net.Conn) (net.Conn, error) {
		secured, ok := conn.(*tls.Conn)
		if !ok {
			return conn, errNoTLS
		}
		if err := secured.HandshakeContext(ctx); err != nil {
			return conn, err
		}
		password, err := l.password(ctx, endpointOf(secured), c.User)
		c.Password = password
		return conn, err
	}
}

// errNoTLS is the error of a connection that would send a token without TLS. The check of the block excludes it.
var errNoTLS = errors.New("the connection has no TLS")

// endpointOf returns the host and the port of a connection after its handshake.
func endpointOf(conn *tls.Conn) string {
	host, port := conn.ConnectionState().ServerName, ""
	if remote, err := netip.ParseAddrPort(conn.RemoteAddr().String()); err == nil {
		port = strconv.Itoa(int(remote.Port()))
		if host == "" { // the url has an address in place of a name
			host = remote.Addr().Unmap().String()
		}
	}
	return net.JoinHostPort(host, port)
}

// lend lends a connection of the pool, which may connect.
func (p *postgresDatabase) lend(ctx context.Context) (*pgxpool.Conn, error) {
	acquired, err := p.pool.Acquire(ctx)
	if p.login.renews(err, sentPassword(err)) {
		acquired, err = p.pool.Acquire(ctx)
	}
	return acquired, p.login.explain(err, sentPassword(err))
}

// sentPassword returns the password of an attempt to connect to PostgreSQL that failed.
func sentPassword(err error) string {
	if failed, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return failed.Config.Password
	}
	return ""
}

// loginConnector connects to MySQL with the passwords of a login.
type loginConnector struct {
	login  *login
	config *mysql.Config // without a password
}

// Driver implements driver.Connector.
func (c *loginConnector) Driver() driver.Driver { return mysql.MySQLDriver{} }

// Connect implements driver.Connector.
func (c *loginConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, password, err := c.connect(ctx)
	if c.login.renews(err, password) {
		conn, password, err = c.connect(ctx)
	}
	return conn, c.login.explain(err, password)
}

func (c *loginConnector) connect(ctx context.Context) (conn driver.Conn, password string, err error) {
	if password, err = c.login.password(ctx, c.config.Addr, c.config.User); err != nil {
		return nil, "", err
	}
	config := c.config.Clone()
	config.Passwd = password
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, password, errInvalidURL
	}
	conn, err = connector.Connect(ctx)
	return conn, password, err
}

// newMySQLConnector returns what connects to MySQL. With a login, the server reads the token itself, which the check of
// the block allows only inside TLS.
func (l *login) newMySQLConnector(config *mysql.Config) (driver.Connector, error) {
	if l == nil {
		return mysql.NewConnector(config)
	}
	config.AllowCleartextPasswords = true
	return &loginConnector{l, config}, nil
}
