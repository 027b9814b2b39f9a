package main

import (
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

//go:embed testdata
var testdata embed.FS

// listedTool is a tool of the row "list", with verbs for its name and its description.
//
//go:embed testdata/list/tool.txt
var listedTool string

// loadedFile is one of the 1,000 files of the row "load": 40 lines, its number in every %[1]d.
//
//go:embed testdata/load/orders.txt
var loadedFile string

// listFile holds the bytes of a tools/list result, for the floor of that row.
const listFile = "list.json"

// makeFolder fills dir with the tool folder of one row.
func makeFolder(row, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	switch row {
	case "list":
		return writeListed(dir)
	case "load":
		return writeThousand(dir)
	case "stdio":
		row = "text"
	}
	files, err := fs.Sub(testdata, "testdata/"+row)
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, files); err != nil {
		return err
	}
	switch row {
	case "sqlite":
		return writeItems(filepath.Join(dir, "items.db"))
	case "big":
		return os.WriteFile(filepath.Join(dir, "page.txt"), []byte(pageText()), 0o644)
	}
	return nil
}

func writeItems(file string) error {
	db, err := sql.Open("sqlite3", "file:"+file)
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, statement := range []string{
		"PRAGMA journal_mode = WAL",
		"CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price INTEGER NOT NULL)",
		fmt.Sprintf("WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < %d) "+
			"INSERT INTO items SELECT id, 'Item number ' || id, id * 7 + 1 FROM n", itemCount),
		"PRAGMA wal_checkpoint(TRUNCATE)",
	} {
		if _, err := db.Exec(statement); err != nil {
			return err
		}
	}
	return nil
}

// writeListed writes the tools of the row "list" into one file.
func writeListed(dir string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "server { page_size = %d }\n", listedTools)
	for n := range listedTools {
		fmt.Fprintf(&b, listedTool, listedName(n), listedDescription(n))
	}
	return os.WriteFile(filepath.Join(dir, "tools.hcl"), []byte(b.String()), 0o644)
}

const loadedFiles = 1000

func loadedPath(dir string, n int) string {
	return filepath.Join(dir, fmt.Sprintf("group%02d", n/50), fmt.Sprintf("orders_%d.hcl", n))
}

func writeThousand(dir string) error {
	main := "connection \"http\" \"shop\" { base_url = \"http://127.0.0.1:9/api\" }\n"
	if err := os.WriteFile(filepath.Join(dir, "main.hcl"), []byte(main), 0o644); err != nil {
		return err
	}
	for n := range loadedFiles {
		file := loadedPath(dir, n)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, fmt.Appendf(nil, loadedFile, n), 0o644); err != nil {
			return err
		}
	}
	return nil
}
