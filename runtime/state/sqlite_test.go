package state_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime"
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
	for _, name := range []string{"a", "b", "c"} {
		if !add(t, a, recordOf(name, time.Now())) || known(t, a, name) == nil || known(t, b, name) != nil {
			t.Errorf("%s is not in the one, or is in the other", name)
		}
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

func TestWhatCannotBeTheStoreIsRefused(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	check(t, os.WriteFile(at("text"), []byte(strings.Repeat("This is no database. ", 100)), 0o600))
	check(t, os.Mkdir(at("folder"), 0o700))
	write(t, at("other"), "CREATE TABLE t (x)")
	openFile(t, at("later")).Close()
	write(t, at("later"), "PRAGMA user_version = 99")
	openFile(t, at("early")).Close()
	write(t, at("early"), "PRAGMA user_version = 2")
	for name, want := range map[string]string{
		"text":      "no database",
		"folder":    "folder, not a file",
		"other":     "another program",
		"later":     "a later version",
		"early":     "an early version of this program has written it, in version 2 of its form, with which this one cannot go on: remove it",
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
			check(t, s.Present(ctx, name, time.Now().Add(time.Second)))
			add(t, s, &state.Record{Kind: "k", Name: name, Expires: time.Now().Add(time.Second)})
			pace(t, s, name)
		}
		time.Sleep(10 * time.Minute)
		add(t, s, &state.Record{Kind: "k", Name: "last", Expires: time.Now().Add(time.Hour), Quiet: true})
	})
	db, err := sql.Open("sqlite3", path)
	check(t, err)
	defer db.Close()
	for table, want := range map[string]int{"owners": 0, "records": 1, "paces": 0, "changes": 0} {
		var n int
		check(t, db.QueryRow("SELECT count(*) FROM "+table).Scan(&n))
		if n != want {
			t.Errorf("%d rows of %s are left", n, table)
		}
	}
}

func TestManyThatHaveExpiredAreSweptByOneCallAfterTheOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	openFile(t, path).Close()
	expire := func() {
		write(t, path, `WITH RECURSIVE some (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM some WHERE n < 25000)
			INSERT INTO records (kind, name, slot, grp, version, due, expires, body) SELECT 'old', n, '', '', 1, 0, n, x'' FROM some`)
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
	full.Bound(256 << 10) // less than what has expired takes
	if !add(t, full, recordOf("last", time.Now())) || left() != 4 {
		t.Errorf("%d are left", left())
	}
}

// pace counts an event that nobody waits for.
func pace(t *testing.T, s state.Store, name string) {
	t.Helper()
	if _, ok, err := s.Pace(context.WithoutCancel(t.Context()), name, state.Rhythm{Every: time.Millisecond, Burst: 1}, 0); err != nil || !ok {
		t.Errorf("got %v %v", ok, err)
	}
}

func TestAFileOfTheVersionBeforeIsGoneOnWith(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	write(t, path, `CREATE TABLE secrets (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
		CREATE TABLE claims (name TEXT PRIMARY KEY, expires INTEGER NOT NULL) WITHOUT ROWID;
		CREATE TABLE kept (name TEXT PRIMARY KEY, value BLOB NOT NULL, expires INTEGER NOT NULL);
		CREATE TABLE tasks (id TEXT PRIMARY KEY, version INTEGER NOT NULL, owner TEXT NOT NULL, expires INTEGER NOT NULL, body BLOB NOT NULL);
		CREATE TABLE owners (name TEXT PRIMARY KEY, expires INTEGER NOT NULL) WITHOUT ROWID;
		CREATE TABLE deeds (name TEXT PRIMARY KEY, owner TEXT NOT NULL, expires INTEGER NOT NULL, body BLOB NOT NULL) WITHOUT ROWID;
		CREATE TABLE records (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, slot TEXT NOT NULL, grp TEXT NOT NULL, version INTEGER NOT NULL,
			due INTEGER NOT NULL, expires INTEGER NOT NULL, body BLOB NOT NULL);
		CREATE UNIQUE INDEX records_named ON records (kind, name);
		CREATE UNIQUE INDEX records_held ON records (kind, slot) WHERE slot <> '';
		CREATE INDEX records_due ON records (kind, due, name);
		CREATE INDEX records_grouped ON records (kind, grp, due, name, expires);
		CREATE INDEX records_expire ON records (expires);
		CREATE TABLE paces (name TEXT PRIMARY KEY, next INTEGER NOT NULL, early INTEGER NOT NULL) WITHOUT ROWID;
		CREATE TABLE changes (id INTEGER PRIMARY KEY AUTOINCREMENT, origin TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, made INTEGER NOT NULL);
		INSERT INTO records VALUES (1, 'k', 'one', 'slot', '', 7, 5, 9999999999999, 'body');
		PRAGMA application_id = 1213484115; PRAGMA user_version = 3;`+former("", "x'", "'"))
	for range 2 {
		s := openFile(t, path)
		goneOnWith(t, s)
		check(t, s.Close())
	}
}

