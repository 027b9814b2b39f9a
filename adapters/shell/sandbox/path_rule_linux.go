//go:build linux && cgo

package sandbox

import (
	"errors"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// pathRule is the path of a Landlock rule. The rule is about what is at the path when the rule is made.
type pathRule struct {
	path string
	base string // the first directory on the path that programs may write to; empty if there is none
}

// newPathRules finds the bases of paths among the directories that programs may write to.
func newPathRules(paths, writable []string) (rules []pathRule) {
	for _, path := range paths {
		p := pathRule{path: filepath.Clean(path)}
		for i := 1; i < len(p.path) && len(writable) > 0 && p.base == ""; i++ {
			if p.path[i] == '/' && isWithin(resolveLinks(p.path[:i]), writable) {
				p.base = p.path[:i]
			}
		}
		rules = append(rules, p)
	}
	return rules
}

// resolveLinks returns a path without symbolic links, or the path itself if it does not exist.
func resolveLinks(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// open opens the path for a rule. Below the base no link is followed, because a program could have made it and let it
// lead anywhere: the error is ELOOP.
func (p pathRule) open() (int, error) {
	const flags = unix.O_PATH | unix.O_CLOEXEC
	if p.base == "" {
		return unix.Open(p.path, flags, 0)
	}
	base, err := unix.Open(p.base, flags|unix.O_DIRECTORY, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(base)
	rest, err := filepath.Rel(p.base, p.path)
	if err != nil {
		return -1, err
	}
	how := unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS}
	return unix.Openat2(base, rest, &how)
}

// isAbsent reports that a path does not exist, or that the server has no access to it and could grant none.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOTDIR)
}
