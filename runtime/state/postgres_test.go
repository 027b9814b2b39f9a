package state_test

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"

	"hatchel/runtime/postgres/postgrestest"
	"hatchel/runtime/state"
)

func execute(t testing.TB, db *pgx.Conn, statement string) {
	t.Helper()
	_, err := db.Exec(context.WithoutCancel(t.Context()), statement)
	check(t, err)
}

func openDatabase(t testing.TB, address string) *state.Postgres {
	t.Helper()
	s, err := state.OpenPostgres(context.WithoutCancel(t.Context()), address)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPostgresIsAStore(t *testing.T) {
	behaves(t, func(t *testing.T) func() state.Store {
		address, _ := postgrestest.Schema(t)
		return func() state.Store { return openDatabase(t, address) }
	})
}

func TestManyMayOpenANewDatabaseAtOnce(t *testing.T) {
	address, _ := postgrestest.Schema(t)
	openedAtOnce(t, func() (state.Store, error) { return state.OpenPostgres(t.Context(), address) })
}

func TestADatabaseThatIsNotOursIsRefused(t *testing.T) {
	address, db := postgrestest.Schema(t)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	check(t, closed.Close())
	u, err := url.Parse(address)
	check(t, err)
	changed := func(change func(*url.URL)) string {
		v := *u
		change(&v)
		return v.String()
	}
	for name, c := range map[string]struct{ address, want string }{
		"no address":       {"postgres://ada:hunter2@:::/x", "cannot be read"},
		"nobody there":     {changed(func(v *url.URL) { v.Host, v.User = closed.Addr().String(), url.UserPassword("ada", "hunter2") }), "cannot be reached"},
		"another database": {changed(func(v *url.URL) { v.Path = "/hunter2" }), "no such database"},
		"another user":     {changed(func(v *url.URL) { v.User = url.UserPassword("ada", "hunter2") }), "refuses the user"},
		"no schema":        {changed(func(v *url.URL) { v.RawQuery = "search_path=hunter2" }), "names no schema"},
	} {
		if err := state.CheckPostgres(t.Context(), c.address); name != "no schema" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s is checked: %v", name, err)
		}
		s, err := state.OpenPostgres(t.Context(), c.address)
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s is opened: %v", name, err)
		}
	}
	check(t, state.CheckPostgres(t.Context(), address))
	s := openDatabase(t, address)
	check(t, s.Close())
	check(t, state.CheckPostgres(t.Context(), address))
	execute(t, db, "UPDATE hatchel_state SET version = 99")
	if _, err := state.OpenPostgres(t.Context(), address); err == nil || !strings.Contains(err.Error(), "a later version of this program has written it, in version 99") {
		t.Errorf("got %v", err)
	}
}

func TestAFullDatabaseTakesNothingNew(t *testing.T) {
	address, _ := postgrestest.Schema(t)
	synctest.Test(t, func(t *testing.T) {
		s := openDatabase(t, address)
		defer s.Close()
		staysBounded(t, s)
	})
}

func TestWhatYieldsLeavesHalfOfADatabase(t *testing.T) {
	address, _ := postgrestest.Schema(t)
	synctest.Test(t, func(t *testing.T) {
		s := openDatabase(t, address)
		defer s.Close()
		leavesRoom(t, s)
	})
}

func TestWhatHasExpiredIsRemovedFromTheDatabase(t *testing.T) {
	address, db := postgrestest.Schema(t)
	synctest.Test(t, func(t *testing.T) {
		s, ctx := openDatabase(t, address), context.WithoutCancel(t.Context())
		defer s.Close()
		soon := time.Now().Add(time.Second)
		for _, name := range []string{"a", "b", "c"} {
			check(t, s.Keep(ctx, name, []byte("x"), soon))
			check(t, s.Create(ctx, &state.Task{ID: name, Expires: soon}))
			check(t, s.Present(ctx, name, time.Now().Add(-time.Second)))
			must[*state.Deed](t)(s.Begin(ctx, &state.Deed{Name: name, Expires: soon}))
			must[*state.Record](t)(s.Add(ctx, &state.Record{Kind: "k", Name: name, Expires: soon}))
			must[bool](t)(s.Claim(ctx, name, soon))
		}
		time.Sleep(2 * time.Minute)
		must[bool](t)(s.Claim(ctx, "next", time.Now().Add(3*time.Hour)))
	})
	left(t, db, map[string]int{"kept": 0, "tasks": 0, "owners": 0, "deeds": 0, "records": 0, "claims": 4})
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(2 * time.Hour)
		s, ctx := openDatabase(t, address), context.WithoutCancel(t.Context())
		defer s.Close()
		must[bool](t)(s.Claim(ctx, "last", time.Now().Add(time.Hour)))
	})
	left(t, db, map[string]int{"claims": 2})
}

