package audit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
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
