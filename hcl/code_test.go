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

// echoPin is a file of definitions.
const echoPin = `{
  "form": 1,
  "tools": [
    {
      "name": "echo",
      "inputSchema": {"type":"object"},
      "digest": "sha256:a85008edb2a361a39358ef9a40ccff45a3a4938fd90bb7d55450a050284e4723"
    }
  ]
}
`

// A program that an import has installed in a hidden directory, and the list of its packages, are part of the tool.
func TestInstalledProgramsAreCode(t *testing.T) {
	load := func(index, lock string) *Config {
		dir := files("a.hcl", `connection "mcp" "x" {
  command     = ["node", ".mcp/npm/node_modules/x/index.js"]
  definitions = "x.tools.json"
}
tool "t" {
  description = "T."
  mcp "x" { call = "echo" }
}
`)
		for name, content := range map[string]string{
			".mcp/npm/node_modules/x/index.js": index, ".mcp/npm/package-lock.json": lock, ".mcp/npm/package.json": "{}",
			"x.tools.json": echoPin,
		} {
			dir[name] = &fstest.MapFile{Data: []byte(content)}
		}
		c, diags := Load(dir, all.Set().Kinds(), Options{})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		return c
	}
	digest := func(c *Config) string { return c.Tools[0].Digest }
	first := digest(load("a", "{}"))
	if digest(load("a", "{}")) != first || digest(load("b", "{}")) == first || digest(load("a", "{ }")) == first {
		t.Error("the digest of the tool does not follow its program and the list of its packages")
	}
}
