package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"hatchel/internal/sqlitefile"
)

// build is what a program was built from, and for.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`   // empty if it is not known
	Modified bool   `json:"modified,omitempty"` // by changes that the commit does not have
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	SQLite   bool   `json:"sqlite"` // the program has it
}

// readBuild returns the build of this program, whose version is given.
func readBuild(version string) build {
	b := build{
		Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		SQLite: sqlitefile.Included,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value[:min(12, len(s.Value))]
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// String returns the version with the Go version, the platform, the commit, and what the program lacks.
func (b build) String() string {
	commit := ""
	if b.Commit != "" {
		commit = ", commit " + b.Commit
	}
	if b.Modified {
		commit += ", modified"
	}
	without := ""
	if !b.SQLite {
		without = ", without SQLite"
	}
	return fmt.Sprintf("%s (%s, %s/%s%s%s)", b.Version, b.Go, b.OS, b.Arch, commit, without)
}
