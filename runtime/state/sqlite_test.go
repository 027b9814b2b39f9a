package state_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/state"
)

func openFile(t testing.TB, path string) state.Store {
	t.Helper()
	s, err := state.Open(context.WithoutCancel(t.Context()), path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSQLiteIsAStore(t *testing.T) {
	behaves(t, func(t *testing.T) func() state.Store {
		path := filepath.Join(t.TempDir(), "below", "state.db")
		return func() state.Store { return openFile(t, path) }
	})
}

func TestAStoreInMemoryEndsWithIt(t *testing.T) {
	a, b := openFile(t, ""), openFile(t, "")
	defer a.Close()
	defer b.Close()
	later := time.Now().Add(time.Hour)
	for _, name := range []string{"a", "b", "c"} {
		if first, err := a.Claim(t.Context(), name, later); err != nil || !first {
			t.Errorf("got %v %v", first, err)
		}
	}
	check(t, a.Keep(t.Context(), "x", []byte("x"), later))
	if got := must[[]byte](t)(b.Take(t.Context(), "x")); got != nil {
		t.Error("two stores in memory are one")
	}
}

func TestManyMayOpenANewFileAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "state.db")
	openedAtOnce(t, func() (state.Store, error) { return state.Open(t.Context(), path) })
}

func TestOnlyTheOwnerCanReadTheFile(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new")
	path := filepath.Join(folder, "state.db")
	s := openFile(t, path)
	check(t, s.Keep(t.Context(), "x", []byte("x"), time.Now().Add(time.Hour)))
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

func TestWhatCannotBeTheStoreIsRefused(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	check(t, os.WriteFile(at("text"), []byte(strings.Repeat("This is no database. ", 100)), 0o600))
	check(t, os.Mkdir(at("folder"), 0o700))
	write(t, at("other"), "CREATE TABLE t (x)")
	openFile(t, at("later")).Close()
	write(t, at("later"), "PRAGMA user_version = 99")
	for name, want := range map[string]string{
		"text":      "no database",
		"folder":    "folder, not a file",
		"other":     "another program",
		"later":     "a later version",
		"text/file": "not a folder",
	} {
		s, err := state.Open(t.Context(), at(name))
		if err == nil {
			s.Close()
			t.Errorf("%s was opened", name)
		} else if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "sqlite") {
			t.Errorf("%s: %v", name, err)
		}
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

func TestAFullFileTakesNothingNew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	synctest.Test(t, func(t *testing.T) {
		s, err := state.Open(context.WithoutCancel(t.Context()), path)
		check(t, err)
		defer s.Close()
		staysBounded(t, s)
	})
}

func TestWhatYieldsLeavesHalfOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	synctest.Test(t, func(t *testing.T) {
		s, err := state.Open(context.WithoutCancel(t.Context()), path)
		check(t, err)
		defer s.Close()
		leavesRoom(t, s)
	})
}

func TestWhatHasExpiredIsSwept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	synctest.Test(t, func(t *testing.T) {
		s, ctx := openFile(t, path), context.WithoutCancel(t.Context())
		defer s.Close()
		for _, name := range []string{"a", "b", "c"} {
			check(t, s.Keep(ctx, name, []byte("x"), time.Now().Add(time.Second)))
			check(t, s.Create(ctx, &state.Task{ID: name, Expires: time.Now().Add(time.Second), Body: []byte{}}))
			check(t, s.Present(ctx, name, time.Now().Add(time.Second)))
			must[*state.Record](t)(s.Add(ctx, &state.Record{Kind: "k", Name: name, Expires: time.Now().Add(time.Second)}))
			pace(t, s, name)
			must[bool](t)(s.Claim(ctx, name, time.Now().Add(time.Second)))
		}
		time.Sleep(10 * time.Minute)
		must[bool](t)(s.Claim(ctx, "last", time.Now().Add(time.Hour)))
	})
	db, err := sql.Open("sqlite3", path)
	check(t, err)
	defer db.Close()
	for table, want := range map[string]int{"kept": 0, "tasks": 0, "owners": 0, "records": 0, "paces": 0, "changes": 0, "claims": 1} {
		var n int
		check(t, db.QueryRow("SELECT count(*) FROM "+table).Scan(&n))
		if n != want {
			t.Errorf("%d rows of %s are left", n, table)
		}
	}
}

