//go:build linux && cgo

package sandbox

import (
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// Landlock rules only add rights: no directory that contains the configuration directory has a rule, but all other
// entries of these directories have.

// findAncestors finds the configuration directory and the directories that contain it.
func (s *Sandbox) findAncestors() {
	for dir := resolveLinks(s.Config); s.Config != ""; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil {
			s.ancestors = append(s.ancestors, info)
		}
		if dir == filepath.Dir(dir) {
			return
		}
	}
}

// ContainsConfig reports whether a file is the configuration directory or contains it, whatever links lead there.
func (s *Sandbox) ContainsConfig(path string) bool {
	info, err := os.Stat(path)
	return err == nil && slices.ContainsFunc(s.ancestors, func(a os.FileInfo) bool { return os.SameFile(a, info) })
}

// separate separates directories from those that contain the configuration directory.
func (s *Sandbox) separate(dirs []string) (others, around []string) {
	for _, dir := range dirs {
		if s.ContainsConfig(dir) {
			around = append(around, dir)
		} else {
			others = append(others, dir)
		}
	}
	return others, around
}

// besideConfig returns what is in directories that contain the configuration directory, without that directory.
func (s *Sandbox) besideConfig(dirs []string) (paths []string) {
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err != nil || os.SameFile(info, s.ancestors[0]) {
			continue
		}
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if !s.ContainsConfig(path) {
				paths = append(paths, path)
			} else if e.IsDir() { // no link, which could lead around in a circle
				paths = append(paths, s.besideConfig([]string{path})...)
			}
		}
	}
	return paths
}

// allowFiles lets programs read and run Policy.Files. A link may lead to another file in the configuration directory,
// unless programs may write there and could have made it.
func (s *Sandbox) allowFiles(r *ruleset) {
	if len(s.Files) == 0 {
		return
	}
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS}
	config := resolveLinks(s.Config)
	if slices.ContainsFunc(s.writable, func(dir string) bool { return isWithin(dir, []string{config}) }) {
		how.Resolve |= unix.RESOLVE_NO_SYMLINKS
	}
	dir, err := unix.Open(config, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(dir)
	for _, name := range s.Files {
		fd, err := unix.Openat2(dir, name, &how)
		if err != nil {
			continue
		}
		var stat unix.Stat_t
		if unix.Fstat(fd, &stat) == nil && stat.Mode&unix.S_IFMT == unix.S_IFREG {
			r.keepError(r.allowBelow(accessRead&fileAccess, fd))
		}
		unix.Close(fd)
	}
}

// GrantRead lets programs read a directory that belongs to this call, but run nothing in it. The workspace serves no
// later call.
func (w *Workspace) GrantRead(dir string) error {
	return w.grant(accessRead&^unix.LANDLOCK_ACCESS_FS_EXECUTE, pathRule{path: dir})
}

// GrantResolved lets programs of this call read files and directories, and run programs in them. Their paths have no
// symbolic links: one that is there now is an error. If a path was not readable, the workspace serves no later call.
func (w *Workspace) GrantResolved(paths []string) error {
	s := w.sandbox
	for _, path := range paths {
		if isWithin(path, s.readable) || isWithin(path, s.system) || isWithin(path, s.writable) {
			continue
		}
		if err := w.grant(accessRead, pathRule{path: path, base: "/"}); err != nil {
			return err
		}
	}
	return nil
}

func (w *Workspace) grant(rights uint64, path pathRule) error {
	w.exclusive = true
	r := ruleset{fd: int(w.rules.Fd()), handled: accessRead}
	r.allow(rights, path)
	return r.err
}
