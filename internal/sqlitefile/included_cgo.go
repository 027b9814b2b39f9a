//go:build cgo

package sqlitefile

// Included reports whether the program has SQLite.
const Included = true
