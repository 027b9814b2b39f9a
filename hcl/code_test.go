package hcl_test

import (
	"io/fs"
	"maps"
	"slices"
	"testing"
	"testing/fstest"

	"hatchel/adapters/all"
	. "hatchel/hcl"
)

// listedFiles is a directory that remembers which of its files were left out of a listing.
type listedFiles struct {
	fstest.MapFS
	ignored map[string]bool
}

func (l *listedFiles) List(dir string, ignore func(fs.DirEntry) bool) ([]fs.DirEntry, error) {
	list, err := l.ReadDir(dir)
	return slices.DeleteFunc(list, func(e fs.DirEntry) bool {
		if ignore(e) {
			l.ignored[e.Name()] = true
		}
		return ignore(e)
	}), err
}

// A database that is opened, or a log that begins, beside the files of programs is no other configuration.
func TestTheSearchForCodeLeavesOutData(t *testing.T) {
	data := []string{"notes.db", "notes.db-wal", "notes.db-shm", "notes.db-journal", "n.sqlite", "n.sqlite3-wal", "app.log", "a.jsonl", ".git"}
	dir := &listedFiles{files("a.hcl", "tool \"t\" {\n  description = \"T.\"\n  shell { command = [\"sh\", \"report.sh\"] }\n}\n"), map[string]bool{}}
	for _, name := range append(data, "report.sh", "table.csv", "old.db/part.sh", "db-wal") {
		dir.MapFS[name] = &fstest.MapFile{Data: []byte("x")}
	}
	if _, diags := Load(dir, all.Set().Kinds(), Options{}); diags.HasErrors() {
		t.Fatal(diags)
	}
	slices.Sort(data)
	if got := slices.Sorted(maps.Keys(dir.ignored)); !slices.Equal(got, data) {
		t.Errorf("left out are %q, not %q", got, data)
	}
}
