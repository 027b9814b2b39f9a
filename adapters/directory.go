package adapters

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"hatchel/hcl"
	"hatchel/internal/cut"
	"hatchel/internal/lazyregexp"
)

// Directory is the directory that contains the files of a block. No file name leads out of it, be it with
// "..", an absolute path or a symbolic link, even one that is created during a call. It is opened for each
// call, so it may be created, mounted or replaced after the server started.
type Directory struct {
	path string
	copy func() (string, error) // returns the directory to open instead; nil for path
}

// NewDirectory returns a directory; a relative path starts at the configuration directory.
func NewDirectory(env Env, path string) Directory {
	path = filepath.Clean(Absolute(env.Dir, path))
	return Directory{path, env.copyOf(path)}
}

// WarnIfMissing warns that calls will find no directory at a path, which a field of the block or of its connection
// names. It is no error: the directory may be on another machine, or be made later.
func (e Env) WarnIfMissing(field any, path string) {
	if e.Mocks != nil && !e.Mocks.Live(false) {
		return
	}
	info, err := os.Stat(Absolute(e.Dir, path))
	what := ""
	switch {
	case errors.Is(err, fs.ErrNotExist):
		what = "does not exist"
	case err == nil && !info.IsDir():
		what = "is not a directory"
	default:
		return
	}
	e.Warn(field, "Directory not found", fmt.Sprintf("The directory %q %s. Calls fail until there is one.", path, what))
}

// Absolute returns an absolute path unchanged, and any other path as one that starts at base.
func Absolute(base, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(base, path)
}

// AbsoluteAll returns what Absolute returns for each path.
func AbsoluteAll(base string, paths []string) (all []string) {
	for _, path := range paths {
		all = append(all, Absolute(base, path))
	}
	return all
}

// Path returns the absolute path of a file name, for results and faults.
func (d Directory) Path(name string) string { return filepath.Join(d.path, filepath.FromSlash(name)) }

// File is a file name in an open directory. The file need not exist. Close releases it.
type File struct {
	Path   string   // absolute
	parent *os.Root // the directory that contains the file
	name   string   // in parent
}

// OpenRendered opens the file that an argument of a block names in a call. Errors are *Fault.
func (d Directory) OpenRendered(f *hcl.Frame, name *hcl.StringExpr) (*File, error) {
	text, err := name.Render(f)
	if err != nil {
		return nil, &Fault{Message: err.Error()}
	}
	return d.Open(text)
}

// Open resolves a name in the directory. The parts of a name are separated by "/", and all but the last
// one must exist. Errors are *Fault.
func (d Directory) Open(name string) (*File, error) {
	if reason := nameError(name); reason != "" {
		return nil, &Fault{Message: fmt.Sprintf("the file name %q %s", cut.Runes(name, 80), reason)}
	}
	place := d.path
	if d.copy != nil {
		copied, err := d.copy()
		if err != nil {
			return nil, FileFault(err, d.path)
		}
		place = copied
	}
	root, err := os.OpenRoot(place)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			return nil, noDirectory(d.path, err)
		}
		return nil, FileFault(err, d.Path(name))
	}
	f := &File{Path: d.Path(name), parent: root, name: name}
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		parent, err := root.OpenRoot(name[:i])
		info, statErr := root.Stat(name[:i])
		root.Close()
		if errors.Is(err, fs.ErrNotExist) || statErr == nil && !info.IsDir() {
			return nil, noDirectory(d.Path(name[:i]), err)
		}
		if err != nil {
			return nil, FileFault(err, f.Path)
		}
		f.parent, f.name = parent, name[i+1:]
	}
	return f, nil
}

func noDirectory(path string, cause error) *Fault {
	return &Fault{Message: "no such directory: " + path, Cause: cause, NotFound: true}
}

// Close releases the directory of the file.
func (f *File) Close() error { return f.parent.Close() }

// Stat describes the file. It follows symbolic links within the directory.
func (f *File) Stat() (fs.FileInfo, error) { return f.parent.Stat(f.name) }

// OpenRead opens the file for reading. It rejects everything but regular files, because reading a pipe or
// a device could block or never end.
func (f *File) OpenRead() (*os.File, error) {
	file, err := f.parent.OpenFile(f.name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, FileFault(err, f.Path)
	}
	if err := f.checkRegular(file); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

func (f *File) checkRegular(file *os.File) error {
	info, err := file.Stat()
	switch {
	case err != nil:
		return FileFault(err, f.Path)
	case info.IsDir():
		return FileFault(syscall.EISDIR, f.Path)
	case !info.Mode().IsRegular():
		return &Fault{Message: "this is not a regular file: " + f.Path}
	}
	return nil
}

// nameError returns why a name is not a valid file name in a directory, or "".
func nameError(name string) string {
	switch {
	case name == "":
		return "is empty"
	case strings.ContainsFunc(name, unicode.IsControl):
		return "has a control character"
	case strings.HasPrefix(name, "/") || filepath.IsAbs(name) || filepath.VolumeName(name) != "":
		return "is an absolute path; it must be a name in the directory"
	case strings.Contains(name, `\`):
		return `has a \; the parts of a name are separated by /`
	}
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "":
			return "has an empty part"
		case part == "..":
			return "leads out of the directory with .."
		case strings.HasPrefix(part, "."):
			return "is hidden; no part of a name may begin with a dot"
		case deviceName.MatchString(part):
			return "is the name of a device on some systems"
		case len(part) > 255:
			return "is too long"
		}
	}
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return "is not a name in the directory"
	}
	return ""
}

// deviceName matches names that Windows reserves for devices, with any extension and also on a shared drive.
var deviceName = lazyregexp.New(`(?i)^(CON|PRN|AUX|NUL|(COM|LPT)[1-9]) *(\.|$)`)

// FileFault converts the error of a file operation to a *Fault that names the path. It returns a *Fault
// unchanged.
func FileFault(err error, path string) error {
	if known := new(Fault); errors.As(err, &known) {
		return err
	}
	f := &Fault{Cause: err}
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		f.Message = "permission denied on " + path
	case errors.Is(err, fs.ErrExist):
		f.Message = "file exists: " + path
	case errors.Is(err, fs.ErrNotExist):
		f.Message, f.NotFound = "no such file: "+path, true
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		f.Message = "no space left on " + path
	case errors.Is(err, syscall.EISDIR):
		f.Message = "this is a directory, not a file: " + path
	case errors.Is(err, syscall.ENOTDIR):
		return noDirectory(filepath.Dir(path), err)
	case errors.Is(err, syscall.ENAMETOOLONG):
		f.Message = "the name is too long: " + path
	case errors.Is(err, syscall.ELOOP):
		f.Message = "too many levels of symbolic links: " + path
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		f.Message, f.Advice = "too many files are open: "+path, "try again"
	case strings.Contains(err.Error(), "path escapes"):
		f.Message = "a symbolic link leads out of the directory: " + path
	default:
		f.Message = "the file is not accessible: " + path
	}
	return f
}

// maxReplacedText is how many bytes a file may have whose content a plan shows as replaced.
const maxReplacedText = 32 << 10

// ReplacedText returns the content of the text file that a write replaces, for a plan. It is nil if nothing is
// replaced, or nothing that can be shown.
func (f *File) ReplacedText(ifExists IfExists) *string {
	if ifExists != ExistsReplace {
		return nil
	}
	file, err := f.OpenRead()
	if err != nil {
		return nil
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxReplacedText+1))
	if err != nil || len(data) > maxReplacedText || !utf8.Valid(data) {
		return nil
	}
	text := string(data)
	return &text
}
