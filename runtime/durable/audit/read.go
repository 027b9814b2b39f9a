package audit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"hatchel/internal/backoff"
)

// Line is one line of a log, as it is in a file or in a row.
type Line struct {
	File       string
	Number     int    // from 1
	Text       []byte // without the line break; valid until the next line is read
	Terminated bool   // false for the last line of a file without a line break

	mismatch bool // the columns of the row do not match the line
}

// Record decodes the line. It reports false when the line is not a record that matches its hash.
func (l *Line) Record() (Record, bool) {
	var r Record
	if _, _, ok := parseLine(l.Text); !ok || l.mismatch || json.Unmarshal(l.Text, &r) != nil {
		return Record{}, false
	}
	return r, true
}

// Source is a log that can be read: a [File] or a [Database].
type Source interface {
	// Read calls each with every line of the log, in the order in which they were written, until each
	// reports false.
	Read(ctx context.Context, each func(*Line) bool) error

	// ReadBack calls each with the lines before a sequence, or all for 0, the newest first, until each reports false.
	// Lines in files have no Number.
	ReadBack(ctx context.Context, before int64, each func(*Line) bool) error

	// Follow is like Read, and then continues with new lines until ctx ends or each reports false.
	Follow(ctx context.Context, each func(*Line) bool) error
}

// File is the path of a log in files.
type File string

// Read implements Source. It ignores the context.
func (f File) Read(_ context.Context, each func(*Line) bool) error {
	path := string(f)
	files, last, err := openFiles(path)
	if err != nil {
		return err
	}
	if last != nil {
		defer last.Close()
	}
	began := false
	for _, name := range files {
		f := last
		if name != path {
			if f, err = os.Open(name); errors.Is(err, os.ErrNotExist) && !began {
				continue // the oldest files may be removed at any time
			} else if err != nil {
				return err
			}
		}
		goOn, err := readLines(f, name, 0, each)
		if f != last {
			f.Close()
		}
		if err != nil || !goOn {
			return err
		}
		began = true
	}
	return nil
}

// openFiles returns the files of a log at one moment, and opens the one at its path, because that may
// be rotated before it is read.
func openFiles(path string) (files []string, last *os.File, err error) {
	for {
		if last, err = os.Open(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, nil, err
		}
		files, err = Files(path)
		hasLast := len(files) > 0 && files[len(files)-1] == path
		if err == nil && (last != nil) == hasLast && (!hasLast || isAt(path, last)) {
			return files, last, nil
		}
		if last != nil {
			last.Close()
		}
		if err != nil {
			return nil, nil, err
		}
	}
}

// isAt reports whether a path leads to an open file.
func isAt(path string, f interface{ Stat() (os.FileInfo, error) }) bool {
	there, err := os.Stat(path)
	here, statErr := f.Stat()
	return err == nil && statErr == nil && os.SameFile(there, here)
}

// readLines reads lines; the number of the first one is before + 1. It reports whether each has
// accepted all of them.
func readLines(f io.Reader, name string, before int, each func(*Line) bool) (goOn bool, err error) {
	in := bufio.NewReaderSize(f, 64<<10)
	l := Line{File: name, Number: before}
	var long []byte
	for {
		part, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long, part...)
			continue
		}
		if len(long) > 0 {
			part = append(long, part...)
			long = long[:0]
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		if len(part) > 0 {
			l.Number++
			l.Text, l.Terminated = bytes.CutSuffix(part, []byte("\n"))
			if !each(&l) {
				return false, nil
			}
		}
		if err != nil {
			return true, nil
		}
	}
}

// followBackoff is how often new records are looked for.
var followBackoff = backoff.Policy{First: 200 * time.Millisecond}

// Follow implements Source.
func (f File) Follow(ctx context.Context, each func(*Line) bool) error {
	last := int64(0)
	eachNew := func(l *Line) bool {
		_, head, ok := parseLine(l.Text)
		switch {
		case !ok && !l.Terminated:
			return true // it is being written
		case ok && head.sequence <= last:
			return true
		case ok:
			last = head.sequence
		}
		return each(l)
	}
	goOn := true
	next := func(l *Line) bool { goOn = goOn && eachNew(l); return goOn }
	current := followedFile{path: string(f)}
	defer current.close()
	current.open()
	if err := f.Read(ctx, next); err != nil && !errors.Is(err, os.ErrNotExist) || !goOn {
		return err
	}
	for range followBackoff.Attempts(ctx) {
		if err := current.poll(ctx, next); err != nil || !goOn {
			return err
		}
	}
	return nil
}

// followedFile is the file at the path of a log, which is read as it grows.
type followedFile struct {
	path   string
	file   *os.File
	number int // of the last line that was read
	offset int64
}

func (f *followedFile) close() {
	if f.file != nil {
		f.file.Close()
	}
}

// open opens the file at the path, if there is one.
func (f *followedFile) open() {
	f.number, f.offset = 0, 0
	if file, err := os.Open(f.path); err == nil {
		f.file = file
	}
}

// poll reads new lines. After a rotation it reads the old file to its end before the new one.
func (f *followedFile) poll(ctx context.Context, each func(*Line) bool) error {
	if f.file != nil {
		if err := f.read(each); err != nil {
			return err
		}
	}
	if _, err := os.Stat(f.path); err != nil {
		return nil // in the middle of a rotation, or before the first file
	}
	if f.file != nil {
		if isAt(f.path, f.file) {
			return nil
		}
		if err := f.read(each); err != nil {
			return err
		}
		f.close()
		f.file = nil
	}
	f.open()
	// Several files may have become full since the last poll. Lines that were read before are
	// skipped.
	err := File(f.path).Read(ctx, each)
	if err != nil && !errors.Is(err, os.ErrNotExist) || f.file == nil {
		return err
	}
	return f.read(each)
}

// read reads the complete lines after the offset.
func (f *followedFile) read(each func(*Line) bool) error {
	if _, err := f.file.Seek(f.offset, io.SeekStart); err != nil {
		return err
	}
	_, err := readLines(f.file, filepath.Clean(f.path), f.number, func(l *Line) bool {
		if !l.Terminated {
			return false
		}
		f.offset += int64(len(l.Text)) + 1
		f.number = l.Number
		return each(l)
	})
	return err
}
