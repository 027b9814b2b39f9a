package importer

import (
	"embed"
	"io/fs"
)

//go:embed prebuilt
var prebuilt embed.FS

// PrebuiltKinds are the kinds of databases that have a set of tools, for which nothing is known but the kind.
var PrebuiltKinds = []string{"postgres", "mysql", "sqlite"}

// Prebuilt returns the directory of a kind, with one file: a connection "db" that only reads, and the tools that use
// it.
func Prebuilt(kind string) (fs.FS, error) { return fs.Sub(prebuilt, "prebuilt/"+kind) }
