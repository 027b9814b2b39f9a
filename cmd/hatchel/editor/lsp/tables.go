package lsp

import (
	"os"
	"path/filepath"
	"time"

	"hatchel/cmd/hatchel/catalog"
	"hatchel/cmd/hatchel/editor"
)

// catalogOf is what the file of hatchel import schema said when it was read last.
type catalogOf struct {
	changed time.Time
	size    int64
	tables  *editor.Tables
}

// tables returns the tables behind the connections of the folder; nil if no file says which there are. The file is
// read again when it has changed.
func (f *folder) tables() *editor.Tables {
	info, err := os.Stat(filepath.Join(f.dir, filepath.FromSlash(catalog.FileName)))
	if err != nil {
		return nil
	}
	if c := f.catalog; c.tables != nil && c.changed.Equal(info.ModTime()) && c.size == info.Size() {
		return c.tables
	}
	read, err := catalog.Read(f.dir)
	if err != nil {
		f.server.opts.Log.Warn("tables not read", "dir", f.dir, "error", err)
		read = &catalog.Catalog{}
	}
	all := editor.Tables{}
	for name, database := range read.Connections {
		for _, t := range database.Tables {
			table := editor.Table{Name: t.SQL}
			for _, c := range t.Columns {
				table.Columns = append(table.Columns, editor.Column{Name: c.SQL, Type: c.Type})
			}
			all[name] = append(all[name], table)
		}
	}
	f.catalog = catalogOf{info.ModTime(), info.Size(), &all}
	return &all
}
