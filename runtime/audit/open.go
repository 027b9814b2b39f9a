package audit

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// mode lets nobody but the owner look into the log.
const mode = 0o600

// refused is an error in words for the operator.
type refused string

func (r refused) Error() string { return string(r) }

func why(err error, otherwise string) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refused("its folder does not exist")
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return refused("permission denied")
	case errors.Is(err, syscall.ENOTDIR):
		return refused("a part of its path is not a folder")
	case errors.Is(err, syscall.EISDIR):
		return refused("this is a folder, not a file")
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return refused("no space is left for it")
	}
	return refused(otherwise)
}

// Open opens the log of a file, which is made when it is missing, and goes on where it ends. While it is open no other process can open it. An error is a sentence for the operator,
// without the path.
func Open(path string, limits Limits) (*Log, error) {
	lock, err := acquire(path + ".lock")
	if err != nil {
		return nil, err
	}
	l := &Log{path: path, lock: lock, limits: limits, at: place{hash: genesis}}
	if err := l.begin(); err != nil {
		if l.file != nil {
			l.file.Close()
		}
		lock.Close()
		return nil, err
	}
	return l, nil
}

// Stream returns a log that is written to w. Its chain begins with it.
func Stream(w io.Writer) (*Log, error) {
	l := &Log{stream: w, at: place{hash: genesis}}
	return l, l.Append(&Record{Time: time.Now(), Event: EventOpened, Process: os.Getpid()}, false)
}

func (l *Log) begin() (err error) {
	info, err := os.Stat(l.path)
	if err == nil && !info.Mode().IsRegular() {
		return refused("this is not a plain file")
	}
	os.Remove(l.path + ".next") // of a rotation that did not come to its end
	f, err := os.OpenFile(l.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, mode)
	if err != nil {
		return why(err, "it cannot be opened")
	}
	l.file = f
	if l.size, err = f.Seek(0, io.SeekEnd); err != nil {
		return why(err, "it cannot be read")
	}
	if err := l.resume(f); err != nil {
		return err
	}
	l.written.Store(l.at.sequence)
	if err := l.Append(&Record{Time: time.Now(), Event: EventOpened, File: filepath.Base(l.path), Process: os.Getpid()}, true); err != nil {
		return why(err, "it cannot be written to")
	}
	if err := syncFolder(filepath.Dir(l.path)); err != nil {
		return why(err, "its folder cannot be written to")
	}
	return nil
}

// resume finds the end of the chain: in the file, or, when that has no record yet, in the one that was full last.
func (l *Log) resume(f *os.File) error {
	at, rest, err := end(f)
	if err != nil {
		return why(err, "it cannot be read")
	}
	if at.sequence == 0 {
		if l.size > 0 && !begins(f) {
			return refused("this is no audit log, or its end is damaged: `hatchel audit --verify` says where. Name another file")
		}
		full, err := fullFiles(l.path)
		if err != nil {
			return why(err, "its folder cannot be read")
		}
		if len(full) > 0 {
			if at, err = endOf(full[len(full)-1].name); err != nil {
				return err
			}
		}
	}
	if at.sequence > 0 {
		l.at = at
	}
	return l.rest(f, rest)
}

// rest takes what stands behind the last record, from an offset on.
func (l *Log) rest(f *os.File, from int64) error {
	if from == l.size+1 { // the record lacks the end of its line
		l.unended = true
		return nil
	}
	if from >= l.size {
		return nil
	}
	l.torn = newTorn()
	if _, err := io.Copy(l.torn, io.NewSectionReader(f, from, l.size-from)); err != nil {
		return why(err, "it cannot be read")
	}
	return nil
}

// begins reports whether a file begins as a log does that did not get beyond its first line.
func begins(f *os.File) bool {
	head := make([]byte, 64)
	n, _ := f.ReadAt(head, 0)
	head = head[:n]
	const first = `{"seq":`
	return bytes.HasPrefix(head, []byte(first)) || bytes.HasPrefix([]byte(first), head) || len(bytes.Trim(head, "\x00")) == 0
}

func endOf(name string) (place, error) {
	f, err := os.Open(name)
	if err != nil {
		return place{}, why(err, "the file before it cannot be read")
	}
	defer f.Close()
	at, _, err := end(f)
	if err != nil || at.sequence == 0 {
		return place{}, refused("the file before it, " + filepath.Base(name) + ", has no record at its end: `hatchel audit --verify` says where it is damaged")
	}
	return at, nil
}

// window is how much of the end of a file is looked at for its last record, at least: most ends are whole.
const window = 256 << 10

// end finds the last record of a file, and where what follows it begins: one byte behind the end of the file when the record lacks the end of its line.
func end(f io.ReadSeeker) (at place, rest int64, err error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return at, 0, err
	}
	for span := min(window, size); span > 0; span = min(span*8, size) {
		if _, err := f.Seek(size-span, io.SeekStart); err != nil {
			return at, 0, err
		}
		b := make([]byte, span)
		if _, err := io.ReadFull(f, b); err != nil {
			return at, 0, err
		}
		for to := len(b); to > 0; {
			line := b[:to]
			if b[to-1] == '\n' {
				line = b[:to-1]
			}
			from := bytes.LastIndexByte(line, '\n') + 1
			if _, at, ok := read(line[from:]); ok {
				return at, size - span + int64(len(line)) + 1, nil
			}
			to = from
		}
		if span == size {
			break
		}
	}
	return at, 0, nil
}
