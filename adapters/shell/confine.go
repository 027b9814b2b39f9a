package shell

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// A confinement is what the programs of one block may do. It is safe for concurrent use.
type confinement struct {
	reads, writes []string // absolute
	toRead        []place  // reads but those of the system
	toWrite       []place  // writes
	writable      []string // writes, without links
	granted       []string // those of reads that a sandbox block names
	path          string   // the PATH whose folders are among reads
	network       bool
	modes         bool
	memory        int64         // bytes; 0: no limit
	cpu           time.Duration // 0: no limit
	files         int
	fileSize      int64 // bytes
	processes     int
	landlock      version
	filter        filter

	mu     sync.Mutex
	idle   []*cell // guarded by mu
	closed bool    // guarded by mu
}

// A version is one of Landlock, by the number that the kernel gives it; 0 is none.
type version int

// newConfinement is the confinement of a block, which is to be prepared, or nil when nothing confines it. The block's own sandbox stands for all of the connection's.
func newConfinement(b *block, conn *connection, folder, path string) *confinement {
	s := b.Sandbox
	if s == nil {
		s = conn.Sandbox
	}
	if s == nil {
		s = newSandbox()
	}
	if s.Mode == unconfined {
		return nil
	}
	c := &confinement{network: s.Network, modes: s.Modes, memory: int64(s.Memory), cpu: s.CPU, files: s.Files, fileSize: int64(s.FileSize), processes: s.Processes, path: path}
	c.reads = append(c.reads, folder)
	if conn.Dir != "" {
		c.reads = append(c.reads, below(folder, conn.Dir))
	}
	if b.Dir != nil {
		if dir, known := b.Dir.Known(); known {
			c.reads = append(c.reads, below(folder, dir))
		}
	}
	for _, written := range s.Read {
		c.granted = append(c.granted, below(folder, written))
	}
	c.reads = append(c.reads, c.granted...)
	for _, written := range s.Write {
		c.writes = append(c.writes, below(folder, written))
	}
	c.reads = append(c.reads, foldersOf(path)...)
	return c
}

// A confineError is why a program could not be confined, and therefore does not run.
type confineError struct{ err error }

func (e *confineError) Error() string { return "confining the program: " + e.err.Error() }
func (e *confineError) Unwrap() error { return e.err }

// foldersOf are the absolute folders of a PATH.
func foldersOf(path string) (folders []string) {
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) && filepath.Clean(dir) != "/" {
			folders = append(folders, dir)
		}
	}
	return folders
}

// describe says what programs may do beside what all may.
func (c *confinement) describe(out *strings.Builder) {
	if c == nil {
		out.WriteString("not confined\n")
		return
	}
	if c.network {
		out.WriteString("with network\n")
	}
	if c.modes {
		out.WriteString("may change modes, groups and times of all files of the server's user\n")
	}
	for _, path := range c.granted {
		fmt.Fprintf(out, "may read %s\n", quoted(path))
	}
	for _, path := range c.writes {
		fmt.Fprintf(out, "may write %s\n", quoted(path))
	}
}

// covered reports whether a path is in one of some folders, by its name.
func covered(path string, folders []string) bool {
	for _, f := range folders {
		if path == f || strings.HasPrefix(path, strings.TrimSuffix(f, "/")+"/") {
			return true
		}
	}
	return false
}
