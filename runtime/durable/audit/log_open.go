package audit

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"hatchel/internal/filelock"
	"hatchel/internal/operator"
)

const (
	fileMode   = 0o600
	lockSuffix = ".lock"
	nextSuffix = ".next" // of the new file during a rotation
)

// Open opens the log in a file and continues its chain. It creates a missing file. No other process
// can open the log before Close. An error is a sentence for the operator, without the path.
func Open(path string, limits Limits) (*Log, error) {
	lock, err := lockLog(path + lockSuffix)
	if err != nil {
		return nil, err
	}
	l := &Log{path: path, lock: lock, limits: limits, head: chainHead{hash: genesis}}
	if err := l.open(); err != nil {
		if l.file != nil {
			l.file.Close()
		}
		lock.Close()
		return nil, err
	}
	return l, nil
}

// Stream returns a log on a writer. Its chain starts with this process. If the reader of the stream does not read for
// some seconds, Append fails; the record may be in the stream later.
func Stream(w io.Writer) (*Log, error) {
	l := &Log{stream: &stream{w: w}, head: chainHead{hash: genesis}}
	return l, l.Append(openedRecord(""), false)
}

// openedRecord returns the first record of this process in a file or a table, whose name is empty for a stream.
func openedRecord(name string) *Record {
	r := NewRecord(EventOpened, Common{})
	r.Format, r.File, r.Process = Format, name, os.Getpid()
	return r
}

// recoveredRecord returns the first record after an error.
func recoveredRecord(err error) *Record {
	r := NewRecord(EventRecovered, Common{})
	r.Message = err.Error()
	return r
}

// lockLog makes this process the only writer, until the returned lock is closed or the process
// ends. The lock file holds the ID of the process.
func lockLog(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, operator.FileError(err, "its lock file cannot be created")
	}
	if locked, err := filelock.TryLock(f); err != nil || !locked {
		holder, _ := io.ReadAll(io.LimitReader(f, 32))
		f.Close()
		if err != nil {
			return nil, operator.Error("it cannot be locked: " + err.Error())
		}
		if pid, err := strconv.Atoi(strings.TrimSpace(string(holder))); err == nil {
			return nil, operator.Error(fmt.Sprintf("process %d has it open, and only one process can write it", pid))
		}
		return nil, operator.Error("another process has it open, and only one process can write it")
	}
	if err := f.Truncate(0); err == nil {
		f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return f, nil
}

func (l *Log) open() (err error) {
	info, err := os.Stat(l.path)
	if err == nil && !info.Mode().IsRegular() {
		return operator.Error("it is not a regular file")
	}
	os.Remove(l.path + nextSuffix) // of an interrupted rotation
	f, err := os.OpenFile(l.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, fileMode)
	if err != nil {
		return operator.FileError(err, "it cannot be opened")
	}
	l.file = f
	if l.size, err = f.Seek(0, io.SeekEnd); err != nil {
		return operator.FileError(err, "it cannot be read")
	}
	if err := l.findHead(f); err != nil {
		return err
	}
	l.written.Store(l.head.sequence)
	if err := l.Append(openedRecord(filepath.Base(l.path)), true); err != nil {
		return operator.FileError(err, "it cannot be written")
	}
	return operator.FileError(syncDir(filepath.Dir(l.path)), "its directory cannot be written")
}

// findHead finds the last record: in the file, or, when that has no record yet, in the last full
// file.
func (l *Log) findHead(f *os.File) error {
	head, end, err := lastRecord(f, anySequence)
	if err != nil {
		return operator.FileError(err, "it cannot be read")
	}
	if head.sequence == 0 {
		if l.size > 0 && !looksLikeLog(f) {
			return operator.Error("it is not an audit log, or its end is damaged: " +
				"`hatchel audit --verify` shows where. Configure another file")
		}
		full, err := findFullFiles(l.path)
		if err != nil {
			return operator.FileError(err, "its directory cannot be read")
		}
		if len(full) > 0 {
			if head, err = headOf(full[len(full)-1].name); err != nil {
				return err
			}
		}
	}
	if head.sequence > 0 {
		l.head = head
	}
	return l.readTail(f, end)
}

// readTail reads what follows the last record, from an offset on.
func (l *Log) readTail(f *os.File, from int64) error {
	if from == l.size+1 { // the record lacks its line break
		l.unterminated = true
		return nil
	}
	if from >= l.size {
		return nil
	}
	l.tail = newPartialTail()
	_, err := io.Copy(l.tail, io.NewSectionReader(f, from, l.size-from))
	return operator.FileError(err, "it cannot be read")
}

// looksLikeLog reports whether a file without a record may be a log whose first line is incomplete.
func looksLikeLog(f *os.File) bool {
	start := make([]byte, 64)
	n, _ := f.ReadAt(start, 0)
	start = start[:n]
	const first = `{"seq":`
	return bytes.HasPrefix(start, []byte(first)) || bytes.HasPrefix([]byte(first), start) ||
		len(bytes.Trim(start, "\x00")) == 0
}

// headOf returns the last record of a full file.
func headOf(name string) (chainHead, error) {
	f, err := os.Open(name)
	if err != nil {
		return chainHead{}, operator.FileError(err, "the file before it cannot be read")
	}
	defer f.Close()
	head, _, err := lastRecord(f, anySequence)
	if err != nil || head.sequence == 0 {
		return chainHead{}, operator.Error("the file before it, " + filepath.Base(name) +
			", has no record at its end: `hatchel audit --verify` shows the damage")
	}
	return head, nil
}

// tailWindow is how many bytes of the end of a file are searched first for its last record.
const tailWindow = 256 << 10

// lastRecord finds the last record of a file up to a sequence, and the offset of what follows it. The offset is one
// byte beyond the end of the file when the record lacks its line break.
func lastRecord(f *os.File, upTo int64) (head chainHead, end int64, err error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return head, 0, err
	}
	for window := min(tailWindow, size); window > 0; window = min(window*8, size) {
		b := make([]byte, window)
		if _, err := f.ReadAt(b, size-window); err != nil {
			return head, 0, err
		}
		for to := len(b); to > 0; {
			line := b[:to]
			if b[to-1] == '\n' {
				line = b[:to-1]
			}
			from := bytes.LastIndexByte(line, '\n') + 1
			if _, head, ok := parseLine(line[from:]); ok && head.sequence <= upTo {
				return head, size - window + int64(len(line)) + 1, nil
			}
			to = from
		}
		if window == size {
			break
		}
	}
	return head, 0, nil
}
