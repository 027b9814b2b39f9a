//go:build cgo && unix

package sqlitefile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/mattn/go-sqlite3"
)

func connect(path, mode string) (*sqlite3.SQLiteConn, error) {
	return Connect(&sqlite3.SQLiteDriver{}, URI(path)+"?mode="+mode)
}

// makeDatabase makes a database in WAL mode that uses more of an index than its header.
func makeDatabase(t *testing.T, path string) {
	t.Helper()
	c, err := connect(path, "rwc")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	exec(t, c, "PRAGMA journal_mode = WAL", "CREATE TABLE t (a TEXT)", "INSERT INTO t VALUES ('a')")
}

func exec(t *testing.T, c *sqlite3.SQLiteConn, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if _, err := c.Exec(text, nil); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

// A connection to the new file would truncate the index that the connection to the former one has mapped, which ends
// the process when the latter reads again.
func TestFilesOfOnePathDoNotShareAnIndex(t *testing.T) {
	for _, mode := range []string{"rw", "ro"} {
		t.Run(mode, func(t *testing.T) {
			dir := t.TempDir()
			path, next := filepath.Join(dir, "a.db"), filepath.Join(dir, "next.db")
			makeDatabase(t, path)
			makeDatabase(t, next)
			former, err := connect(path, "rw")
			if err != nil {
				t.Fatal(err)
			}
			exec(t, former, "INSERT INTO t VALUES ('b')")
			second, err := connect(path, mode)
			if err != nil {
				t.Fatalf("a connection to the same file is refused: %v", err)
			}
			if err := os.Rename(next, path); err != nil {
				t.Fatal(err)
			}
			if _, err := connect(path, mode); !errors.Is(err, ErrReplaced) {
				t.Errorf("got %v", err)
			}
			exec(t, former, "INSERT INTO t VALUES ('c')", "SELECT * FROM t", "PRAGMA wal_checkpoint(TRUNCATE)")
			exec(t, second, "SELECT * FROM t")
			if err := errors.Join(second.Close(), former.Close()); err != nil {
				t.Fatal(err)
			}
			again, err := connect(path, mode)
			if err != nil {
				t.Fatalf("no connection has the former file, and the new one is refused: %v", err)
			}
			exec(t, again, "SELECT * FROM t")
			if err := again.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
