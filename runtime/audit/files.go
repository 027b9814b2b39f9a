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
	"time"
)

// Files are the files of a log that are there, in the order in which they were written: those that are full, then the one at path.
func Files(path string) ([]string, error) {
	_, missing := os.Stat(path) // looked at before the others, because it becomes one of them
	full, err := fullFiles(path)
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

// full is a file that was full: the path with a number behind it.
type full struct {
	name   string
	number int
}

// fullFiles are those of a log, oldest first.
func fullFiles(path string) (list []full, err error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), filepath.Base(path)+".")
		if n, err := strconv.Atoi(digits); ok && err == nil && n > 0 && len(digits) >= numberWidth {
			list = append(list, full{filepath.Join(filepath.Dir(path), e.Name()), n})
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].number < list[j].number })
	return list, nil
}

const numberWidth = 6

func fullName(path string, number int) string {
	return fmt.Sprintf("%s.%0*d", path, numberWidth, number)
}

// rotate begins the next file when more would not fit into this one. With an error nothing has changed.
func (l *Log) rotate(limits Limits, more int64) error {
	if l.stream != nil || limits.Rotate <= 0 || l.size == 0 || l.torn != nil || l.size+more <= limits.Rotate {
		return nil
	}
	list, err := fullFiles(l.path)
	if err != nil {
		return err
	}
	number := 1
	if len(list) > 0 {
		number = list[len(list)-1].number + 1
	}
	l.syncing.Lock()
	defer l.syncing.Unlock()
	if l.broken != nil {
		return l.broken
	}
	name := fullName(l.path, number)
	if err := l.replace(name); err != nil {
		return err
	}
	l.size, l.unended = 0, false
	l.notice = &Record{Time: time.Now(), Event: EventRotated, File: filepath.Base(name)}
	list = append(list, full{name, number})
	if limits.Keep <= 0 {
		return nil
	}
	for _, old := range list[:max(len(list)-limits.Keep, 0)] {
		if os.Remove(old.name) == nil {
			l.notice.Removed = append(l.notice.Removed, filepath.Base(old.name))
		}
	}
	return nil
}

// replace gives the file another name, and puts an empty one in its place.
func (l *Log) replace(name string) error {
	if !l.inPlace() {
		return errMoved
	}
	if err := l.file.Sync(); err != nil {
		l.breaks(err)
		return err
	}
	l.synced = l.written.Load()
	fresh := l.path + ".next"
	next, err := os.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, mode)
	if err != nil {
		return err
	}
	if err := os.Rename(l.path, name); err != nil {
		return errors.Join(err, next.Close(), os.Remove(fresh))
	}
	if err := os.Rename(fresh, l.path); err != nil {
		return errors.Join(err, next.Close(), os.Rename(name, l.path), os.Remove(fresh))
	}
	l.file.Close() // all of it is on the disk
	l.file = next
	if err := syncFolder(filepath.Dir(l.path)); err != nil {
		l.breaks(err) // the names may be lost with the machine
	}
	return nil
}