func left(t *testing.T, db *pgx.Conn, tables map[string]int) {
	t.Helper()
	for table, want := range tables {
		var n int
		check(t, db.QueryRow(t.Context(), "SELECT count(*) FROM hatchel_"+table).Scan(&n))
		if n != want {
			t.Errorf("%d rows of %s are left", n, table)
		}
	}
}

func TestWhoWatchesADatabaseIsToldWhenItWasDeaf(t *testing.T) {
	address, db := postgrestest.Schema(t)
	a, b := openDatabase(t, address), openDatabase(t, address)
	defer a.Close()
	defer b.Close()
	ctx, cancel := context.WithCancel(t.Context())
	heard := make(chan string, 100)
	var watching sync.WaitGroup
	watching.Go(func() { a.Watch(ctx, func(kind, name string) { heard <- strings.TrimSpace(kind + " " + name) }) })
	defer watching.Wait()
	defer cancel()
	hears := func(want string) {
		t.Helper()
		select {
		case got := <-heard:
			if got != want {
				t.Fatalf("heard %q, not %q", got, want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%q is not heard", want)
		}
	}
	hears("")
	later := time.Now().Add(time.Hour)
	for round, s := range []*state.Postgres{a, b, b} {
		id := strconv.Itoa(round)
		check(t, s.Create(ctx, &state.Task{ID: id, Expires: later}))
		task := must[*state.Task](t)(s.Task(ctx, id))
		if !must[bool](t)(s.Update(ctx, task)) {
			t.Fatal("the task is not updated")
		}
		if s == b {
			hears("task " + id)
		}
		if round == 1 {
			execute(t, db, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN %' AND application_name = current_schema()")
			hears("")
		}
	}
}

func TestTablesOfTheFirstVersionAreGoneOnWith(t *testing.T) {
	address, db := postgrestest.Schema(t)
	s := openDatabase(t, address)
	check(t, s.Keep(t.Context(), "a", []byte("x"), time.Now().Add(time.Hour)))
	check(t, s.Close())
	execute(t, db, "DROP TABLE hatchel_records, hatchel_paces; UPDATE hatchel_state SET version = 1")
	check(t, state.CheckPostgres(t.Context(), address))
	openedAtOnce(t, func() (state.Store, error) { return state.OpenPostgres(t.Context(), address) })
	s = openDatabase(t, address)
	defer s.Close()
	must[*state.Record](t)(s.Add(t.Context(), recordOf("r", time.Now())))
	pace(t, s, "p")
	if got := must[[]byte](t)(s.Take(t.Context(), "a")); string(got) != "x" {
		t.Errorf("it is left %q", got)
	}
	left(t, db, map[string]int{"state": 1})
}

func TestALostConnectionComesBack(t *testing.T) {
	address, db := postgrestest.Schema(t)
	s := openDatabase(t, address)
	defer s.Close()
	later := time.Now().Add(time.Hour)
	check(t, s.Keep(t.Context(), "a", []byte("x"), later))
	execute(t, db, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = current_schema() AND pid <> pg_backend_pid()")
	var value []byte
	eventually(t, func() bool {
		var err error
		value, err = s.Take(t.Context(), "a")
		if err != nil && !errors.Is(err, state.ErrAway) {
			t.Fatal(err)
		}
		return err == nil
	})
	if string(value) != "x" {
		t.Errorf("got %q", value)
	}
	check(t, s.Ping(t.Context()))
}

func TestADatabaseThatDoesNotAnswerIsAway(t *testing.T) {
	address, db := postgrestest.Schema(t)
	check(t, openDatabase(t, address).Close())
	s := openDatabase(t, address+"&lock_timeout=100ms")
	defer s.Close()
	execute(t, db, "BEGIN; LOCK TABLE hatchel_claims")
	if _, err := s.Claim(t.Context(), "x", time.Now().Add(time.Hour)); !errors.Is(err, state.ErrAway) || !strings.Contains(err.Error(), "in time") {
		t.Errorf("got %v", err)
	}
	execute(t, db, "ROLLBACK")
	if !must[bool](t)(s.Claim(t.Context(), "x", time.Now().Add(time.Hour))) {
		t.Error("the name was claimed")
	}
}

// eventually asks until something is so.
func eventually(t *testing.T, so func() bool) {
	t.Helper()
	limit, tick := time.After(time.Minute), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal("it does not happen")
		}
	}
}
