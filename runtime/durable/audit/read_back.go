package audit

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"

	"hatchel/runtime/durable/postgres"
)

// ReadBack implements Source.
func (f File) ReadBack(ctx context.Context, before int64, each func(*Line) bool) error {
	path := string(f)
	files, last, err := openFiles(path)
	if err != nil {
		return err
	}
	if last != nil {
		defer last.Close()
	}
	for _, name := range slices.Backward(files) {
		file := last
		if name != path {
			if file, err = os.Open(name); errors.Is(err, os.ErrNotExist) {
				return nil // the oldest files may be removed at any time
			} else if err != nil {
				return err
			}
		}
		goOn, err := readLinesBack(ctx, file, name, before, each)
		if file != last {
			file.Close()
		}
		if err != nil || !goOn {
			return err
		}
	}
	return nil
}

const blockSize = 64 << 10

// readLinesBack reads the lines of a file that are before a sequence, or all for 0, from its end on. It reports whether
// each has accepted all of them.
func readLinesBack(
	ctx context.Context, file *os.File, name string, before int64, each func(*Line) bool,
) (goOn bool, err error) {
	info, err := file.Stat()
	if err != nil {
		return false, err
	}
	head := make([]byte, min(info.Size(), 64))
	if _, err := file.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	if first, ok := sequenceOf(head); ok && before > 0 && first >= before {
		return true, nil
	}
	l := Line{File: name, Terminated: true}
	accept := func(text []byte) bool {
		if n, ok := sequenceOf(text); len(text) == 0 || ok && before > 0 && n >= before {
			return true
		}
		l.Text = text
		return each(&l)
	}
	var rest []byte // the beginning of what was read, whose first line began earlier
	for at := info.Size(); at > 0; {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		n := min(at, blockSize)
		at -= n
		block := make([]byte, n, n+int64(len(rest)))
		if _, err := file.ReadAt(block, at); err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		rest = append(block, rest...)
		for {
			i := bytes.LastIndexByte(rest, '\n')
			if i < 0 {
				break
			}
			if !accept(rest[i+1:]) {
				return false, nil
			}
			rest = rest[:i]
		}
	}
	return accept(rest), nil
}

// sequenceOf returns the sequence with which a line begins.
func sequenceOf(line []byte) (int64, bool) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"seq":`))
	text, _, found := bytes.Cut(rest, []byte{','})
	n, err := strconv.ParseInt(string(text), 10, 64)
	return n, ok && found && err == nil
}

// ReadBack implements Source.
func (d Database) ReadBack(ctx context.Context, before int64, each func(*Line) bool) error {
	conn, err := postgres.Connect(ctx, string(d))
	if err != nil {
		return err
	}
	defer postgres.Disconnect(ctx, conn)
	if before <= 0 {
		before = math.MaxInt64
	}
	for {
		const query = "SELECT seq, time, hash, line FROM hatchel_audit WHERE seq < $1 ORDER BY seq DESC LIMIT $2"
		rows, _ := conn.Query(ctx, query, before, pageSize) // CollectRows returns the error, too
		page, err := pgx.CollectRows(rows, func(from pgx.CollectableRow) (row, error) { return scanRow(from) })
		if err != nil {
			return readError(ctx, err)
		}
		for i := range page {
			l := page[i].asLine()
			if before = page[i].sequence; !each(&l) {
				return nil
			}
		}
		if len(page) < pageSize {
			return nil
		}
	}
}
