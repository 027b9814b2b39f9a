package sql

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
	"hatchel/adapters/credential"
)

// tokenUser is a user of a real server who needs TLS and a password, which changes.
type tokenUser struct {
	server
	name  string
	admin func(statement string) error

	mu       sync.Mutex
	password string // that the server accepts; guarded by mu
}

// createTokenUser creates a user with a password.
func (s server) createTokenUser(t *testing.T) *tokenUser {
	t.Helper()
	u := &tokenUser{server: s, name: "token_" + strings.ToLower(rand.Text()[:12])}
	create, drop := "CREATE ROLE %s LOGIN IN ROLE passwords", "DROP ROLE %s"
	if s.kind == "mysql" {
		create, drop = "CREATE USER %s@'127.0.0.1' REQUIRE SSL", "DROP USER %s@'127.0.0.1'"
		db, err := sql.Open("mysql", s.url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		u.admin = func(statement string) error {
			_, err := db.ExecContext(context.Background(), statement)
			return err
		}
	} else {
		conn := connectTo(t, os.Getenv("HATCHEL_TEST_POSTGRES_SUPERUSER"))
		u.admin = func(statement string) error {
			_, err := conn.Exec(context.Background(), statement, pgx.QueryExecModeSimpleProtocol)
			return err
		}
	}
	if err := u.admin(fmt.Sprintf(create, u.name)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := u.admin(fmt.Sprintf(drop, u.name)); err != nil {
			t.Error(err)
		}
	})
	u.rotate(t)
	return u
}

// rotate changes the password.
func (u *tokenUser) rotate(t *testing.T) {
	t.Helper()
	change := "ALTER ROLE %s PASSWORD '%s'"
	if u.kind == "mysql" {
		change = "ALTER USER %s@'127.0.0.1' IDENTIFIED BY '%s'"
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	password := rand.Text()
	if err := u.admin(fmt.Sprintf(change, u.name, password)); err != nil {
		t.Error(err)
		return
	}
	u.password = password
}

// tokens is a source of the passwords of a user, which keeps one until it is refused.
type tokens struct {
	user   *tokenUser
	prefix string // of what it returns; a wrong one is refused
	fails  error

	mu        sync.Mutex
	cached    string   // guarded by mu
	endpoints []string // guarded by mu
	fetched   atomic.Int64
}

func (k *tokens) Password(_ context.Context, endpoint, user string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.endpoints = append(k.endpoints, endpoint+" "+user)
	if k.fails != nil {
		return "", k.fails
	}
	if k.cached == "" {
		k.fetched.Add(1)
		k.user.mu.Lock()
		k.cached = k.prefix + k.user.password
		k.user.mu.Unlock()
	}
	return k.cached, nil
}

func (k *tokens) Invalidate(password string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.cached == password {
		k.cached = ""
	}
}

func (k *tokens) Status() credential.Status { return credential.Status{} }
func (k *tokens) Identity() string          { return "" }

// bind binds a tool whose connection signs in with the passwords of a source.
func (u *tokenUser) bind(t *testing.T, source passwordSource, body string) *adaptertest.BoundTool {
	t.Helper()
	options := map[string]string{"postgres": "sslmode=verify-full", "mysql": "tls=true"}[u.kind]
	address, authority := u.secure(t, url.User(u.name), "localhost", options)
	return u.bindAt(t, source, address, authority, body)
}

func (u *tokenUser) bindAt(t *testing.T, source passwordSource, address, authority, body string) *adaptertest.BoundTool {
	t.Helper()
	s := server{kind: u.kind, url: address}.sourceWith("auth {\n google_sql {}\n }\nmax_connections = 2\nca_file = \""+authority+"\"", "", body)
	s.Set = withLogins(func(*serverConnection, adapters.Env) (*login, error) {
		return &login{cloud: "Google", source: source}, nil
	})
	return adaptertest.Bind(t, s)
}

// withLogins returns the adapters with other logins.
func withLogins(newLogin func(*serverConnection, adapters.Env) (*login, error)) adapters.Set {
	open := func(newDatabase func(context.Context, *serverConnection, adapters.Env, *login) (database, error)) func(
		context.Context, *serverConnection, adapters.Env) (any, error) {
		return func(ctx context.Context, c *serverConnection, env adapters.Env) (any, error) {
			l, err := newLogin(c, env)
			if err != nil {
				return nil, err
			}
			return openDatabases(ctx, c, env, l, newDatabase)
		}
	}
	set := adapters.Set{Adapters: []adapters.Adapter{Adapter()}, Connectors: []adapters.Connector{
		adapters.NewConnector("postgres", "A PostgreSQL database.", (*serverConnection).postgresSpec, open(newPostgresDatabase)),
		adapters.NewConnector("mysql", "A MySQL database.", (*serverConnection).mysqlSpec, open(newMySQLDatabase)),
	}}
	for i, c := range set.Connectors {
		set.Connectors[i].Kind.Dialect = dialects[c.Kind.Name]
	}
	return set
}

// session is a query that returns what names the session at the server, or the oldest session of the user.
var session = map[string]string{"postgres": `query = "SELECT pg_backend_pid() AS id"`, "mysql": `query = "SELECT id FROM information_schema.processlist ORDER BY id LIMIT 1"`}

// While the password changes again and again, no call fails: open connections stay, and new ones get the new password,
// also those that were made with the one before.
func TestNewConnectionsFollowAPasswordThatChanges(t *testing.T) {
	const workers, rotations = 4, 8
	eachServer(t, func(t *testing.T, s server) {
		u := s.createTokenUser(t)
		source := &tokens{user: u}
		old := u.bind(t, source, session[s.kind])
		first := mustCall(t, old, `{}`)
		var rotated sync.WaitGroup // one round of connections begins while the password changes
		for range rotations {
			rotated.Go(func() { u.rotate(t) })
			var round sync.WaitGroup
			for range workers {
				b := u.bind(t, source, session[s.kind])
				round.Go(func() {
					if _, err := b.Do(t.Context(), `{}`); err != nil {
						t.Errorf("a call failed: %v", err)
					}
				})
			}
			round.Wait()
			rotated.Wait()
			wantEqual(t, mustCall(t, old, `{}`), first)
		}
		if n := source.fetched.Load(); n < 2 || n > 1+2*rotations {
			t.Errorf("there were %d fetches for %d rotations", n, rotations)
		}
	})
}

// A token that is refused twice is a mistake of the configuration. What operators and callers read names the block and
// not the token, and the source is not asked at each call.
func TestARefusedTokenIsNamed(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		u := s.createTokenUser(t)
		source := &tokens{user: u, prefix: "wrong-"}
		b := u.bind(t, source, session[s.kind])
		const want = "the database refused the token of Google: is IAM login on for this user?"
		for range 5 {
			got := mustFail(t, b, `{}`)
			wantEqual(t, got, `the connection "db" is misconfigured: `+want+" This is not a mistake in the arguments, and trying again does not help.")
		}
		err := b.Handle("db").(adapters.Health).Ping(t.Context())
		if err == nil || !strings.HasSuffix(err.Error(), "; "+want) || strings.Contains(err.Error(), "wrong-") {
			t.Errorf("Ping returned %v", err)
		}
		if n := source.fetched.Load(); n > 2 {
			t.Errorf("the source was asked %d times", n)
		}
		if log := b.Log.String(); strings.Contains(log, "wrong-") {
			t.Errorf("the log has the token: %s", log)
		}
	})
}

