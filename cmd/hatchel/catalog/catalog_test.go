package catalog

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func writeCatalog(t *testing.T, dir string, src []byte) {
	t.Helper()
	name := filepath.Join(dir, FileName)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, src, 0o600); err != nil {
		t.Fatal(err)
	}
}

func replace(t *testing.T, dir, connection string, tables []Table) []byte {
	t.Helper()
	src, err := Replace(dir, map[string][]Table{connection: tables})
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func TestADirectoryWithoutTheFileHasAnEmptyCatalog(t *testing.T) {
	c, err := Read(t.TempDir())
	if err != nil || len(c.Connections) != 0 {
		t.Errorf("got %v, %v", c, err)
	}
}

func TestTablesAreReadAsTheyWereWritten(t *testing.T) {
	dir := t.TempDir()
	desk := []Table{{"Order", `"Order"`, []Column{{"id", "id", "bigint"}, {"a b", `"a b"`, "text"}}}}
	writeCatalog(t, dir, replace(t, dir, "postgres.desk", desk))
	ledger := []Table{{"rows", "sales.rows", []Column{}}}
	src := replace(t, dir, "mysql.ledger", ledger)
	writeCatalog(t, dir, src)
	if again := replace(t, dir, "mysql.ledger", ledger); string(again) != string(src) {
		t.Errorf("the same tables give other bytes:\n%s\n%s", src, again)
	}
	c, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Database{"postgres.desk": {desk}, "mysql.ledger": {ledger}}
	if !reflect.DeepEqual(c.Connections, want) {
		t.Errorf("got %v, want %v\n%s", c.Connections, want, src)
	}
}

func TestNamesThatAStatementCannotHaveAreLeftOut(t *testing.T) {
	dir := t.TempDir()
	writeCatalog(t, dir, []byte(`{"version": 1, "connections": {"sqlite.db": {"tables": [
		{"name": "a${secret.x}"}, {"name": "a", "sql": "a; \u202e"}, {"name": ""},
		{"name": "ok", "columns": [{"name": "x\ny"}, {"name": "%{if"}, {"name": "n"}]}]}}}`))
	c, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []Table{{"ok", "ok", []Column{{"n", "n", ""}}}}
	if got := c.Connections["sqlite.db"].Tables; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAFileOfSomebodyElseIsRefusedOrReplaced(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "other.json")
	if err := os.WriteFile(outside, []byte(`{"version": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, make := range map[string]func(t *testing.T, dir string){
		"no JSON":       func(t *testing.T, dir string) { writeCatalog(t, dir, []byte("tables")) },
		"a new version": func(t *testing.T, dir string) { writeCatalog(t, dir, []byte(`{"version": 2}`)) },
		"a directory": func(t *testing.T, dir string) {
			if err := os.MkdirAll(filepath.Join(dir, FileName), 0o700); err != nil {
				t.Fatal(err)
			}
		},
		"a link to another directory": func(t *testing.T, dir string) {
			writeCatalog(t, dir, nil)
			name := filepath.Join(dir, FileName)
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(outside, name); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			make(t, dir)
			if c, err := Read(dir); err == nil {
				t.Errorf("it was read: %v", c)
			}
			if src := replace(t, dir, "sqlite.db", []Table{{Name: "a"}}); !strings.Contains(string(src), "sqlite.db") {
				t.Errorf("got %s", src)
			}
		})
	}
}
