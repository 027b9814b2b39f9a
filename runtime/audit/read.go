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
)

// Line is one line of a log as it is in a file, or in a row.
type Line struct {
	File   string
	Number int    // from 1
	Text   []byte // without its end; good until the next line is read
	Ended  bool   // false for the last line of a file that lacks its end

	apart bool // the columns beside it say something else
}

// Record reads the line. It reports false when it is not a record that agrees with its hash.
func (l *Line) Record() (Record, bool) {
	var r Record
	if _, _, ok := read(l.Text); !ok || l.apart || json.Unmarshal(l.Text, &r) != nil {
		return Record{}, false
	}
	return r, true
}

// Read gives every line of the files of a log to each, in the order in which they were written, until each reports false.
func Read(path string, each func(*Line) bool) error {
	files, last, err := at(path)
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
				continue // the oldest may be removed at any time
			} else if err != nil {
				return err
			}
		}
		_, goOn, err := lines(f, name, 0, each)
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

// at are the files of a log at one moment, and the one at its path, opened: it may be full, and have another name, before it is read.
func at(path string) (files []string, last *os.File, err error) {
	for {
		if last, err = os.Open(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, nil, err
		}
		files, err = Files(path)
		if err == nil && (last == nil) == (len(files) == 0 || files[len(files)-1] != path) && sameAt(path, last) {
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

// sameAt reports whether a path still leads to a file; a nil file is none.
func sameAt(path string, f *os.File) bool {
	there, err := os.Stat(path)
	if f == nil {
		return err != nil
	}
	here, mine := f.Stat()
	return err == nil && mine == nil && os.SameFile(there, here)
}

// lines reads a file from where it stands. It returns how many lines it has read.
func lines(f io.Reader, name string, before int, each func(*Line) bool) (n int, goOn bool, err error) {
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
			return l.Number - before, false, err
		}
		if len(part) > 0 {
			l.Number++
			l.Text, l.Ended = bytes.CutSuffix(part, []byte("\n"))
			if !each(&l) {
				return l.Number - before, false, nil
			}
		}
		if err != nil {
			return l.Number - before, true, nil
		}
	}
}

// pause is how long Follow waits before it looks again.
const pause = 200 * time.Millisecond

// Follow is Read, and then gives the lines that are written later, from whichever file of the log, until ctx ends or each reports false.
func Follow(ctx context.Context, path string, each func(*Line) bool) error {
	seen := int64(0)
	unseen := func(l *Line) bool {
		_, at, ok := read(l.Text)
		switch {
		case !ok && !l.Ended:
			return true // it is being written
		case ok && at.sequence <= seen:
			return true
		case ok:
			seen = at.sequence
		}
		return each(l)
	}
	more := true
	next := func(l *Line) bool { more = more && unseen(l); return more }
	t := tailed{path: path}
	defer t.close()
	t.begin()
	if err := Read(path, next); err != nil && !errors.Is(err, os.ErrNotExist) || !more {
		return err
	}
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for more {
		if err := t.look(next); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// tailed is the file at the path of a log, from which lines are read as they come.
type tailed struct {
	path   string
	file   *os.File
	number int
	offset int64
}

func (t *tailed) close() {
	if t.file != nil {
		t.file.Close()
	}
}

// begin opens the file that is at the path, if one is.
func (t *tailed) begin() {
	t.number, t.offset = 0, 0
	if f, err := os.Open(t.path); err == nil {
		t.file = f
	}
}

// look reads the lines that have come. What was written into a file before it was full is read before the next one.
func (t *tailed) look(each func(*Line) bool) error {
	if t.file != nil {
		if err := t.read(each); err != nil {
			return err
		}
	}
	there, err := os.Stat(t.path)
	if err != nil {
		return nil // between two files, or before the first
	}
	if t.file != nil {
		if here, err := t.file.Stat(); err == nil && os.SameFile(here, there) {
			return nil
		}
		if err := t.read(each); err != nil {
			return err
		}
		t.close()
		t.file = nil
	}
	t.begin()
	// All that was written since the last look may be in files that are full by now, and more while they are read; each line is given once.
	if err := Read(t.path, each); err != nil && !errors.Is(err, os.ErrNotExist) || t.file == nil {
		return err
	}
	return t.read(each)
}

// read gives the whole lines that follow the offset.
func (t *tailed) read(each func(*Line) bool) error {
	if _, err := t.file.Seek(t.offset, io.SeekStart); err != nil {
		return err
	}
	_, _, err := lines(t.file, filepath.Clean(t.path), t.number, func(l *Line) bool {
		if !l.Ended {
			return false
		}
		t.offset += int64(len(l.Text)) + 1
		t.number = l.Number
		return each(l)
	})
	return err
}
