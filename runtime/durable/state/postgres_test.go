package state_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"

	"hatchel/runtime/durable/postgres/postgrestest"
	"hatchel/runtime/durable/state"
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

func TestPostgresStore(t *testing.T) {
	storeSuite(t, func(t *testing.T) func() state.Store {
		address, _ := postgrestest.Schema(t)
		return func() state.Store { return openDatabase(t, address) }
	})
}

func TestNewDatabaseIsOpenedConcurrently(t *testing.T) {
	address, _ := postgrestest.Schema(t)
	openedAtOnce(t, func() (state.Store, error) { return state.OpenPostgres(t.Context(), address) })
}

func TestOpenPostgresRejectsOtherDatabases(t *testing.T) {
	address, db := postgrestest.Schema(t)
	u, err := url.Parse(address)
	check(t, err)
	changed := func(change func(*url.URL)) string {
		v := *u
		change(&v)
		return v.String()
	}
	for name, c := range map[string]struct{ address, want string }{
		"no address":       {"postgres://ada:hunter2@:::/x", "cannot be parsed"},
		"nobody there":     {changed(func(v *url.URL) { v.Host, v.User = "127.0.0.1:1", url.UserPassword("ada", "hunter2") }), "cannot be reached"},
		"another database": {changed(func(v *url.URL) { v.Path = "/hunter2" }), "no such database"},
		"another user":     {changed(func(v *url.URL) { v.User = url.UserPassword("ada", "hunter2") }), "rejects the user"},
		"no schema":        {changed(func(v *url.URL) { v.RawQuery = "search_path=hunter2" }), "has no schema"},
	} {
		if err := state.CheckPostgres(t.Context(), c.address, ""); name != "no schema" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2")) {
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
	check(t, state.CheckPostgres(t.Context(), address, ""))
	s := openDatabase(t, address)
	check(t, s.Close())
	check(t, state.CheckPostgres(t.Context(), address, ""))
	execute(t, db, "UPDATE hatchel_state SET version = 99")
	if _, err := state.OpenPostgres(t.Context(), address); err == nil || !strings.Contains(err.Error(), "a newer version of this program (schema 99, supported is 4)") {
		t.Errorf("got %v", err)
	}
	execute(t, db, "UPDATE hatchel_state SET version = 1")
	if err := state.CheckPostgres(t.Context(), address, ""); err == nil || !strings.Contains(err.Error(), "an older version of this program (schema 1, supported is 4)") {
		t.Errorf("got %v", err)
	}
}

func TestReplacedTablesAreReported(t *testing.T) {
	address, db := postgrestest.Schema(t)
	s := openDatabase(t, address)
	defer s.Close()
	check(t, s.Ping(t.Context()))
	execute(t, db, "UPDATE hatchel_state SET version = 99; ALTER TABLE hatchel_records RENAME TO hatchel_others")
	_, err := s.Add(t.Context(), recordOf("x", time.Now()))
	for operation, err := range map[string]error{"Ping": s.Ping(t.Context()), "Add": err} {
		if err == nil || !strings.Contains(err.Error(), "newer version of this program") {
			t.Errorf("%s: %v", operation, err)
		}
	}
	execute(t, db, "DROP TABLE hatchel_state")
	if err := s.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "no longer exist") {
		t.Errorf("Ping without tables: %v", err)
	}
}

func TestPostgresQuota(t *testing.T) {
	address, _ := postgrestest.Schema(t)
	synctest.Test(t, func(t *testing.T) {
		s := openDatabase(t, address)
		defer s.Close()
		testQuota(t, s)
	})
}

func TestPostgresPriority(t *testing.T) {
	address, _ := postgrestest.Schema(t)
	synctest.Test(t, func(t *testing.T) {
		s := openDatabase(t, address)
		defer s.Close()
		testPriority(t, s)
	})
}

func TestPostgresSweep(t *testing.T) {
	address, db := postgrestest.Schema(t)
	synctest.Test(t, func(t *testing.T) {
		s, ctx := openDatabase(t, address), context.WithoutCancel(t.Context())
		defer s.Close()
		soon := time.Now().Add(time.Second)
		for _, name := range []string{"a", "b", "c"} {
			check(t, s.Heartbeat(ctx, name, time.Now().Add(-time.Second)))
			add(t, s, &state.Record{Kind: "k", Name: name, Expires: soon})
		}
		time.Sleep(2 * time.Minute)
		add(t, s, recordOf("next", time.Now()))
		synctest.Wait() // for the sweep that it has begun, which Close would cancel
	})
	left(t, db, map[string]int{"owners": 0, ownRecords: 1})
}

func TestPostgresSweepsInBatches(t *testing.T) {
	address, db := postgrestest.Schema(t)
	add(t, openDatabaseFor(t, address), recordOf("first", time.Now()))
	expired := func() {
		execute(t, db, "INSERT INTO hatchel_records SELECT 'old', n::text, '', '', 1, 0, n, '', '' FROM generate_series(1, 25000) AS n")
	}
	expired()
	s := openDatabaseFor(t, address)
	eventually(t, func() bool {
		known(t, s, "first")
		var n int
		check(t, db.QueryRow(t.Context(), "SELECT count(*) FROM hatchel_"+ownRecords).Scan(&n))
		return n == 1
	})
	expired()
	s = openDatabaseFor(t, address)
	s.SetQuota(1 << 20) // less than what has expired takes
	if !add(t, s, recordOf("second", time.Now())) {
		t.Error("what has expired leaves no room")
	}
	left(t, db, map[string]int{ownRecords: 2})
}

