package sql

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
)

// rowsOfAll counts the rows of the tables that the tests of undone changes use.
const rowsOfAll = "SELECT (SELECT count(*) FROM hatchel.inno) + (SELECT count(*) FROM hatchel.isam) + " +
	"(SELECT count(*) FROM hatchel.aria) + (SELECT count(*) FROM hatchel.mem)"

// A rollback leaves what tables without transactions have got. Each way to fail is tried after each kind of change.
func TestUndoneChangesOfMariaDB(t *testing.T) {
	m := startMariaDB(t)
	proxy := newCuttingProxy(t, m.address)
	direct := m.server(m.address)
	m.exec(t, "CREATE TABLE hatchel.inno (a INTEGER PRIMARY KEY)")
	for table, engine := range map[string]string{"isam": "MyISAM", "aria": "Aria", "mem": "MEMORY"} {
		m.exec(t, "CREATE TABLE hatchel."+table+" (a INTEGER PRIMARY KEY) ENGINE = "+engine)
	}
	m.exec(t, "CREATE TABLE hatchel.logged (a INTEGER PRIMARY KEY)")
	m.exec(t, "CREATE TRIGGER hatchel.log AFTER INSERT ON hatchel.logged FOR EACH ROW INSERT INTO hatchel.isam VALUES (new.a)")
	m.exec(t, "CREATE VIEW hatchel.seen AS SELECT a FROM hatchel.isam")
	m.exec(t, "CREATE PROCEDURE hatchel.commits() BEGIN INSERT INTO inno VALUES (7); COMMIT; END")
	m.exec(t, "CREATE PROCEDURE hatchel.plain() INSERT INTO inno VALUES (7)")
	m.exec(t, "GRANT PROCESS ON *.* TO hatchel@'127.0.0.1'")
	changes := map[string]string{ // and whether they stay
		"InnoDB": "INSERT INTO inno VALUES (7)", "MyISAM": "INSERT INTO isam VALUES (7)",
		"Aria": "INSERT INTO aria VALUES (7)", "MEMORY": "INSERT INTO mem VALUES (7)",
		"a part of a MyISAM statement": "INSERT IGNORE INTO isam VALUES (7), (7)", "a trigger": "INSERT INTO logged VALUES (7)",
		"a view": "INSERT INTO seen VALUES (7)", "a procedure": "CALL plain()", "a procedure that commits": "CALL commits()",
	}
	failures := map[string]struct {
		statements []string // after the change
		more       string
		run        func(b *adaptertest.BoundTool) error
	}{
		"constraint": {statements: []string{"INSERT INTO inno VALUES (1), (2), (1)"}},
		"mistake":    {statements: []string{"INSERT INTO inno VALUES (nothing)"}},
		"time limit": {statements: []string{"UPDATE inno SET a = SLEEP(20)", "INSERT INTO inno VALUES (SLEEP(20))"}, more: `timeout = "200ms"`},
		"raise":      {statements: []string{"SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'"}},
		"lost connection": {statements: []string{"INSERT INTO inno VALUES (8)"}, run: func(b *adaptertest.BoundTool) error {
			proxy.set(m.address, once("INSERT INTO inno VALUES (8)"))
			_, err := b.Do(t.Context(), `{}`)
			proxy.set(m.address, nil)
			return err
		}},
		"killed connection": {statements: []string{"INSERT INTO inno VALUES (SLEEP(20))"}, run: func(b *adaptertest.BoundTool) error {
			return m.whileRunning(t, b, t.Context(), func(id string) { m.exec(t, "KILL "+id) })
		}},
		"killed statement": {statements: []string{"INSERT INTO inno VALUES (SLEEP(20))"}, run: func(b *adaptertest.BoundTool) error {
			return m.whileRunning(t, b, t.Context(), func(id string) { m.exec(t, "KILL QUERY "+id) })
		}},
		"canceled call": {statements: []string{"INSERT INTO inno VALUES (SLEEP(20))"}, run: func(b *adaptertest.BoundTool) error {
			ctx, cancel := context.WithCancel(t.Context())
			return m.whileRunning(t, b, ctx, func(string) { cancel() })
		}},
	}
	try := func(change, failure string, onlyInno bool) {
		name, f := change+", "+failure, failures[failure]
		s := m.server(proxy.address())
		var list []string
		for _, text := range append([]string{changes[change]}, f.statements...) {
			list = append(list, strconv.Quote(text))
		}
		b := adaptertest.Bind(t, s.sourceWith("max_connections = 2\n"+f.more, "", "exec = ["+strings.Join(list, ", ")+"]"))
		run := f.run
		if run == nil {
			run = func(b *adaptertest.BoundTool) error {
				_, err := b.Do(t.Context(), `{}`)
				return err
			}
		}
		err := run(b)
		left := m.scan(t, rowsOfAll)[0] > 0
		for _, table := range []string{"inno", "isam", "aria", "mem", "logged"} {
			if !onlyInno || table == "inno" {
				m.exec(t, "DELETE FROM hatchel."+table)
			}
		}
		got := adapters.ChangeOf(err)
		isLost := strings.Contains(failure, "connection") || failure == "canceled call"
		switch {
		case err == nil:
			t.Errorf("%s: the call succeeds", name)
		case left && got != adapters.ChangeUnknown && got != adapters.ChangeDone:
			t.Errorf("%s: rows are left, and the change is said to be %v: %v", name, got, err)
		case !left && got != adapters.ChangeUndone && (onlyInno || !isLost) && !strings.Contains(change, "procedure"):
			t.Errorf("%s: nothing is left, and the change is said to be %v: %v", name, got, err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	for change := range changes {
		for failure := range failures {
			try(change, failure, false)
		}
	}
	t.Run("deadlock", func(t *testing.T) {
		for _, table := range []string{"inno", "isam"} {
			m.exec(t, "INSERT INTO hatchel.inno VALUES (1), (2)")
			other, err := m.root.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{"BEGIN", "INSERT INTO hatchel.aria VALUES (1)", "SELECT a FROM hatchel.inno WHERE a = 2 FOR UPDATE"} {
				if _, err := other.ExecContext(t.Context(), text); err != nil {
					t.Fatal(err)
				}
			}
			b := direct.bind(t, "", fmt.Sprintf(`exec = ["INSERT INTO %s VALUES (7)", "UPDATE inno SET a = 11 WHERE a = 1", "UPDATE inno SET a = 12 WHERE a = 2"]`, table))
			ended := make(chan error, 1)
			go func() {
				_, err := b.Do(t.Context(), `{}`)
				ended <- err
			}()
			for m.scan(t, "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'Innodb_row_lock_current_waits'")[0] == 0 {
			}
			// The transaction with the most changes, and with changes of tables without transactions, survives a deadlock.
			for _, text := range []string{"INSERT INTO hatchel.t SELECT seq FROM hatchel.seq_100_to_300", "UPDATE hatchel.inno SET a = 21 WHERE a = 1", "ROLLBACK"} {
				if _, err := other.ExecContext(t.Context(), text); err != nil {
					t.Fatalf("%s: %s: %v", table, text, err)
				}
			}
			err = <-ended
			other.Close()
			left := m.scan(t, "SELECT count(*) FROM hatchel."+table+" WHERE a = 7")[0] > 0
			if got := adapters.ChangeOf(err); err == nil || left != (got == adapters.ChangeUnknown) || left == (got == adapters.ChangeUndone) {
				t.Errorf("%s: a row is left: %v, the change is said to be %v: %v", table, left, got, err)
			}
			m.exec(t, "DELETE FROM hatchel.inno")
			m.exec(t, "DELETE FROM hatchel.isam")
			m.exec(t, "DELETE FROM hatchel.aria")
		}
	})
	for _, name := range []string{"isam", "aria", "mem"} {
		m.exec(t, "DROP TABLE hatchel."+name)
		m.exec(t, "CREATE TABLE hatchel."+name+" (a INTEGER PRIMARY KEY)")
	}
	for failure := range failures {
		try("InnoDB", failure, true)
	}
}

// whileRunning makes a call, and does something to its connection once its SLEEP has begun.
func (m *mariaDB) whileRunning(t *testing.T, b *adaptertest.BoundTool, ctx context.Context, act func(id string)) error {
	t.Helper()
	ended := make(chan error, 1)
	go func() {
		_, err := b.Do(ctx, `{}`)
		ended <- err
	}()
	for {
		if ids := m.scan(t, clientConnections+" AND state = 'User sleep'"); len(ids) > 0 {
			act(strconv.Itoa(ids[0]))
			return <-ended
		}
		select {
		case err := <-ended:
			return err
		default:
		}
	}
}

// A commit whose answer does not arrive is not known to be made, whoever ends it and however.
func TestInterruptedCommitOfPostgreSQLIsNotKnown(t *testing.T) {
	eachRoute(t, func(t *testing.T, direct ownServer, s server) {
		for _, text := range []string{
			"CREATE TABLE slow (n INTEGER)", "CREATE TABLE late (n INTEGER UNIQUE DEFERRABLE INITIALLY DEFERRED)",
			"CREATE FUNCTION sleeps() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(20); RETURN NULL; END $$",
			"CREATE CONSTRAINT TRIGGER sleeping AFTER INSERT ON slow DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION sleeps()",
		} {
			direct.run(t, text)
		}
		const sleeping = " FROM pg_stat_activity WHERE query LIKE 'COMMIT%' AND wait_event = 'PgSleep' AND usename = '"
		observer := connectTo(t, direct.url)
		count := func() (n int) {
			t.Helper()
			if err := observer.QueryRow(t.Context(), "SELECT (SELECT count(*) FROM slow) + (SELECT count(*) FROM late)").Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		await := func(n int) {
			for found := -1; found != n; {
				if err := direct.admin.QueryRow(t.Context(), "SELECT count(*)"+sleeping+direct.name+"'").Scan(&found); err != nil {
					t.Fatal(err)
				}
			}
		}
		for name, c := range map[string]struct {
			act  func(cancel func())
			want adapters.Change
		}{
			"killed":          {act: func(func()) { direct.exec(t, "SELECT pg_terminate_backend(pid)"+sleeping+direct.name+"'") }, want: adapters.ChangeUnknown},
			"statement ended": {act: func(func()) { direct.exec(t, "SELECT pg_cancel_backend(pid)"+sleeping+direct.name+"'") }, want: adapters.ChangeUndone},
			"canceled call":   {act: func(cancel func()) { cancel() }, want: adapters.ChangeUnknown},
		} {
			b := s.bind(t, "", `exec = ["INSERT INTO late VALUES (1)", "INSERT INTO slow VALUES (1)"]`)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, err := b.Do(ctx, `{}`)
				ended <- err
			}()
			await(1)
			c.act(cancel)
			err := <-ended
			cancel()
			await(0)
			if got := adapters.ChangeOf(err); err == nil || got != c.want || count() != 0 {
				t.Errorf("%s: the change is said to be %v, and there are %d rows: %v", name, got, count(), err)
			}
		}
		b := s.bind(t, "", `exec = ["INSERT INTO late VALUES (1)", "INSERT INTO late VALUES (1)"]`)
		if _, err := b.Do(t.Context(), `{}`); adapters.ChangeOf(err) != adapters.ChangeUndone || count() != 0 {
			t.Errorf("a deferred constraint: %v", err)
		}
	})
}

// The server commits, and the connection is lost before it can say so.
func TestCommitWithoutAnAnswerIsNotKnown(t *testing.T) {
	m := startMariaDB(t)
	check := func(t *testing.T, s server, proxy *cuttingProxy, target string, count func() int) {
		for _, sends := range []bool{true, false} {
			b := s.bind(t, "", addRow)
			mustCall(t, b, `{}`)
			before := count()
			proxy.mu.Lock()
			proxy.sends = sends
			proxy.mu.Unlock()
			proxy.set(target, once("COMMIT"))
			_, err := b.Do(t.Context(), `{}`)
			proxy.set(target, nil)
			want := before
			if sends {
				want++
			}
			for count() != want { // the server may still commit
			}
			if got := adapters.ChangeOf(err); err == nil || got != adapters.ChangeUnknown {
				t.Errorf("the change is said to be %v: %v", got, err)
			}
			mustCall(t, b, `{}`)
		}
	}
	t.Run("mysql", func(t *testing.T) {
		proxy := newCuttingProxy(t, m.address)
		check(t, m.server(proxy.address()), proxy, m.address, func() int { return m.scan(t, "SELECT count(*) FROM hatchel.t")[0] })
	})
	t.Run("postgres", func(t *testing.T) {
		o := ownDatabase(t)
		o.run(t, "CREATE TABLE t (a INTEGER)")
		u, err := url.Parse(o.url)
		if err != nil {
			t.Fatal(err)
		}
		target := u.Host
		proxy := newCuttingProxy(t, target)
		u.Host = proxy.address()
		s := o.server
		s.url = u.String()
		observer := connectTo(t, o.url)
		check(t, s, proxy, target, func() (n int) {
			if err := observer.QueryRow(t.Context(), "SELECT count(*) FROM t").Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		})
	})
}
