package adapters

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"
)

// A Folder is the directory that files of a block lie in. Nothing that a name says leads out of it: not "..", not an absolute path, not a symbolic link,
// also one that is put there while a call runs. It is opened for every call, so that it may be made, mounted or replaced after the server started.
type Folder struct{ path string }

// NewFolder is the folder dir, which is relative to base unless it is absolute.
func NewFolder(base, dir string) Folder {
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(base, dir)
	}
	return Folder{filepath.Clean(dir)}
}

// Path is the absolute path of a name in the folder, for results and faults.
func (d Folder) Path(name string) string { return filepath.Join(d.path, filepath.FromSlash(name)) }

// An Entry is one name in an open folder. Close it.
type Entry struct {
	Path string // absolute
	root *os.Root
	name string // of the last part: root is the folder right above
}

// Open resolves a name, whose parts are separated by "/", below the folder. The file itself need not exist, the folders above it must. Errors are *Fault.
func (d Folder) Open(name string) (*Entry, error) {
	if reason := refusedName(name); reason != "" {
		return nil, &Fault{Message: fmt.Sprintf("the file name %q %s", shortName(name), reason)}
	}
	root, err := os.OpenRoot(d.path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			return nil, &Fault{Message: "no such directory: " + d.path, Cause: err, Missing: true}
		}
		return nil, FileFault(err, d.Path(name))
	}
	e := &Entry{Path: d.Path(name), root: root, name: name}
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		below, err := root.OpenRoot(name[:i])
		info, missing := root.Stat(name[:i])
		root.Close()
		if errors.Is(err, fs.ErrNotExist) || missing == nil && !info.IsDir() {
			return nil, &Fault{Message: "no such directory: " + d.Path(name[:i]), Cause: err, Missing: true}
		}
		if err != nil {
			return nil, FileFault(err, e.Path)
		}
		e.root, e.name = below, name[i+1:]
	}
	return e, nil
}

// Close releases the entry.
func (e *Entry) Close() error { return e.root.Close() }

// Read opens the file for reading. What is not a plain file, a pipe or a device that could hang or never end, is refused.
func (e *Entry) Read() (*os.File, error) {
	f, err := e.root.OpenFile(e.name, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, FileFault(err, e.Path)
	}
	if err := e.plain(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (e *Entry) plain(f *os.File) error {
	info, err := f.Stat()
	switch {
	case err != nil:
		return FileFault(err, e.Path)
	case info.IsDir():
		return &Fault{Message: "this is a directory, not a file: " + e.Path}
	case !info.Mode().IsRegular():
		return &Fault{Message: "this is not a plain file: " + e.Path}
	}
	return nil
}

// refusedName says why a name cannot be one of a file in a folder; empty when it can.
func refusedName(name string) string {
	switch {
	case name == "":
		return "is empty"
	case strings.ContainsFunc(name, unicode.IsControl):
		return "holds a control character"
	case strings.HasPrefix(name, "/") || filepath.IsAbs(name) || filepath.VolumeName(name) != "":
		return "is an absolute path: it must be a name in the folder"
	case strings.Contains(name, `\`):
		return `holds a \: the parts of a name are separated by /`
	}
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "":
			return "has an empty part"
		case part == "..":
			return "climbs out of the folder with .."
		case strings.HasPrefix(part, "."):
			return "is hidden: no part of a name may begin with a dot"
		case device(part):
			return "names a device on some systems"
		case len(part) > 255:
			return "is too long"
		}
	}
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return "is not a name in the folder"
	}
	return ""
}

// device reports the names that Windows, also behind a shared drive, gives to devices whatever follows the dot.
func device(part string) bool {
	stem, _, _ := strings.Cut(strings.ToUpper(part), ".")
	switch stem = strings.TrimRight(stem, " "); stem {
	case "CON", "PRN", "AUX", "NUL":
		return true
	}
	return len(stem) == 4 && (stem[:3] == "COM" || stem[:3] == "LPT") && stem[3] >= '1' && stem[3] <= '9'
}

func shortName(name string) string {
	if len(name) > 80 {
		return strings.ToValidUTF8(name[:80], "") + "…"
	}
	return name
}

// FileFault says what a file operation failed of, with the path that it was about.
func FileFault(err error, path string) error {
	var known *Fault
	if errors.As(err, &known) {
		return err
	}
	f := &Fault{Cause: err}
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		f.Message = "permission denied on " + path
	case errors.Is(err, fs.ErrExist):
		f.Message = "file exists: " + path
	case errors.Is(err, fs.ErrNotExist):
		f.Message, f.Missing = "no such file: "+path, true
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		f.Message = "no space left on " + path
	case errors.Is(err, syscall.EISDIR):
		f.Message = "this is a directory, not a file: " + path
	case errors.Is(err, syscall.ENOTDIR):
		f.Message, f.Missing = "no such directory: "+filepath.Dir(path), true
	case errors.Is(err, syscall.ENAMETOOLONG):
		f.Message = "the name is too long: " + path
	case errors.Is(err, syscall.ELOOP):
		f.Message = "the symbolic links lead in a circle: " + path
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		f.Message = "too many files are open, try again: " + path
	case strings.Contains(err.Error(), "path escapes"):
		f.Message = "a symbolic link leads out of the folder: " + path
	default:
		f.Message = "the file cannot be used: " + path
	}
	return f
}
