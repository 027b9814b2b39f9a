package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"hatchel/internal/osfile"
)

// Files returns the existing files of a log in the order in which they were written: the full ones,
// then the one at path.
func Files(path string) ([]string, error) {
	_, missing := os.Stat(path) // before the others, because it becomes one of them
	full, err := findFullFiles(path)
	if err != nil {
		return nil, err
	}
	files := make([]string, 0, len(full)+1)
	for _, f := range full {
		files = append(files, f.name)
	}
	if _, err := os.Stat(path); err == nil {
		return append(files, path), nil
	} else if !errors.Is(err, fs.ErrNotExist) || len(files) == 0 && missing != nil {
		return nil, err
	}
	return files, nil
}

// fullFile is a file that was rotated: its name is the path and a number.
type fullFile struct {
	name   string
	number int
}

// findFullFiles returns the full files of a log, oldest first.
func findFullFiles(path string) (list []fullFile, err error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), filepath.Base(path)+".")
		if n, err := strconv.Atoi(digits); ok && err == nil && n > 0 && len(digits) >= numberWidth {
			list = append(list, fullFile{filepath.Join(filepath.Dir(path), e.Name()), n})
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].number < list[j].number })
	return list, nil
}

const numberWidth = 6

func fullName(path string, number int) string {
	return fmt.Sprintf("%s.%0*d", path, numberWidth, number)
}

// rotate starts the next file when n more bytes do not fit into this one. After an error nothing has
// changed. The caller holds writing.
func (l *Log) rotate(limits Limits, n int64) error {
	if l.stream != nil || limits.MaxFileSize <= 0 || l.size == 0 || l.tail != nil || l.size+n <= limits.MaxFileSize {
		return nil
	}
	full, err := findFullFiles(l.path)
	if err != nil {
		return err
	}
	number := 1
	if len(full) > 0 {
		number = full[len(full)-1].number + 1
	}
	l.syncing.Lock()
	defer l.syncing.Unlock()
	if l.broken != nil {
		return l.broken
	}
	name := fullName(l.path, number)
	if err := l.startFile(name); err != nil {
		return err
	}
	l.size, l.unterminated = 0, false
	l.ownRecord = NewRecord(EventRotated, Common{})
	l.ownRecord.Format, l.ownRecord.File = Format, filepath.Base(name)
	full = append(full, fullFile{name, number})
	if limits.MaxFiles <= 0 {
		return nil
	}
	for _, old := range full[:max(len(full)-limits.MaxFiles, 0)] {
		if os.Remove(old.name) == nil {
			l.ownRecord.Removed = append(l.ownRecord.Removed, filepath.Base(old.name))
		}
	}
	return nil
}

// startFile renames the file and puts an empty one in its place. The caller holds syncing.
func (l *Log) startFile(fullName string) error {
	if !isAt(l.path, l.file) {
		return errMoved
	}
	if err := l.file.Sync(); err != nil {
		l.markBroken(err)
		return err
	}
	l.synced = l.written.Load()
	fresh := l.path + nextSuffix
	next, err := os.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, fileMode)
	if err != nil {
		return err
	}
	if err := os.Rename(l.path, fullName); err != nil {
		return errors.Join(err, next.Close(), os.Remove(fresh))
	}
	if err := os.Rename(fresh, l.path); err != nil {
		return errors.Join(err, next.Close(), os.Rename(fullName, l.path), os.Remove(fresh))
	}
	l.file.Close() // it was synced
	l.file = next
	if err := syncDir(filepath.Dir(l.path)); err != nil {
		l.markBroken(err) // the new names may be lost with the machine
	}
	return nil
}

// syncDir makes the names in a directory durable.
func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(osfile.SyncDir(d), d.Close())
}
