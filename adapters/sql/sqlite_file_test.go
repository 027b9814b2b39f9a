package sql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mattn/go-sqlite3"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
)

// makeSQLiteFile makes a database with one row that names it, by the same statements as every other one.
func makeSQLiteFile(t testing.TB, path, name, journal string) {
	t.Helper()
	execSQLite(t, path, "PRAGMA journal_mode = "+journal, "CREATE TABLE t (a TEXT)", "INSERT INTO t VALUES ('"+name+"')")
}

func execSQLite(t testing.TB, path string, texts ...string) {
	t.Helper()
	conn, err := (&sqlite3.SQLiteDriver{}).Open("file:" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, text := range texts {
		if _, err := conn.(*sqlite3.SQLiteConn).Exec(text, nil); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

// copyOver overwrites a file in place, as cp does.
func copyOver(t testing.TB, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// replacedFile is a database in a directory of its own, with tools that read and write it.
type replacedFile struct {
	dir, path   string
	read, write *adaptertest.BoundTool
}

func openReplaced(t testing.TB, journal, mode string) *replacedFile {
	t.Helper()
	r := &replacedFile{dir: t.TempDir()}
	must(t, os.Mkdir(filepath.Join(r.dir, "data"), 0o700))
	r.path = filepath.Join(r.dir, "data", "shop.db")
	makeSQLiteFile(t, r.path, "old", journal)
	makeSQLiteFile(t, r.new(), "new", journal)
	bind := func(body string) *adaptertest.BoundTool {
		return adaptertest.Bind(t, adaptertest.Source{Set: testSet, Dir: r.dir, HCL: fmt.Sprintf(`
connection "sqlite" "shop" {
  file = "data/shop.db"
  mode = %q
  busy_timeout = "200ms"
}
tool "t" {
  description = "A tool."
  sql "shop" { %s }
}`, mode, body)})
	}
	r.read = bind(`query = "SELECT group_concat(a) AS a FROM t"`)
	if mode == "rw" {
		r.write = bind(`exec = "INSERT INTO t VALUES ('w')"`)
	}
	return r
}

func (r *replacedFile) new() string { return filepath.Join(r.dir, "new.db") }

// sqliteContent returns the names and the number of writes in a file, as another process sees them.
func sqliteContent(t testing.TB, path string) (names string, writes int) {
	t.Helper()
	seen := filepath.Join(t.TempDir(), "seen.db") // a copy, because the connections of a process share the index of a WAL
	for _, suffix := range []string{"", "-wal"} {
		if _, err := os.Stat(path + suffix); err == nil {
			copyOver(t, path+suffix, seen+suffix)
		}
	}
	conn, err := (&sqlite3.SQLiteDriver{}).Open("file:" + seen)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	rows, err := queryMemory(t.Context(), conn.(*sqlite3.SQLiteConn),
		"SELECT (SELECT group_concat(a) FROM t WHERE a <> 'w') AS a, (SELECT count(*) FROM t WHERE a = 'w') AS n, "+
			"(SELECT group_concat(integrity_check) FROM pragma_integrity_check) AS i")
	if err != nil {
		t.Fatal(err)
	}
	if rows[0]["i"] != "ok" {
		t.Errorf("%s is damaged: %v", path, rows[0]["i"])
	}
	return fmt.Sprint(rows[0]["a"]), rows[0]["n"].(int)
}

// replacements replace the file at the path by the new one.
var replacements = map[string]func(testing.TB, *replacedFile){
	"mv": func(t testing.TB, r *replacedFile) { must(t, os.Rename(r.new(), r.path)) },
	"cp": func(t testing.TB, r *replacedFile) { copyOver(t, r.new(), r.path) },
	"rm and cp": func(t testing.TB, r *replacedFile) {
		must(t, os.Remove(r.path))
		copyOver(t, r.new(), r.path)
	},
	"rm of the WAL and cp": func(t testing.TB, r *replacedFile) {
		os.Remove(r.path + "-wal")
		os.Remove(r.path + "-shm")
		copyOver(t, r.new(), r.path)
	},
	"rm of all and mv": func(t testing.TB, r *replacedFile) {
		os.Remove(r.path + "-wal")
		os.Remove(r.path + "-shm")
		must(t, os.Rename(r.new(), r.path))
	},
	"mv of the directory": func(t testing.TB, r *replacedFile) {
		must(t, os.Rename(filepath.Join(r.dir, "data"), filepath.Join(r.dir, "former")))
		must(t, os.Mkdir(filepath.Join(r.dir, "data"), 0o700))
		must(t, os.Rename(r.new(), r.path))
	},
	"a symbolic link": func(t testing.TB, r *replacedFile) {
		must(t, os.Symlink(r.new(), r.path+".link"))
		must(t, os.Rename(r.path+".link", r.path))
	},
	"the times of the old one": func(t testing.TB, r *replacedFile) {
		info, err := os.Stat(r.path)
		must(t, err)
		copyOver(t, r.new(), r.path)
		must(t, os.Chtimes(r.path, info.ModTime().Add(-time.Hour), info.ModTime().Add(-time.Hour)))
	},
}

func TestReplacedSQLiteFileIsOpenedAgain(t *testing.T) {
	for _, journal := range []string{"WAL", "DELETE"} {
		for _, mode := range []string{"rw", "ro"} {
			for name, replace := range replacements {
				t.Run(journal+" "+mode+" "+name, func(t *testing.T) {
					r := openReplaced(t, journal, mode)
					want := oneRow(`{"a":"old"}`)
					if mode == "rw" {
						mustCall(t, r.write, `{}`)
						want = oneRow(`{"a":"old,w"}`)
					}
					wantEqual(t, mustCall(t, r.read, `{}`), want)
					if mode == "rw" {
						emptyLog(r.write)
					}
					replace(t, r)
					wantEqual(t, mustCall(t, r.read, `{}`), oneRow(`{"a":"new"}`))
					if mode == "rw" {
						mustCall(t, r.write, `{}`)
						wantEqual(t, mustCall(t, r.read, `{}`), oneRow(`{"a":"new,w"}`))
						must(t, r.write.Close())
					}
					must(t, r.read.Handle("shop").(adapters.Health).Ping(t.Context()))
					must(t, r.read.Close())
					if names, writes := sqliteContent(t, r.path); names != "new" || mode == "rw" && writes != 1 {
						t.Errorf("the file has %s and %d writes", names, writes)
					}
				})
			}
		}
	}
}

// emptyLog does what is done when nothing is written for a moment.
func emptyLog(b *adaptertest.BoundTool) {
	share := b.Handle("shop").(*sqliteDatabase).share
	share.current.Load().EmptyLog(share.checkpoint)
}

// What is pending in the WAL of a file that is replaced is neither mixed with the new content nor lost without words.
func TestPendingChangesAreNotMixedWithAReplacedFile(t *testing.T) {
	for name, replace := range replacements {
		t.Run(name, func(t *testing.T) {
			r := openReplaced(t, "WAL", "rw")
			mustCall(t, r.write, `{}`)
			db := r.write.Handle("shop").(*sqliteDatabase)
			db.share.checkpoint.Stop()
			replace(t, r)
			for range 3 {
				out, err := r.read.Do(t.Context(), `{}`)
				if err != nil {
					continue
				}
				row := jsonOf(t, out["row"])
				if row != `{"a":"new"}` {
					t.Errorf("read %s", row)
				}
			}
			written := 0
			if _, err := r.write.Do(t.Context(), `{}`); err == nil {
				written++
			} else if ping := db.Ping(t.Context()); ping == nil {
				t.Errorf("the write failed with %v, and the database is healthy", err)
			}
			must(t, r.write.Close())
			must(t, r.read.Close())
			if names, writes := sqliteContent(t, r.path); names != "new" || writes != written {
				t.Errorf("the file has %s and %d writes, and %d were answered", names, writes, written)
			}
		})
	}
}

func jsonOf(t testing.TB, v any) string {
	t.Helper()
	lazy, ok := v.(interface{ AppendJSON([]byte) []byte })
	if !ok {
		return fmt.Sprint(v)
	}
	return string(lazy.AppendJSON(nil))
}

func TestRemovedSQLiteFileIsAnError(t *testing.T) {
	for _, journal := range []string{"WAL", "DELETE"} {
		for name, remove := range map[string]func(*replacedFile) error{
			"rm":                  func(r *replacedFile) error { return os.Remove(r.path) },
			"mv":                  func(r *replacedFile) error { return os.Rename(r.path, r.path+".old") },
			"rm of the directory": func(r *replacedFile) error { return os.RemoveAll(filepath.Dir(r.path)) },
		} {
			t.Run(journal+" "+name, func(t *testing.T) {
				r := openReplaced(t, journal, "rw")
				mustCall(t, r.write, `{}`)
				mustCall(t, r.read, `{}`)
				must(t, remove(r))
				for range 2 {
					mustFail(t, r.write, `{}`)
					mustFail(t, r.read, `{}`)
				}
				if err := r.write.Handle("shop").(adapters.Health).Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "was removed while it was in use") {
					t.Errorf("Ping returned %v", err)
				}
				if _, err := os.Stat(r.path); err == nil {
					t.Error("an empty file was created")
				}
				must(t, os.MkdirAll(filepath.Dir(r.path), 0o700))
				must(t, os.Rename(r.new(), r.path))
				mustCall(t, r.write, `{}`)
				wantEqual(t, mustCall(t, r.read, `{}`), oneRow(`{"a":"new,w"}`))
			})
		}
	}
}

func TestDeletedWALLosesNothing(t *testing.T) {
	for name, remove := range map[string][]string{"WAL": {"-wal"}, "its index": {"-shm"}, "both": {"-wal", "-shm"}} {
		t.Run(name, func(t *testing.T) {
			r := openReplaced(t, "WAL", "rw")
			for n := range 20 {
				mustCall(t, r.write, `{}`)
				if n%3 == 2 {
					mustCall(t, r.read, `{}`)
				}
				for _, suffix := range remove {
					os.Remove(r.path + suffix)
				}
			}
			must(t, r.write.Close())
			must(t, r.read.Close())
			if names, writes := sqliteContent(t, r.path); names != "old" || writes != 20 {
				t.Errorf("the file has %s and %d of 20 writes", names, writes)
			}
		})
	}
}

// replacesOverAndOver are ways to put a file at a path, which keep the former one or not.
var replacesOverAndOver = map[string]struct {
	replace func(next, path, kept string) error
	keeps   bool
}{
	"mv away and mv": {func(next, path, kept string) error {
		if err := os.Rename(path, kept); err != nil {
			return err
		}
		return os.Rename(next, path)
	}, true},
	"mv": {func(next, path, _ string) error { return os.Rename(next, path) }, false},
	"rm of the WAL and mv": {func(next, path, _ string) error {
		os.Remove(path + "-wal")
		return os.Rename(next, path)
	}, false},
}

// Calls run while the file is replaced again and again. Each answered write is in one of the files, and no read sees
// two of them.
func TestSQLiteFileIsReplacedWhileCallsRun(t *testing.T) {
	for _, journal := range []string{"WAL", "DELETE"} {
		for _, mode := range []string{"rw", "ro"} {
			for name, way := range replacesOverAndOver {
				t.Run(journal+"/"+mode+"/"+name, func(t *testing.T) {
					r := openReplaced(t, journal, mode)
					must(t, os.Rename(r.new(), filepath.Join(r.dir, "template.db")))
					ctx, cancel := context.WithCancel(t.Context())
					var calls sync.WaitGroup
					var answered, reads atomic.Int64
					progress := make(chan struct{}, 1)
					note := func(n *atomic.Int64, wanted string) {
						if n.Add(1); mode != wanted {
							return
						}
						select {
						case progress <- struct{}{}:
						default:
						}
					}
					for range 2 {
						calls.Go(func() {
							for ctx.Err() == nil && mode == "rw" {
								if _, err := r.write.Do(t.Context(), `{}`); err == nil {
									note(&answered, "rw")
								}
							}
						})
						calls.Go(func() {
							for ctx.Err() == nil {
								out, err := r.read.Do(t.Context(), `{}`)
								if err != nil {
									continue
								}
								note(&reads, "ro")
								row := strings.ReplaceAll(jsonOf(t, out["row"]), ",w", "")
								if row != `{"a":"old"}` && row != `{"a":"new"}` {
									t.Errorf("read %s", row)
								}
							}
						})
					}
					const files = 30
					for n := range files {
						select {
						case <-progress:
						case <-time.After(100 * time.Millisecond):
						}
						next := filepath.Join(r.dir, "next.db")
						copyOver(t, filepath.Join(r.dir, "template.db"), next)
						must(t, way.replace(next, r.path, filepath.Join(r.dir, fmt.Sprintf("kept%d.db", n))))
					}
					cancel()
					calls.Wait()
					mustCall(t, r.read, `{}`)
					if mode == "rw" {
						must(t, r.write.Close())
					}
					must(t, r.read.Close())
					if reads.Load() == 0 || mode == "rw" && answered.Load() == 0 {
						t.Errorf("%d reads and %d writes were answered", reads.Load(), answered.Load())
					}
					if !way.keeps {
						return
					}
					_, found := sqliteContent(t, r.path)
					for n := range files {
						_, writes := sqliteContent(t, filepath.Join(r.dir, fmt.Sprintf("kept%d.db", n)))
						found += writes
					}
					if int64(found) < answered.Load() {
						t.Errorf("%d writes were answered, and the files have %d", answered.Load(), found)
					}
				})
			}
		}
	}
}

// The connections of two blocks share an index if one of their paths is a link to the other.
func TestReplacedSQLiteFileWithTwoPaths(t *testing.T) {
	for _, mode := range []string{"rw", "ro"} {
		t.Run(mode, func(t *testing.T) {
			r := openReplaced(t, "WAL", mode)
			must(t, os.Symlink("shop.db", filepath.Join(r.dir, "data", "link.db")))
			linked := adaptertest.Bind(t, adaptertest.Source{Set: testSet, Dir: r.dir, HCL: fmt.Sprintf(`
connection "sqlite" "linked" {
  file = "data/link.db"
  mode = %q
}
tool "t" {
  description = "A tool."
  sql "linked" { query = "SELECT group_concat(a) AS a FROM t" }
}`, mode)})
			for range 2 {
				mustCall(t, r.read, `{}`)
				mustCall(t, linked, `{}`)
			}
			must(t, os.Rename(r.new(), r.path))
			_, _ = r.read.Do(t.Context(), `{}`) // it may be refused while the connections of the other block are open
			want := oneRow(`{"a":"new"}`)
			for range 2 {
				wantEqual(t, mustCall(t, linked, `{}`), want)
				wantEqual(t, mustCall(t, r.read, `{}`), want)
			}
		})
	}
}

// A program that uses SQLite may write, check point and vacuum the same file.
func TestOtherSQLiteProgramsShareTheFile(t *testing.T) {
	for _, journal := range []string{"WAL", "DELETE"} {
		t.Run(journal, func(t *testing.T) {
			r := openReplaced(t, journal, "rw")
			for range 20 {
				mustCall(t, r.write, `{}`)
				mustCall(t, r.read, `{}`)
				execSQLite(t, r.path, "PRAGMA busy_timeout = 5000", "INSERT INTO t VALUES ('w')", "PRAGMA wal_checkpoint(PASSIVE)",
					"INSERT INTO t VALUES ('w')", "VACUUM")
			}
			wantEqual(t, mustCall(t, r.read, `{}`), oneRow(`{"a":"old`+strings.Repeat(",w", 60)+`"}`))
		})
	}
}

func TestSQLiteFileKeepsItsJournalMode(t *testing.T) {
	for _, journal := range []string{"wal", "delete", "truncate", "persist"} {
		t.Run(journal, func(t *testing.T) {
			want := journal
			if journal == "truncate" || journal == "persist" {
				want = "delete" // SQLite does not store these
			}
			r := openReplaced(t, journal, "rw")
			mustCall(t, r.read, `{}`)
			mustCall(t, r.write, `{}`)
			must(t, r.write.Close())
			must(t, r.read.Close())
			conn, err := (&sqlite3.SQLiteDriver{}).Open("file:" + r.path)
			must(t, err)
			rows, err := queryMemory(t.Context(), conn.(*sqlite3.SQLiteConn), "PRAGMA journal_mode")
			must(t, err)
			must(t, conn.Close())
			if got := rows[0]["journal_mode"]; got != want {
				t.Errorf("it is %v now", got)
			}
		})
	}
}

func TestReadingASQLiteFileLeavesNothingBehind(t *testing.T) {
	for _, journal := range []string{"WAL", "DELETE"} {
		t.Run(journal, func(t *testing.T) {
			r := openReplaced(t, journal, "ro")
			before, err := os.ReadFile(r.path)
			must(t, err)
			mustCall(t, r.read, `{}`)
			must(t, r.read.Close())
			after, err := os.ReadFile(r.path)
			must(t, err)
			if string(before) != string(after) {
				t.Error("the file was changed")
			}
			names, err := filepath.Glob(r.path + "*")
			if must(t, err); len(names) != 1 {
				t.Errorf("there are %v", names)
			}
		})
	}
}

// A statement of one caller must not change what those of the next one mean.
func TestStatementsLeaveNothingInTheSessionOfTheWriter(t *testing.T) {
	for _, text := range []string{
		"PRAGMA ignore_check_constraints = 1", "PRAGMA foreign_keys = 0", "PRAGMA recursive_triggers = 1", "PRAGMA writable_schema = 1",
		"CREATE TEMP TABLE items (id, name, price)", "CREATE TEMP VIEW items AS SELECT 1 AS id", "PRAGMA query_only = 1",
		"PRAGMA busy_timeout = 0", "PRAGMA wal_autocheckpoint = 1", "PRAGMA case_sensitive_like = 1",
	} {
		t.Run(text, func(t *testing.T) {
			s := sqliteSource(t, "", `exec = "INSERT INTO parts VALUES (1, 'A' LIKE 'a') RETURNING (SELECT name FROM items WHERE id = 1) AS a, n, (SELECT count(*) FROM sqlite_temp_master) AS t"`)
			next := adaptertest.Bind(t, s)
			mustCall(t, next, `{}`)
			db := next.Handle("shop").(database)
			for _, broken := range []string{text, "INSERT INTO parts VALUES (99, 1)", "UPDATE items SET price = -1"} {
				err := db.write(t.Context(), identity{}, func(tx transaction) error {
					return tx.run(t.Context(), &execution{text: broken, result: &resultSet{maxRows: 1}})
				})
				if broken != text && err == nil {
					t.Errorf("%s is accepted", broken)
				}
			}
			wantEqual(t, mustCall(t, next, `{}`), `{"affected":1,"last_id":2,"row":{"a":"pen","n":1,"t":0},"rows":[{"a":"pen","n":1,"t":0}],"truncated":false}`)
		})
	}
}

func TestBrokenSQLiteFileIsAnError(t *testing.T) {
	r := openReplaced(t, "WAL", "rw")
	mustCall(t, r.read, `{}`)
	must(t, os.WriteFile(r.path, []byte(strings.Repeat("no database ", 1000)), 0o600))
	mustFail(t, r.read, `{}`)
	mustFail(t, r.write, `{}`)
	if err := r.read.Handle("shop").(adapters.Health).Ping(t.Context()); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("Ping returned %v", err)
	}
}