// Deeds of the version before had a name of their own in their bodies. What the second one came to is a text which no text of PostgreSQL can be, nor any of its JSON.
var (
	ownName    = strings.Repeat("1f", 32)
	formerDeed = `{"id":"` + ownName + `","of":"` + ownName + `","state":"done"}`
	zeroName   = strings.Repeat("0e", 32)
	zeroDeed   = `{"id":"` + zeroName + `","of":"` + ownName + `","state":"done","answer":{"value":"a\u0000\ud800` + "\xff" + `"}}`
)

// former fills the tables that there were beside records, whose names begin with a prefix; bytes are written in hexadecimal between two marks.
func former(prefix, before, after string) string {
	bytes := func(of string) string { return before + hex.EncodeToString([]byte(of)) + after }
	return strings.NewReplacer("#", prefix, "!", bytes("x"), "?", bytes(formerDeed), "&", bytes(zeroDeed)).Replace(`
		INSERT INTO #secrets VALUES ('seal', !);
		INSERT INTO #claims VALUES ('claimed', 9999999999999);
		INSERT INTO #kept VALUES ('kept', !, 9999999999999);
		INSERT INTO #tasks VALUES ('t', 5, 'me', 9999999999999, !);
		INSERT INTO #deeds VALUES ('key', 'me', 9999999999999, ?);
		INSERT INTO #deeds VALUES ('zero', '', 9999999999999, &);
		INSERT INTO #deeds VALUES ('odd', '', 9999999999999, !);`)
}

// goneOnWith looks for what former has written.
func goneOnWith(t *testing.T, s state.Store) {
	t.Helper()
	if secret := must[[]byte](t)(state.Secret(t.Context(), s)); string(secret) != "x" {
		t.Errorf("the secret is %q", secret)
	}
	for _, want := range []state.Record{
		{Kind: "used", Name: "claimed", Version: 1},
		{Kind: "frozen", Name: "kept", Version: 1, Body: []byte("x")},
		{Kind: "task", Name: "t", Version: 5, Owner: "me", Body: []byte("x")},
		{Kind: "deed", Name: ownName, Version: 1, Slot: "key", Owner: "me", Body: []byte(formerDeed)},
		{Kind: "deed", Name: zeroName, Version: 1, Slot: "zero", Body: []byte(zeroDeed)},
		{Kind: "deed", Name: "odd", Version: 1, Slot: "odd", Body: []byte("x")},
		{Kind: "k", Name: "one", Version: 7, Slot: "slot", Body: []byte("body")},
	} {
		got := must[*state.Record](t)(s.Record(t.Context(), want.Kind, want.Name))
		if got == nil || got.Version != want.Version || got.Slot != want.Slot || got.Owner != want.Owner || !bytes.Equal(got.Body, want.Body) || got.Expires.Year() < 2286 {
			t.Errorf("of the %s %s there is %+v", want.Kind, want.Name, got)
		}
	}
	if left := must[[]*state.Record](t)(s.List(t.Context(), state.Query{Kind: "task", Orphaned: true, Limit: 9})); len(left) != 1 {
		t.Errorf("%d tasks have no living owner", len(left))
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
		add(t, b, recordOf("a", time.Now()))
		time.Sleep(time.Hour) // while the one who is told at first does not listen
		add(t, b, recordOf("b", time.Now()))
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
		add(t, s, recordOf("a", time.Now()))
		time.Sleep(time.Hour)
		cancel()
		watching.Wait()
		if len(heard) != 0 {
			t.Errorf("heard %q", heard)
		}
	})
}
