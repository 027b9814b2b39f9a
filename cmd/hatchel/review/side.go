package review

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"hatchel/cmd/hatchel/exit"
	"hatchel/cmd/hatchel/revision"
	"hatchel/hcl"
	"hatchel/hcl/surface"
	"hatchel/internal/printable"
	"hatchel/runtime/load/access"
	"hatchel/runtime/load/source"
)

// Side is one of the two things that are compared.
type Side struct {
	Name    string           // as it was named
	Dir     string           // before the names of its files; empty if they are not in a directory
	surface *surface.Surface // of a lock; otherwise nil
	config  *hcl.Config      // of a directory or a revision; otherwise nil
}

// HasTool reports whether a side has a tool.
func (s Side) HasTool(name string) bool {
	if s.config == nil {
		return s.surface.Tools[name] != nil
	}
	return slices.ContainsFunc(s.config.Tools, func(t *hcl.Tool) bool { return t.Name == name })
}

func (s Side) surfaceOf(parallel func(int, func(int))) *surface.Surface {
	if s.config == nil {
		return s.surface
	}
	return access.Surface(s.config, parallel)
}

// Compare returns how a side differs from an older one. Of two configurations, what is the same in both is left out.
// Parallel calls a function with the numbers from 0 to below n.
func Compare(before, now Side, parallel func(n int, do func(i int))) *surface.Diff {
	if before.config != nil && now.config != nil {
		return surface.Compare(access.OfReload(before.config, now.config, parallel))
	}
	return surface.Compare(before.surfaceOf(parallel), now.surfaceOf(parallel))
}

// Reader reads the sides of a comparison. What cannot be read is an [exit.Error] of a command that was used
// incorrectly.
type Reader struct {
	Dir   string // of the repository and of the lock
	Kinds hcl.Kinds

	Load         func(dir string) (*hcl.Config, error)
	LoadRevision func(name string, tree *revision.Tree) (*hcl.Config, error)
}

// Read reads a directory, a lock or a revision.
func (r Reader) Read(ctx context.Context, name string) (Side, error) {
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		config, err := r.Load(name)
		return Side{Name: name, Dir: name, config: config}, err
	case err == nil:
		return r.readLockFile(name)
	}
	tree, text, err := revision.Open(ctx, r.Dir, name)
	switch {
	case err != nil:
		return Side{}, exit.Misusef("%s cannot be read: %s", printable.Line(name), err)
	case tree == nil:
		return ReadLock(name, text, r.Kinds)
	}
	config, err := r.LoadRevision(name, tree)
	return Side{Name: name, config: config}, err
}

// ReadOwnLock reads the lock of the directory.
func (r Reader) ReadOwnLock() (Side, error) {
	name := filepath.Join(r.Dir, surface.LockName)
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return Side{}, exit.Misusef("%s does not exist: run hatchel lock, or name what to compare with, as in "+
			"hatchel diff origin/main", name)
	}
	return r.readLockFile(name)
}

// maxLockSize is the maximum size of a lock in bytes.
const maxLockSize = 64 << 20

func (r Reader) readLockFile(name string) (Side, error) {
	text, err := source.ReadRegularFile(name, maxLockSize)
	if err != nil {
		return Side{}, exit.Misusef("%s cannot be read: %s", name, exit.Reason(err))
	}
	return ReadLock(name, text, r.Kinds)
}

// ReadLock returns the side of the text of a lock.
func ReadLock(name string, text []byte, kinds hcl.Kinds) (Side, error) {
	s, err := surface.ReadLock(text, kinds)
	var bad *surface.LockError
	if errors.As(err, &bad) && bad.Line > 0 {
		return Side{}, exit.Misusef("%s:%d: the lock cannot be read: %s", name, bad.Line, bad.Text)
	}
	if err != nil {
		return Side{}, exit.Misusef("%s: the lock cannot be read: %s", name, err)
	}
	return Side{Name: name, surface: s}, nil
}
