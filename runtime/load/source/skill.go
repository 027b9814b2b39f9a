package source

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// ListSkill lists what may be published of a directory of a skill: regular files and directories without hidden ones
// and those that the IgnoreFile names. Deployments such as ConfigMaps link files into a folder that is swapped, so a
// link counts as what it leads to, if that is in the directory within and not above the link. A change of the listing
// is a change of the folder.
func (s *Snapshot) ListSkill(dir, within string) ([]fs.DirEntry, error) {
	ignored, err := s.readIgnoreFile()
	if err != nil {
		return nil, err
	}
	all, err := s.list(listKey{dir, true}, func(e fs.DirEntry) bool {
		return strings.HasPrefix(e.Name(), ".") || ignored.has(path.Join(dir, e.Name()))
	})
	if err != nil {
		return nil, err
	}
	var list []fs.DirEntry
	for _, e := range all {
		if e.Type() == fs.ModeSymlink {
			e = s.followLink(path.Join(dir, e.Name()), within)
		}
		if e != nil && (e.IsDir() || e.Type().IsRegular()) {
			list = append(list, e)
		}
	}
	return list, nil
}

// readIgnoreFile is readIgnored, with a record that the file was read.
func (s *Snapshot) readIgnoreFile() (ignored, error) {
	root, err := filepath.EvalSymlinks(s.dir)
	if err != nil {
		return nil, err
	}
	globs, err := readIgnored(root)
	if err != nil {
		return nil, err
	}
	_, err = s.ReadFile(IgnoreFile)
	if os.IsNotExist(err) {
		err = nil
	}
	return globs, err
}

// linked is an entry under the name of the link that leads to it.
type linked struct {
	fs.DirEntry
	name string
}

func (l linked) Name() string { return l.name }

// followLink returns the file or directory that a link leads to; nil for one that may not be published.
func (s *Snapshot) followLink(name, within string) fs.DirEntry {
	at, root := filepath.Join(s.dir, filepath.FromSlash(name)), filepath.Join(s.dir, filepath.FromSlash(within))
	realRoot, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil
	}
	real, err := filepath.EvalSymlinks(at)
	if err != nil {
		return nil
	}
	inside, err := filepath.Rel(realRoot, real)
	if err != nil || !filepath.IsLocal(inside) || strings.HasPrefix(filepath.Base(inside), ".") {
		return nil
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(at))
	if err != nil {
		return nil
	}
	if below, err := filepath.Rel(real, folder); err == nil && filepath.IsLocal(below) {
		return nil // a cycle
	}
	info, err := os.Stat(real)
	if err != nil {
		return nil
	}
	return linked{fs.FileInfoToDirEntry(info), path.Base(name)}
}
