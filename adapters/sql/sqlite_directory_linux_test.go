package sql

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mattn/go-sqlite3"

	"hatchel/adapters/adaptertest"
)

// directoryEnv is set in the child process that has no privileges: nothing is denied to the superuser.
const directoryEnv = "HATCHEL_TEST_DIRECTORY"

// TestDirectoryThatCannotBeWritten opens databases as they are on a read-only mount.
func TestDirectoryThatCannotBeWritten(t *testing.T) {
	if dir := os.Getenv(directoryEnv); dir != "" {
		openInDirectory(t, dir)
		return
	}
	made, dir := t.TempDir(), t.TempDir()
	source := filepath.Join(made, "a.db")
	copyFiles := func(to string, suffixes ...string) {
		for _, suffix := range suffixes {
			copyOver(t, source+suffix, filepath.Join(dir, to+suffix))
		}
	}
	makeSQLiteFile(t, source, "x", "DELETE")
	copyFiles("rollback.db", "")
	copyFiles("interrupted.db", "")
	must(t, os.Remove(source))
	makeSQLiteFile(t, source, "x", "WAL")
	copyFiles("wal.db", "")
	open, err := (&sqlite3.SQLiteDriver{}).Open("file:" + source)
	must(t, err)
	_, err = open.(*sqlite3.SQLiteConn).Exec("INSERT INTO t VALUES ('y')", nil)
	must(t, err)
	copyFiles("log.db", "", "-wal", "-shm")
	copyFiles("noindex.db", "", "-wal")
	must(t, open.Close())
	must(t, os.WriteFile(filepath.Join(dir, "interrupted.db-journal"), append([]byte("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"), make([]byte, 1024)...), 0o644))
	names, err := os.ReadDir(dir)
	must(t, err)
	for _, name := range names {
		must(t, os.Chmod(filepath.Join(dir, name.Name()), 0o644))
	}
	for _, d := range []string{filepath.Dir(dir), dir} {
		must(t, os.Chmod(d, 0o555))
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), directoryEnv+"="+dir)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
		t.Fatalf("%v\n%s", err, out)
	}
}

func openInDirectory(t *testing.T, dir string) {
	if os.Getuid() == 0 {
		const nobody = 65534
		must(t, syscall.Setresuid(nobody, nobody, nobody))
	}
	const needs = "give the user of the server write access to the directory"
	for _, c := range []struct{ name, mode, want string }{
		{"rollback.db", "ro", ""},
		{"log.db", "ro", ""},
		{"wal.db", "ro", "the file has a WAL as its journal, whose index SQLite keeps in the directory " + dir + " also to read"},
		{"noindex.db", "ro", "or run PRAGMA journal_mode = DELETE on the file where it is made"},
		{"wal.db", "rw", "the connection writes, but the directory " + dir + " cannot be written: " + needs + `, or write mode = "ro"`},
		{"interrupted.db", "ro", "a write to the file was interrupted, and undoing it needs to write in the directory " + dir},
	} {
		t.Run(c.name+" "+c.mode, func(t *testing.T) {
			b := adaptertest.Bind(t, adaptertest.Source{Set: testSet, HCL: `
connection "sqlite" "db" {
  file = "` + filepath.Join(dir, c.name) + `"
  mode = "` + c.mode + `"
}
tool "t" {
  description = "Reads."
  sql "db" { query = "SELECT a FROM t" }
}`})
			_, err := b.Do(t.Context(), `{}`)
			var causes strings.Builder
			for e := err; e != nil; e = errors.Unwrap(e) {
				_, _ = io.WriteString(&causes, e.Error()+"\n")
			}
			if c.want == "" && err != nil || !strings.Contains(causes.String(), c.want) {
				t.Errorf("%s", causes.String())
			}
		})
	}
}
