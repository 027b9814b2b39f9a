package audit

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"hatchel/internal/ctxtime"
)

// followInterval is the pause between two looks for new records.
const followInterval = 200 * time.Millisecond

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
	for goOn {
		if err := current.poll(next); err != nil {
			return err
		}
		if ctxtime.Sleep(ctx, followInterval) != nil {
			return nil
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
func (f *followedFile) poll(each func(*Line) bool) error {
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
	err := File(f.path).Read(context.Background(), each)
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
