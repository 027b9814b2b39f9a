// Package sqlitefile tells whether the files of an open SQLite database are still those at its path. SQLite itself
// does not notice that something else than SQLite has replaced, removed or overwritten them.
//
// SQLite is a library in C. A program that was built without cgo does not have it, and this package says so.
package sqlitefile

import "hatchel/internal/operator"

// ErrNotIncluded is the reason of a program without SQLite, and how to build one that has it.
var ErrNotIncluded error = operator.Error("this program was built without cgo and has no SQLite; with a C compiler, " +
	`"go install ./cmd/hatchel" in a checkout of Hatchel builds one that has it`)
