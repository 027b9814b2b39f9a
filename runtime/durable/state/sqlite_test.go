package state_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/durable/state"
)

func openFile(t testing.TB, path string) state.Store {
	t.Helper()
	s, err := state.Open(context.WithoutCancel(t.Context()), path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSQLiteStore(t *testing.T) {
	storeSuite(t, func(t *testing.T) func() state.Store {
		path := filepath.Join(t.TempDir(), "below", "state.db")
		return func() state.Store { return openFile(t, path) }
	})
}

func TestInMemoryStoresAreSeparate(t *testing.T) {
	a, b := openFile(t, ""), openFile(t, "")
	defer a.Close()
	defer b.Close()
	for _, name := range []string{"a", "b", "c"} {
		if !add(t, a, recordOf(name, time.Now())) || known(t, a, name) == nil || known(t, b, name) != nil {
			t.Errorf("%s is not in the one, or is in the other", name)
		}
	}
}

func TestNewFileIsOpenedConcurrently(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "state.db")
	openedAtOnce(t, func() (state.Store, error) { return state.Open(t.Context(), path) })
}

func TestFilePermissions(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new")
	path := filepath.Join(folder, "state.db")
	s := openFile(t, path)
	add(t, s, recordOf("x", time.Now()))
	for name, want := range map[string]os.FileMode{folder: 0o700, path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600} {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
	check(t, s.Close())
	check(t, os.Chmod(path, 0o644))
	openFile(t, path).Close()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a file that others can read stays so: %v %v", info, err)
	}
}

func TestOpenRejectsOtherFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	check(t, os.WriteFile(at("text"), []byte(strings.Repeat("This is not a database. ", 100)), 0o600))
	check(t, os.Mkdir(at("folder"), 0o700))
	write(t, at("other"), "CREATE TABLE t (x)")
	openFile(t, at("newer")).Close()
	write(t, at("newer"), "PRAGMA user_version = 99")
	openFile(t, at("older")).Close()
	write(t, at("older"), "PRAGMA user_version = 2")
	for name, want := range map[string]string{
		"text":      "not a database",
		"folder":    "a directory, not a file",
		"other":     "another program",
		"newer":     "a newer version of this program (schema 99, supported is 5)",
		"older":     "an older version of this program (schema 2, supported is 5): remove it",
		"text/file": "not a directory",
	} {
		t.Run(name, func(t *testing.T) {
			s, err := state.Open(t.Context(), at(name))
			if err == nil {
				s.Close()
				t.Error("it was opened")
			} else if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "sqlite") {
				t.Errorf("error %q, want %q", err, want)
			}
		})
	}
	if runtime.GOOS == "linux" {
		if s, err := state.Open(t.Context(), "/dev/null"); err == nil {
			s.Close()
			t.Error("a device was opened")
		}
	}
}

func write(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	check(t, err)
	defer db.Close()
	_, err = db.Exec(statement)
	check(t, err)
}

func TestSQLiteQuota(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	synctest.Test(t, func(t *testing.T) {
		s, err := state.Open(context.WithoutCancel(t.Context()), path)
		check(t, err)
		defer s.Close()
		testQuota(t, s)
	})
}

func TestSQLitePriority(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	synctest.Test(t, func(t *testing.T) {
		s, err := state.Open(context.WithoutCancel(t.Context()), path)
		check(t, err)
		defer s.Close()
		testPriority(t, s)
	})
}

func TestSQLiteSweep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	synctest.Test(t, func(t *testing.T) {
		s, ctx := openFile(t, path), context.WithoutCancel(t.Context())
		defer s.Close()
		for _, name := range []string{"a", "b", "c"} {
			check(t, s.Heartbeat(ctx, name, time.Now().Add(time.Second)))
			add(t, s, &state.Record{Kind: "k", Name: name, Expires: time.Now().Add(time.Second)})
			reserveNow(t, s, name)
		}
		time.Sleep(10 * time.Minute)
		add(t, s, &state.Record{Kind: "k", Name: "last", Expires: time.Now().Add(time.Hour), NoNotify: true})
	})
	db, err := sql.Open("sqlite3", path)
	check(t, err)
	defer db.Close()
	for table, want := range map[string]int{"owners": 0, "records": 1, "rates": 0, "changes": 0} {
		var n int
		check(t, db.QueryRow("SELECT count(*) FROM "+table).Scan(&n))
		if n != want {
			t.Errorf("%d rows of %s are left", n, table)
		}
	}
}

func TestSQLiteSweepsInBatches(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	openFile(t, path).Close()
	expire := func() {
		write(t, path, `WITH RECURSIVE some (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM some WHERE n < 25000)
			INSERT INTO records (kind, name, unique_key, grp, version, due, expires, body) SELECT 'old', n, '', '', 1, 0, n, x'' FROM some`)
	}
	left := func() (n int) {
		db, err := sql.Open("sqlite3", path)
		check(t, err)
		defer db.Close()
		check(t, db.QueryRow("SELECT count(*) FROM records").Scan(&n))
		return n
	}
	expire()
	s := openFile(t, path)
	for n, want := range []int{15001, 5002, 3} {
		add(t, s, recordOf("r"+string(rune('a'+n)), time.Now()))
		if got := left(); got != want {
			t.Errorf("%d are left after %d calls", got, n+1)
		}
	}
	check(t, s.Close())
	expire()
	full, err := state.Open(t.Context(), path)
	check(t, err)
	defer full.Close()
	full.SetQuota(256 << 10) // less than what has expired takes
	if !add(t, full, recordOf("last", time.Now())) || left() != 4 {
		t.Errorf("%d are left", left())
	}
}

// reserveNow reserves an event that does not wait.
func reserveNow(t *testing.T, s state.Store, name string) {
	t.Helper()
	if _, ok, err := s.Reserve(context.WithoutCancel(t.Context()), name, state.Rate{Interval: time.Millisecond, Burst: 1}, 0); err != nil || !ok {
		t.Errorf("got %v %v", ok, err)
	}
}

func TestSQLiteWatchReportsMissedChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	synctest.Test(t, func(t *testing.T) {
		a, b := openFile(t, path), openFile(t, path)
		defer a.Close()
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		var announced []string
		var watching sync.WaitGroup
		hold := make(chan struct{})
		watching.Go(func() {
			a.Watch(ctx, func(kind, name string) {
				announced = append(announced, kind+name)
				<-hold
			}, func(error) {})
		})
		synctest.Wait()
		add(t, b, recordOf("a", time.Now()))
		time.Sleep(time.Hour) // Watch is blocked meanwhile
		add(t, b, recordOf("b", time.Now()))
		check(t, b.Close())
		close(hold)
		time.Sleep(time.Second)
		cancel()
		watching.Wait()
		if got := strings.Join(announced, ","); got != "," {
			t.Errorf("announced %q, want twice that any record may have changed", got)
		}
	})
}

func TestInMemoryStoreAnnouncesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openFile(t, "")
		defer s.Close()
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		var announced []string
		var watching sync.WaitGroup
		watching.Go(func() {
			s.Watch(ctx, func(kind, name string) { announced = append(announced, kind+name) }, func(error) {})
		})
		add(t, s, recordOf("a", time.Now()))
		time.Sleep(time.Hour)
		cancel()
		watching.Wait()
		if len(announced) != 0 {
			t.Errorf("announced %q", announced)
		}
	})
}