// pace counts an event that nobody waits for.
func pace(t *testing.T, s state.Store, name string) {
	t.Helper()
	if _, ok, err := s.Pace(context.WithoutCancel(t.Context()), name, state.Rhythm{Every: time.Millisecond, Burst: 1}, 0); err != nil || !ok {
		t.Errorf("got %v %v", ok, err)
	}
}

func TestAFileOfAnEarlierVersionIsGoneOnWith(t *testing.T) {
	const first = `CREATE TABLE secrets (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
		CREATE TABLE claims (name TEXT PRIMARY KEY, expires INTEGER NOT NULL) WITHOUT ROWID;
		CREATE TABLE kept (name TEXT PRIMARY KEY, value BLOB NOT NULL, expires INTEGER NOT NULL);
		CREATE TABLE tasks (id TEXT PRIMARY KEY, version INTEGER NOT NULL, owner TEXT NOT NULL, expires INTEGER NOT NULL, body BLOB NOT NULL);
		CREATE TABLE owners (name TEXT PRIMARY KEY, expires INTEGER NOT NULL) WITHOUT ROWID;
		INSERT INTO kept VALUES ('a', x'78', 9999999999999);
		PRAGMA application_id = 1213484115;`
	const second = `CREATE TABLE deeds (name TEXT PRIMARY KEY, owner TEXT NOT NULL, expires INTEGER NOT NULL, body BLOB NOT NULL) WITHOUT ROWID;`
	for version, made := range []string{first, first + second} {
		path := filepath.Join(t.TempDir(), "state.db")
		write(t, path, made+"PRAGMA user_version = "+strconv.Itoa(version+1))
		for range 2 {
			s := openFile(t, path)
			must[*state.Deed](t)(s.Begin(t.Context(), &state.Deed{Name: "d", Expires: time.Now().Add(time.Hour), Body: []byte{}}))
			must[*state.Record](t)(s.Add(t.Context(), recordOf("r", time.Now())))
			pace(t, s, "p"+rand.Text())
			check(t, s.Close())
		}
		s := openFile(t, path)
		defer s.Close()
		if got := must[[]byte](t)(s.Take(t.Context(), "a")); string(got) != "x" {
			t.Errorf("of version %d it is left %q", version+1, got)
		}
	}
}

func TestWhoWatchesAFileIsToldWhenItWasDeaf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	synctest.Test(t, func(t *testing.T) {
		a, b := openFile(t, path), openFile(t, path)
		defer a.Close()
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		var heard []string
		var watching sync.WaitGroup
		hold := make(chan struct{})
		watching.Go(func() {
			a.Watch(ctx, func(kind, name string) {
				heard = append(heard, kind+name)
				<-hold
			})
		})
		synctest.Wait()
		must[*state.Record](t)(b.Add(ctx, recordOf("a", time.Now())))
		time.Sleep(time.Hour) // while the one who is told at first does not listen
		must[*state.Record](t)(b.Add(ctx, recordOf("b", time.Now())))
		check(t, b.Close())
		close(hold)
		time.Sleep(time.Second)
		cancel()
		watching.Wait()
		if got := strings.Join(heard, ","); got != "," {
			t.Errorf("heard %q, not twice that it may have been anything", got)
		}
	})
}

func TestAStoreInMemoryHearsOfNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openFile(t, "")
		defer s.Close()
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		var heard []string
		var watching sync.WaitGroup
		watching.Go(func() { s.Watch(ctx, func(kind, name string) { heard = append(heard, kind+name) }) })
		must[*state.Record](t)(s.Add(ctx, recordOf("a", time.Now())))
		time.Sleep(time.Hour)
		cancel()
		watching.Wait()
		if len(heard) != 0 {
			t.Errorf("heard %q", heard)
		}
	})
}
