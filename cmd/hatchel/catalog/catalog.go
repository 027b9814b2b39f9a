// Package catalog is the file .hatchel/schema.json of a configuration directory: the names of the tables and columns
// behind its connections, and their types. hatchel import schema writes it, and editors complete names in SQL from
// it. It has no data and no secrets. Loading a configuration ignores it, as everything in directories that begin with
// a dot.
package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"hatchel/internal/printable"
)

// FileName is the name of the file, relative to the configuration directory.
const FileName = ".hatchel/schema.json"

const (
	version = 1
	maxSize = 16 << 20
)

// Catalog is the content of the file.
type Catalog struct {
	Version int `json:"version"`
	// Connections are the databases by kind and name of their connection, such as "postgres.desk".
	Connections map[string]Database `json:"connections"`
}

// Database is what the last import found behind one connection.
type Database struct {
	Tables []Table `json:"tables"`
}

// Table is a table or a view that the connection may read.
type Table struct {
	Name string `json:"name"`
	// SQL is as statements name it, with schema and quotes; empty in the file if it is Name.
	SQL     string   `json:"sql,omitempty"`
	Columns []Column `json:"columns"`
}

// Column is a column of a table.
type Column struct {
	Name string `json:"name"`
	SQL  string `json:"sql,omitempty"` // as statements name it; empty in the file if it is Name
	Type string `json:"type"`          // as the database names it
}

// Read reads the file of a configuration directory, and nothing outside of it. A directory without the file has an
// empty catalog. The SQL of all tables and columns is set; names that cannot be written in a statement of a
// configuration are left out.
func Read(dir string) (*Catalog, error) {
	c := &Catalog{Version: version, Connections: map[string]Database{}}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(FileName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxSize:
		return nil, fmt.Errorf("%s is not a file of at most %d MiB", FileName, maxSize>>20)
	}
	f, err := root.Open(FileName)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, maxSize))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(src, c); err != nil {
		return nil, fmt.Errorf("%s is not valid: %w", FileName, err)
	}
	if c.Version != version {
		return nil, fmt.Errorf("%s has version %d, and this program reads version %d", FileName, c.Version, version)
	}
	for name, d := range c.Connections {
		c.Connections[name] = Database{usableTables(d.Tables)}
	}
	return c, nil
}

// Replace returns the content of the file of a directory after the tables of some connections were read again. What the
// file says of other connections is kept, unless it cannot be read.
func Replace(dir string, connections map[string][]Table) ([]byte, error) {
	c, err := Read(dir)
	if err != nil {
		c = &Catalog{Version: version}
	}
	if c.Connections == nil {
		c.Connections = map[string]Database{}
	}
	for name, tables := range connections {
		c.Connections[name] = Database{usableTables(tables)}
	}
	for _, d := range c.Connections {
		for i := range d.Tables {
			t := &d.Tables[i]
			t.SQL = omitSame(t.SQL, t.Name)
			for j := range t.Columns {
				t.Columns[j].SQL = omitSame(t.Columns[j].SQL, t.Columns[j].Name)
			}
		}
	}
	src, err := json.MarshalIndent(c, "", " ")
	return append(src, '\n'), err
}

func omitSame(text, name string) string {
	if text == name {
		return ""
	}
	return text
}

// usableTables returns copies of the tables and columns that a statement can name, with their SQL.
func usableTables(tables []Table) []Table {
	usable := []Table{}
	for _, t := range tables {
		columns := []Column{}
		for _, c := range t.Columns {
			if c.SQL == "" {
				c.SQL = c.Name
			}
			if isUsable(c.Name) && isUsable(c.SQL) {
				columns = append(columns, c)
			}
		}
		if t.SQL == "" {
			t.SQL = t.Name
		}
		if isUsable(t.Name) && isUsable(t.SQL) {
			usable = append(usable, Table{t.Name, t.SQL, columns})
		}
	}
	return usable
}

// isUsable reports whether a text is printable and begins no interpolation of a template.
func isUsable(text string) bool {
	return text != "" && !strings.Contains(text, "${") && !strings.Contains(text, "%{") &&
		!strings.ContainsFunc(text, func(r rune) bool { return r == utf8.RuneError || !printable.Is(r) })
}
