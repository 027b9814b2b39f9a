package state_test

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"hatchel/runtime/durable/postgres/postgrestest"
	"hatchel/runtime/durable/state"
)

// roles are roles with a password, which may use a schema.
type roles struct {
	super  *pgx.Conn
	schema string
	url    url.URL // of the schema, with TLS, because the server asks for a password then
}

func newRoles(t *testing.T) *roles {
	t.Helper()
	address, _ := postgrestest.Schema(t)
	server := os.Getenv("HATCHEL_TEST_POSTGRES_SUPERUSER")
	if server == "" {
		t.Skip("HATCHEL_TEST_POSTGRES_SUPERUSER is not set")
	}
	ctx := context.WithoutCancel(t.Context())
	r := &roles{super: must[*pgx.Conn](t)(pgx.Connect(ctx, server)), url: *must[*url.URL](t)(url.Parse(address))}
	t.Cleanup(func() { r.super.Close(ctx) })
	query := r.url.Query()
	r.schema = query.Get("search_path")
	query.Set("sslmode", "require")
	r.url.RawQuery = query.Encode()
	return r
}

// create creates a role whose password is "one", and returns its name.
func (r *roles) create(t *testing.T) string {
	t.Helper()
	name := "rotated_" + strings.ToLower(rand.Text())
	execute(t, r.super, "CREATE ROLE "+name+" LOGIN PASSWORD 'one' IN ROLE passwords")
	execute(t, r.super, "GRANT USAGE, CREATE ON SCHEMA "+r.schema+" TO "+name)
	t.Cleanup(func() { execute(t, r.super, "DROP OWNED BY "+name+" CASCADE; DROP ROLE "+name) })
	return name
}

func (r *roles) address(user, password string, change ...func(*url.URL)) string {
	u := r.url
	u.User = url.UserPassword(user, password)
	for _, c := range change {
		c(&u)
	}
	return u.String()
}

func (r *roles) disconnect(t *testing.T, user string) {
	t.Helper()
	execute(t, r.super, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '"+user+"'")
}

func TestANewPasswordIsUsedOnceItWorks(t *testing.T) {
	r := newRoles(t)
	user := r.create(t)
	s := startProcess(t, openDatabase(t, r.address(user, "one")))
	err := s.ChangeAddresses(t.Context(), r.address(user, "two"), "")
	if err == nil || !strings.Contains(err.Error(), "rejects the user or the password") || strings.Contains(err.Error(), user) {
		t.Errorf("the password is not that of the role: %v", err)
	}
	add(t, s, recordOf("before", time.Now()))
	execute(t, r.super, "ALTER ROLE "+user+" PASSWORD 'two'")
	check(t, s.ChangeAddresses(t.Context(), r.address(user, "two"), ""))
	s.expect(t, "") // it listens again
	r.disconnect(t, user)
	s.expect(t, "")
	eventually(t, func() bool { return s.Ping(t.Context()) == nil })
	if known(t, s, "before") == nil {
		t.Error("the record is gone")
	}
}

func TestAnotherUserOfTheSameTablesIsUsed(t *testing.T) {
	r := newRoles(t)
	first, second := r.create(t), r.create(t)
	s := openDatabase(t, r.address(first, "one"))
	defer s.Close()
	execute(t, r.super, "GRANT SELECT ON ALL TABLES IN SCHEMA "+r.schema+" TO "+second)
	err := s.ChangeAddresses(t.Context(), r.address(second, "one"), "")
	if err == nil || !strings.Contains(err.Error(), "grant SELECT, INSERT, UPDATE and DELETE") {
		t.Errorf("the user may only read: %v", err)
	}
	execute(t, r.super, "GRANT "+first+" TO "+second)
	check(t, s.ChangeAddresses(t.Context(), r.address(second, "one"), r.address(second, "one")))
	execute(t, r.super, "ALTER ROLE "+first+" NOLOGIN")
	r.disconnect(t, first)
	check(t, s.Ping(t.Context()))
}

func TestAnAddressOfAnotherStoreIsRefused(t *testing.T) {
	r := newRoles(t)
	user := r.create(t)
	s := openDatabase(t, r.address(user, "one"))
	defer s.Close()
	for what, change := range map[string]func(*url.URL){
		"another database": func(u *url.URL) { u.Path = "/postgres" },
		"another name of the host": func(u *url.URL) {
			u.Host = strings.Replace(u.Host, "127.0.0.1", "localhost", 1)
		},
		"another port":  func(u *url.URL) { u.Host = "127.0.0.1:1" },
		"no tables":     func(u *url.URL) { u.RawQuery = "sslmode=require&search_path=pg_catalog" },
		"a second host": func(u *url.URL) { u.Host += ",127.0.0.1:1" },
	} {
		if err := s.ChangeAddresses(t.Context(), r.address(user, "one", change), ""); !errors.Is(err, state.ErrMoved) {
			t.Errorf("%s: %v", what, err)
		}
	}
	same := func(u *url.URL) { u.RawQuery += "&connect_timeout=3&application_name=renamed" }
	check(t, s.ChangeAddresses(t.Context(), r.address(user, "one", same), ""))
}