func openDatabaseFor(t *testing.T, address string) *state.Postgres {
	t.Helper()
	s := openDatabase(t, address)
	t.Cleanup(func() { s.Close() })
	return s
}

// ownRecords are the records that a test has added.
const ownRecords = "records WHERE kind <> 'secret'"

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

func TestPostgresWatchReportsMissedChanges(t *testing.T) {
	address, db := postgrestest.Schema(t)
	a, b := openDatabase(t, address), openDatabase(t, address)
	defer a.Close()
	defer b.Close()
	announced, stop := watch(t, a)
	defer stop()
	for round, s := range []*state.Postgres{a, b, b} {
		name := strconv.Itoa(round)
		add(t, s, recordOf(name, time.Now()))
		if s == b {
			expectAnnounced(t, announced, "k "+name)
		}
		if round == 1 {
			killListeners(t, db)
			expectAnnounced(t, announced, "")
		}
	}
}

// killListeners ends the connections on which the stores of a test listen.
func killListeners(t testing.TB, db *pgx.Conn) {
	t.Helper()
	execute(t, db, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_locks%' "+
		"AND application_name = current_schema() AND pid <> pg_backend_pid()")
}

func TestIdleConnectionsAreClosedButForOne(t *testing.T) {
	address, _ := postgrestest.Schema(t)
	synctest.Test(t, func(t *testing.T) {
		s, ctx := openDatabase(t, address), context.WithoutCancel(t.Context())
		defer s.Close()
		db := must[*pgx.Conn](t)(pgx.Connect(ctx, address))
		defer db.Close(ctx)
		expect := func(want int) {
			t.Helper()
			eventually(t, func() bool {
				const query = "SELECT count(*) FROM pg_stat_activity " +
					"WHERE application_name = current_schema() AND pid <> pg_backend_pid() AND query NOT LIKE '%SCHEMA%'"
				var n int
				check(t, db.QueryRow(ctx, query).Scan(&n))
				return n == want
			})
		}
		var adding sync.WaitGroup
		for i := range 64 {
			adding.Go(func() { add(t, s, recordOf(fmt.Sprint(i), time.Now().Add(time.Hour))) })
		}
		adding.Wait()
		expect(4)
		time.Sleep(time.Minute)
		expect(1)
	})
}

func TestLostConnectionComesBack(t *testing.T) {
	address, db := postgrestest.Schema(t)
	s := openDatabase(t, address)
	defer s.Close()
	add(t, s, recordOf("a", time.Now()))
	execute(t, db, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = current_schema() AND pid <> pg_backend_pid()")
	var there *state.Record
	eventually(t, func() bool {
		var err error
		there, err = s.Record(t.Context(), "k", "a")
		if err != nil && !errors.Is(err, state.ErrUnavailable) {
			t.Fatal(err)
		}
		return err == nil
	})
	if there == nil {
		t.Error("it is not there")
	}
	check(t, s.Ping(t.Context()))
}

func TestHangingDatabaseIsUnavailable(t *testing.T) {
	address, db := postgrestest.Schema(t)
	check(t, openDatabase(t, address).Close())
	s := openDatabase(t, address+"&lock_timeout=100ms")
	defer s.Close()
	execute(t, db, "BEGIN; LOCK TABLE hatchel_records")
	if _, err := s.Add(t.Context(), recordOf("x", time.Now())); !errors.Is(err, state.ErrUnavailable) || !strings.Contains(err.Error(), "in time") {
		t.Errorf("got %v", err)
	}
	execute(t, db, "ROLLBACK")
	if !add(t, s, recordOf("x", time.Now())) {
		t.Error("it was added")
	}
}

// eventually waits until a condition holds.
func eventually(t testing.TB, so func() bool) {
	t.Helper()
	limit, tick := time.After(time.Minute), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal("the condition never holds")
		}
	}
}

func TestVersionsAreThoseOfTheNamedRecords(t *testing.T) {
	address, _ := postgrestest.Schema(t)
	s := openDatabase(t, address)
	defer s.Close()
	for _, name := range []string{"a", "b", "c"} {
		add(t, s, recordOf(name, time.Now().Add(time.Hour)))
	}
	replace(t, s, known(t, s, "b"))
	expired := recordOf("expired", time.Now())
	expired.Expires = time.Now()
	add(t, s, expired)
	versions := must[map[string]int](t)(s.Versions(t.Context(), "k", []string{"a", "b", "expired", "missing"}))
	if want := map[string]int{"a": 1, "b": 2}; !maps.Equal(versions, want) {
		t.Errorf("got %v", versions)
	}
}

// A server accepts connections and says nothing, so that the pool still makes its own connection when the caller gives up.
func TestTheWaitForASilentServerEndsWithItsContext(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer silent.Close()
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := state.OpenPostgres(ctx, "postgres://hatchel@"+silent.Addr().String()+"/hatchel?connect_timeout=600")
		failed <- err
	}()
	for range 2 { // the connection of the query, and the one that the pool keeps
		conn, err := silent.Accept()
		check(t, err)
		defer conn.Close()
	}
	cancel()
	select {
	case err := <-failed:
		if err == nil {
			t.Error("it is open")
		}
	case <-time.After(30 * time.Second):
		t.Error("it still waits")
	}
}
