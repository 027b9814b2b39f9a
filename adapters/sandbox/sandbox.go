// Package sandbox confines programs: what they read, write, call and use is limited by the kernel.
//
// A [Sandbox] holds the rules of one configuration block. Each call acquires a [Workspace], starts its programs in it,
// and releases it. The mechanisms, all of which hold before the first instruction of a program:
//
//   - Landlock rules for files (landlock_linux.go),
//   - a seccomp filter for system calls that Landlock does not know (filter_linux.go, deny_rules_linux.go),
//   - resource limits, a session of its own, a lower priority and few capabilities (spawn_linux.c),
//   - limits on what the programs of a call use together (scanner_linux.go),
//   - changes of modes, groups and times by the server on the program's behalf (package supervisor).
//
// A program is never started with less. Only Linux with cgo is supported; elsewhere [New] returns an
// [UnsupportedError].
package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Policy says what the programs of a sandbox may do, in addition to reading the files of the system and writing to the
// temporary directory of their call. All paths are absolute.
type Policy struct {
	Read    []string // files and directories that may be read, and programs in them run
	Write   []string // files and directories that may be read and written
	Dirs    []string // working directories, which may be read unless they contain Config
	Config  string   // the configuration directory, which is not readable as a part of the system, Path or Dirs
	Files   []string // paths below Config, relative to it, of regular files that may be read and run, if they exist
	Path    string   // the PATH of the server, whose directories may be read
	Network bool     // sockets of all kinds
	Modes   bool     // modes, groups and times of all files that the server's user owns

	Memory    int64         // in bytes, for each process and for all together; 0: no limit
	CPU       time.Duration // for each process and for all together; 0: no limit
	CPUShare  float64       // cores, for all together and on average over CPUSharePeriod; 0: no limit
	OpenFiles int           // for each process
	FileSize  int64         // in bytes, for each written file
	Processes int           // at the same time
}

// ABI is a version of Landlock, as numbered by the kernel; 0 means that there is none.
type ABI int

// UnsupportedError says, in sentences for the author of a configuration, why this system cannot confine programs as
// the policy demands.
type UnsupportedError struct{ Reason string }

func (e *UnsupportedError) Error() string { return e.Reason }

// StartError reports that a program could not be confined and was not started.
type StartError struct{ Err error }

func (e *StartError) Error() string { return "confining the program: " + e.Err.Error() }
func (e *StartError) Unwrap() error { return e.Err }

// Resource is what a LimitError is about.
type Resource string

// The resources that the programs of a call use together.
const (
	Processes Resource = "processes"
	Threads   Resource = "threads"
	CPU       Resource = "CPU time"
	CPUShare  Resource = "CPU share"
	Memory    Resource = "memory"
)

// LimitError reports that the programs of a call have together used more of a resource than they may.
type LimitError struct {
	Resource Resource
	Limit    int64 // a number, nanoseconds of CPU time, also in a CPUSharePeriod, or bytes of memory
}

func (e *LimitError) Error() string { return "limit exceeded: " + string(e.Resource) }

// CPUSharePeriod is over which time the programs of a workspace may have a share of CPU time.
const CPUSharePeriod = 10 * time.Second

// unkillableAfter is how long the kernel may take to end a process that was killed.
const unkillableAfter = time.Second

// splitPath returns the absolute directories of a PATH.
func splitPath(path string) (dirs []string) {
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) && filepath.Clean(dir) != "/" {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// isWithin reports whether a path is one of some directories or below one, judged by its name.
func isWithin(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
	})
}
