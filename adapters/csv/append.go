package csv

import (
	"context"
	stdcsv "encoding/csv"
	"fmt"
	"io"
	"os"
	"strings"

	"hatchel/adapters"
)

// maxHeader is how much of a file is read to find its first line.
const maxHeader = 1 << 20

// extend adds the rows to the file, under its lock.
func (a *action) extend(ctx context.Context, file *adapters.Entry, t *table, ready func() error) error {
	return file.Append(ctx, func(f *os.File, size int64) ([]byte, error) {
		var data []byte
		if size > 0 {
			before, err := a.before(f, size, t, file.Path)
			if err != nil {
				return nil, err
			}
			data = before
		}
		data, err := t.encode(ctx, data, a.config.Header && size == 0)
		if err != nil {
			return nil, err
		}
		return data, ready()
	})
}

// before checks that the rows belong under what stands in the file, and returns what has to come between: the end of a last line that has none.
func (a *action) before(f *os.File, size int64, t *table, path string) ([]byte, error) {
	head := make([]byte, min(size, maxHeader))
	if _, err := f.ReadAt(head, 0); err != nil && err != io.EOF {
		return nil, adapters.FileFault(err, path)
	}
	first := strings.TrimPrefix(string(head), "\ufeff")
	if i := strings.IndexByte(first, '\n'); i > 0 && first[i-1] != '\r' || i == 0 {
		t.newline = "\n" // as the file has it
	}
	if a.config.Header && len(t.rows)+len(t.columns) > 0 {
		if err := a.compare(first, t, path); err != nil {
			return nil, err
		}
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, size-1); err != nil {
		return nil, adapters.FileFault(err, path)
	}
	if last[0] != '\n' {
		return []byte(t.newline), nil
	}
	return nil, nil
}

func (a *action) compare(first string, t *table, path string) error {
	r := stdcsv.NewReader(strings.NewReader(first))
	r.Comma, r.FieldsPerRecord = a.delimiter, -1
	found, err := r.Read()
	if err != nil {
		return &adapters.Fault{Message: "the first line does not name columns: " + path, Cause: err}
	}
	if t.same(found) {
		return nil
	}
	return &adapters.Fault{Message: fmt.Sprintf("the columns of the file are %s, and those of the rows are %s: %s", names(found), names(t.columns), path)}
}

// names lists columns, not more than a sentence can hold.
func names(columns []string) string {
	const shown = 20
	var list []string
	for i, name := range columns {
		if i == shown {
			list = append(list, fmt.Sprintf("%d more", len(columns)-shown))
			break
		}
		if len(name) > 60 {
			name = strings.ToValidUTF8(name[:60], "") + "…"
		}
		list = append(list, name)
	}
	if list == nil {
		return "none"
	}
	return strings.Join(list, ", ")
}