// While the source fails, calls that need a connection fail in its words, and open connections serve the others.
func TestAFailureOfTheSourceIsNotOneOfTheDatabase(t *testing.T) {
	const failure = "signing in failed: no Google credential: the metadata server did not answer within 1s"
	eachServer(t, func(t *testing.T, s server) {
		u := s.createTokenUser(t)
		source := &tokens{user: u, fails: &adapters.Fault{Message: failure}}
		b := u.bind(t, source, session[s.kind])
		var f *adapters.Fault
		_, err := b.Do(t.Context(), `{}`)
		if f, _ = err.(*adapters.Fault); f == nil || !f.Unavailable || !f.NotSent || f.Advice != "try again later" {
			t.Fatalf("got %#v", err)
		}
		wantEqual(t, f.Message, `the database "db" is unavailable: `+failure)
		err = b.Handle("db").(adapters.Health).Ping(t.Context())
		if err == nil || err.Error() != "no connection to the database: "+failure {
			t.Errorf("Ping returned %v", err)
		}
		source.mu.Lock()
		source.fails = nil
		source.mu.Unlock()
		waitFor(t, func() bool { _, err := b.Do(t.Context(), `{}`); return err == nil })
		source.mu.Lock()
		source.fails = &adapters.Fault{Message: failure}
		source.mu.Unlock()
		mustCall(t, b, `{}`)
	})
}

// Each host of a url has a token of its own.
func TestATokenIsForTheHostThatAnswers(t *testing.T) {
	u := connect(t, "postgres").createTokenUser(t)
	address, authority := u.secure(t, url.User(u.name), "localhost", "sslmode=verify-ca&target_session_attrs=prefer-standby")
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	port := parsed.Port()
	address = strings.Replace(address, "localhost:"+port, "localhost:"+port+",127.0.0.1:"+port, 1)
	source := &tokens{user: u}
	mustCall(t, u.bindAt(t, source, address, authority, session["postgres"]), `{}`)
	want := []string{"localhost:" + port + " " + u.name, "127.0.0.1:" + port + " " + u.name}
	if len(source.endpoints) < 2 || source.endpoints[0] != want[0] || source.endpoints[1] != want[1] {
		t.Errorf("the tokens were for %q", source.endpoints)
	}
	m := connect(t, "mysql").createTokenUser(t)
	source = &tokens{user: m}
	mustCall(t, m.bind(t, source, session["mysql"]), `{}`)
	config, err := driver.ParseDSN(m.url)
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, source.endpoints[0], strings.Replace(config.Addr, "127.0.0.1", "localhost", 1)+" "+m.name)
}

