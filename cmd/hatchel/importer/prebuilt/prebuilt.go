// Package prebuilt holds sets of tools for databases of which nothing is known but their kind.
package prebuilt

import (
	"embed"
	"io/fs"
)

//go:embed postgres mysql sqlite
var sets embed.FS

// Kinds are the kinds of databases.
var Kinds = []string{"postgres", "mysql", "sqlite"}

// Files returns the directory of a kind, with one file: a connection "db" that only reads, and the tools that use it.
func Files(kind string) (fs.FS, error) { return fs.Sub(sets, kind) }
