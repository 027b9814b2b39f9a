package state_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/state"
)

func openFile(t *testing.T, path string) state.Store {
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

func TestWhatHasExpiredIsSwept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	synctest.Test(t, func(t *testing.T) {
		s, ctx := openFile(t, path), context.WithoutCancel(t.Context())
		defer s.Close()
		for _, name := range []string{"a", "b", "c"} {
			check(t, s.Keep(ctx, name, []byte("x"), time.Now().Add(time.Second)))
			check(t, s.Create(ctx, &state.Task{ID: name, Expires: time.Now().Add(time.Second), Body: []byte{}}))
			check(t, s.Present(ctx, name, time.Now().Add(time.Second)))
			must[bool](t)(s.Claim(ctx, name, time.Now().Add(time.Second)))
		}
		time.Sleep(2 * time.Minute)
		must[bool](t)(s.Claim(ctx, "last", time.Now().Add(time.Hour)))
	})
	db, err := sql.Open("sqlite3", path)
	check(t, err)
	defer db.Close()
	for table, want := range map[string]int{"kept": 0, "tasks": 0, "owners": 0, "claims": 1} {
		var n int
		check(t, db.QueryRow("SELECT count(*) FROM "+table).Scan(&n))
		if n != want {
			t.Errorf("%d rows of %s are left", n, table)
		}
	}
}