// The instances of a connection share a source, and each has a token for its own endpoint.
func TestEachInstanceSignsInForItsOwnHost(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		u := s.createTokenUser(t)
		options := map[string]string{"postgres": "sslmode=verify-ca", "mysql": "tls=verify-ca"}[s.kind]
		byName, authority := u.secure(t, url.User(u.name), "localhost", options)
		byAddress, _ := u.secure(t, url.User(u.name), "127.0.0.1", options)
		source := &tokens{user: u}
		arguments := "auth {\n google_sql {}\n }\ninstance = caller.claims.region\ninstances = { eu = \"" + byName + "\", us = \"" + byAddress + "\" }\nca_file = \"" + authority + "\""
		b := server{kind: s.kind, url: byName}.sourceWith(arguments, "", session[s.kind])
		b.HCL = strings.Replace(b.HCL, "url = secret.db", "", 1)
		b.Set = withLogins(func(*serverConnection, adapters.Env) (*login, error) {
			return &login{cloud: "Google", source: source}, nil
		})
		if err := adaptertest.Bind(t, b).Handle("db").(adapters.Health).Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		parsed, err := url.Parse(byName)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(source.endpoints)
		want := []string{"127.0.0.1:" + parsed.Port() + " " + u.name, "localhost:" + parsed.Port() + " " + u.name}
		if !slices.Equal(slices.Compact(source.endpoints), want) || source.fetched.Load() != 1 {
			t.Errorf("the tokens were for %q, after %d fetches", source.endpoints, source.fetched.Load())
		}
	})
}

// A server says in several ways that it refuses a password, and in others that it does not let the user in at all.
func TestARefusalIsOneOfThePassword(t *testing.T) {
	for name, c := range map[string]struct {
		err     error
		refused bool
	}{
		"PostgreSQL":            {&pgconn.PgError{Code: "28P01", Routine: "auth_failed"}, true},
		"RDS":                   {&pgconn.PgError{Code: "28000", Message: "PAM authentication failed for user \"app\"", Routine: "auth_failed"}, true},
		"Cloud SQL":             {&pgconn.PgError{Code: "28000", Message: "Cloud SQL IAM user authentication failed"}, true},
		"PgBouncer":             {&pgconn.PgError{Code: "08P01", Message: "password authentication failed"}, true},
		"PgBouncer, SCRAM":      {&pgconn.PgError{Code: "08P01", Message: "SASL authentication failed"}, true},
		"PgBouncer, PAM":        {&pgconn.PgError{Code: "08P01", Message: "PAM authentication failed"}, true},
		"PgBouncer, no server":  {&pgconn.PgError{Code: "08P01", Message: "server login has been failing, try again later"}, false},
		"pg_hba.conf":           {&pgconn.PgError{Code: "28000", Routine: "ClientAuthentication"}, false},
		"no such role":          {&pgconn.PgError{Code: "28000", Routine: "InitializeSessionUserId"}, false},
		"no such database":      {&pgconn.PgError{Code: "3D000"}, false},
		"MySQL":                 {&driver.MySQLError{Number: 1045, SQLState: [5]byte([]byte("28000"))}, true},
		"Azure":                 {&driver.MySQLError{Number: 9110, SQLState: [5]byte([]byte("28000"))}, true},
		"MySQL, many":           {&driver.MySQLError{Number: 1040, SQLState: [5]byte([]byte("08004"))}, false},
		"MySQL, no such schema": {&driver.MySQLError{Number: 1049, SQLState: [5]byte([]byte("42000"))}, false},
		"nothing":               {nil, false},
	} {
		if got := isRefusal(c.err); got != c.refused {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// What a database says of a token that it refuses has nothing of it.
func TestARefusalDoesNotRepeatTheToken(t *testing.T) {
	for _, refused := range []error{
		&pgconn.PgError{Code: "28P01", Message: "the token ya29.token is wrong", Detail: "ya29.token", Hint: "not ya29.token"},
		&driver.MySQLError{Number: 1045, Message: "the token ya29.token is wrong"},
	} {
		err := (&login{cloud: "Google"}).explain(fmt.Errorf("connecting: %w", refused), "ya29.token")
		if text := fmt.Sprintf("%v %+v", err, refused); strings.Contains(text, "ya29") || !strings.Contains(text, "the database refused") {
			t.Error(text)
		}
	}
}

// waitFor waits until something holds.
func waitFor(t *testing.T, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); {
		if time.Now().After(deadline) {
			t.Fatal("it does not become true")
		}
	}
}
