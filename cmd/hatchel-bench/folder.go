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

// itemsSQL creates the table that the row "sqlite" reads.
//
//go:embed testdata/sqlite/items.sql
var itemsSQL string

// listedTool is a tool of the row "list", with verbs for its name and its description.
//
//go:embed testdata/list/tool.txt
var listedTool string

// loadedFile is one of the 1,000 files of the row "load": 40 lines, its number in every %[1]d.
//
//go:embed testdata/load/orders.txt
var loadedFile string

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
		db, err := sql.Open("sqlite3", "file:"+filepath.Join(dir, "items.db"))
		if err != nil {
			return err
		}
		defer db.Close()
		_, err = db.Exec(itemsSQL)
		return err
	case "big":
		return os.WriteFile(filepath.Join(dir, "page.txt"), []byte(pageText()), 0o644)
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
