package adapters

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/internal/charset"
	"hatchel/internal/filelock"
	"hatchel/internal/osfile"
)

// IfExists is what writing does if the file exists.
type IfExists string

// The values of the argument if_exists.
const (
	ExistsFail    IfExists = "fail"
	ExistsReplace IfExists = "replace"
	ExistsAppend  IfExists = "append"
)

// IfExistsAttr declares the argument if_exists. The blocks file and csv share it.
func IfExistsAttr(dst *string, appendDoc string) hcl.Field {
	doc := `What happens if the file exists: "fail" fails the call, "replace" writes a new file in its place, ` +
		`"append" ` + appendDoc + "."
	return hcl.Choice(dst, "if_exists", doc, string(ExistsFail), string(ExistsReplace), string(ExistsAppend)).
		DefaultDoc(`"fail"`)
}

// WriteEffects returns the effects of a block that writes a file. Its output has the path of the file and a
// number.
func (i IfExists) WriteEffects(number string) hcl.Effects {
	return hcl.Effects{
		Output: schema.ObjectOf(
			&schema.Member{Name: "path", Type: &schema.Type{Kind: schema.String}},
			&schema.Member{Name: number, Type: &schema.Type{Kind: schema.Integer}},
		),
		Default:     hcl.DefaultResult{Members: []string{"path", number}},
		Writes:      true,
		Destructive: i == ExistsReplace,
		Idempotent:  i == ExistsReplace,
	}
}

// Phrase returns the beginning of a plan that writes a file.
func (i IfExists) Phrase() string {
	switch i {
	case ExistsReplace:
		return "write or replace"
	case ExistsAppend:
		return "append to"
	}
	return "write a new file"
}

// Write writes the file as ifExists demands. It calls produce, which writes the data; with ExistsAppend,
// produce receives the open file and its size, otherwise nil and 0. It calls accept before the new
// content is visible. If it fails, or if produce or accept fail, the file is unchanged, unless [ChangeOf] says
// otherwise of the error.
func (f *File) Write(
	ctx context.Context, ifExists IfExists,
	produce func(w io.Writer, existing *os.File, size int64) error, accept func() error,
) error {
	var err error
	if ifExists == ExistsAppend {
		err = f.append(ctx, produce, accept)
	} else {
		produceNew := func(w io.Writer) error { return produce(w, nil, 0) }
		err = f.replace(ctx, produceNew, ifExists == ExistsFail, accept)
	}
	var known *changeError
	if errors.As(err, &known) {
		return err
	}
	return WithChange(err, ChangeUnsent)
}

// faultWriter reports a failed write to a file as a fault.
type faultWriter struct {
	file *os.File
	path string
}

func (w faultWriter) Write(p []byte) (int, error) {
	n, err := w.file.Write(p)
	if err != nil {
		err = FileFault(err, w.path)
	}
	return n, err
}

// replace writes the file atomically: a reader sees either the old content or all of the new content. If
// mustCreate is set and the file exists, it fails.
func (f *File) replace(
	ctx context.Context, produce func(io.Writer) error, mustCreate bool, accept func() error,
) error {
	info, err := f.parent.Lstat(f.name)
	switch {
	case err == nil && info.IsDir():
		return FileFault(syscall.EISDIR, f.Path)
	case err == nil && mustCreate:
		return FileFault(fs.ErrExist, f.Path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return FileFault(err, f.Path)
	}
	file, temp, err := f.createTemp()
	if err != nil {
		return err
	}
	defer func() { _ = f.parent.Remove(temp) }() // fails after the rename
	if err := produce(faultWriter{file, f.Path}); err != nil {
		file.Close()
		return err
	}
	if err := syncAndClose(file, info); err != nil {
		return FileFault(err, f.Path)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := accept(); err != nil {
		return err
	}
	if mustCreate {
		err = f.renameNew(temp)
	} else {
		err = f.parent.Rename(temp, f.name)
	}
	if err != nil {
		return FileFault(err, f.Path)
	}
	if err := f.syncParent(); err != nil {
		return &changeError{err, ChangeDone}
	}
	return nil
}

// CheckUTF8 refuses to add text in UTF-8 to a file whose byte order mark says that it has another encoding. It does not
// change the position of the file.
func CheckUTF8(existing *os.File, path string) error {
	mark := make([]byte, 4)
	n, err := existing.ReadAt(mark, 0)
	if err != nil && err != io.EOF {
		return FileFault(err, path)
	}
	if e, _ := charset.Detect(mark[:n], nil); e != nil {
		return &Fault{Message: fmt.Sprintf("the file is in %v, and text is added in UTF-8 only: %s", e, path)}
	}
	return nil
}

// createTemp creates a temporary file in the directory of the file.
func (f *File) createTemp() (file *os.File, name string, err error) {
	name = "." + rand.Text() + ".tmp" // not derived from the name, which could become too long
	if file, err = f.parent.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666); err != nil {
		return nil, "", FileFault(err, f.Path)
	}
	return file, name, nil
}

// syncAndClose completes a new file. replaced describes the file that it replaces, or is nil.
func syncAndClose(file *os.File, replaced fs.FileInfo) (err error) {
	if replaced != nil && replaced.Mode().IsRegular() {
		err = file.Chmod(replaced.Mode().Perm())
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// renameNew renames the temporary file unless the target exists. A hard link checks and creates the name
// in one step. Without hard links, an empty file reserves the name until the rename.
func (f *File) renameNew(temp string) error {
	err := f.parent.Link(temp, f.name)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	reserved, err := f.parent.OpenFile(f.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	if err := errors.Join(reserved.Close(), f.parent.Rename(temp, f.name)); err != nil {
		return errors.Join(err, f.parent.Remove(f.name))
	}
	return nil
}

// syncParent makes a new name durable.
func (f *File) syncParent() error {
	dir, err := f.parent.Open(".")
	if err != nil {
		return FileFault(err, f.Path)
	}
	defer dir.Close()
	if err := osfile.SyncDir(dir); err != nil {
		return FileFault(err, f.Path)
	}
	return nil
}

// append adds to the file, which it creates if necessary, under a lock that other processes of this
// program respect. It adds the data when all of it is there, and undoes an incomplete write.
func (f *File) append(
	ctx context.Context, produce func(w io.Writer, existing *os.File, size int64) error, accept func() error,
) error {
	file, created, err := f.openLocked(ctx)
	if err != nil {
		return err
	}
	defer file.Close() // releases the lock
	info, err := file.Stat()
	if err != nil {
		return FileFault(err, f.Path)
	}
	data := &spool{target: f}
	defer data.close()
	if err = produce(data, file, info.Size()); err == nil {
		err = accept()
	}
	if err == nil {
		err = f.appendData(file, info.Size(), data)
	}
	if err != nil && created {
		_ = f.parent.Remove(f.name)
	}
	return err
}

func (f *File) appendData(file *os.File, size int64, data *spool) error {
	n, err := data.copyTo(file)
	if err == nil && n > 0 {
		err = file.Sync()
	}
	if err == nil {
		return nil
	}
	if n > 0 {
		if truncateErr := file.Truncate(size); truncateErr != nil {
			return &changeError{FileFault(errors.Join(err, truncateErr), f.Path), ChangeDone}
		}
	}
	return FileFault(err, f.Path)
}

// maxSpooled is how many bytes of a spool are kept in memory.
const maxSpooled = 1 << 20

// spool keeps the data of a file until all of it is there: in memory, or in a
// temporary file.
type spool struct {
	target *File
	memory []byte
	file   *os.File // nil while the data is in memory
	temp   string
}

func (s *spool) Write(p []byte) (n int, err error) {
	if s.file == nil && len(s.memory)+len(p) <= maxSpooled {
		s.memory = append(s.memory, p...)
		return len(p), nil
	}
	if s.file == nil {
		if s.file, s.temp, err = s.target.createTemp(); err == nil {
			_, err = faultWriter{s.file, s.target.Path}.Write(s.memory)
		}
		if err != nil {
			return 0, err
		}
		s.memory = nil
	}
	return faultWriter{s.file, s.target.Path}.Write(p)
}

func (s *spool) copyTo(dst *os.File) (int64, error) {
	if s.file == nil {
		n, err := dst.Write(s.memory)
		return int64(n), err
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	return io.Copy(dst, s.file)
}

func (s *spool) close() {
	if s.file != nil {
		s.file.Close()
		_ = s.target.parent.Remove(s.temp)
	}
}

// openLocked opens the file and waits for its lock. If the file is replaced meanwhile, it locks the new
// one.
func (f *File) openLocked(ctx context.Context) (file *os.File, created bool, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		if file, created, err = f.openAppend(); err != nil {
			return nil, false, FileFault(err, f.Path)
		}
		err := f.checkRegular(file)
		if err == nil {
			err = filelock.Lock(ctx, file)
		}
		if err != nil {
			file.Close()
			if ctx.Err() != nil {
				return nil, false, ctx.Err()
			}
			return nil, false, FileFault(err, f.Path)
		}
		locked, err1 := file.Stat()
		current, err2 := f.parent.Stat(f.name)
		if err1 == nil && err2 == nil && os.SameFile(locked, current) {
			return file, created && locked.Size() == 0, nil
		}
		file.Close()
	}
}

func (f *File) openAppend() (file *os.File, created bool, err error) {
	const flags = os.O_RDWR | os.O_APPEND | syscall.O_NONBLOCK
	file, err = f.parent.OpenFile(f.name, flags, 0)
	if !errors.Is(err, fs.ErrNotExist) {
		return file, false, err
	}
	file, err = f.parent.OpenFile(f.name, flags|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) { // another process has just created it
		file, err = f.parent.OpenFile(f.name, flags, 0)
		return file, false, err
	}
	return file, true, err
}
