package csv

import (
	"context"
	"io"
	"slices"
)

// tableWriter writes the records of a table.
type tableWriter struct {
	ctx    context.Context
	table  *table
	to     io.Writer
	header bool
	// checkExisting checks that the file has the columns of the table, and returns what is missing at its
	// end; nil for a new file.
	checkExisting func() ([]byte, error)

	count int   // rows
	from  []int // the index in a streamed row of each column, or -1
	cells []any
	buf   []byte
}

const (
	// ctxCheckInterval is the number of rows encoded between two checks of the context.
	ctxCheckInterval = 4096
	// maxBuffered is how many bytes are written at once.
	maxBuffered = 64 << 10
)

func (w *tableWriter) write() error {
	t := w.table
	if t.stream != nil {
		if err := t.stream.Read(w.ctx, w); err != nil {
			return err
		}
		return w.flush()
	}
	if err := w.begin(); err != nil {
		return err
	}
	for i, row := range t.rows {
		if err := t.fillCells(w.cells, i, row); err != nil {
			return err
		}
		if err := w.add(); err != nil {
			return err
		}
	}
	return w.flush()
}

// Begin implements adapters.RowReader.
func (w *tableWriter) Begin(columns []string) error {
	t := w.table
	if t.columns == nil {
		t.columns = columns
	}
	for _, name := range t.columns {
		w.from = append(w.from, slices.Index(columns, name))
	}
	return w.begin()
}

// Row implements adapters.RowReader.
func (w *tableWriter) Row(row []any) error {
	for i, from := range w.from {
		if w.cells[i] = nil; from >= 0 {
			w.cells[i] = row[from]
		}
	}
	return w.add()
}

// begin writes what precedes the rows.
func (w *tableWriter) begin() (err error) {
	t := w.table
	w.cells = make([]any, len(t.columns))
	if w.checkExisting != nil {
		if w.buf, err = w.checkExisting(); err != nil {
			return err
		}
	}
	if !w.header || len(t.columns) == 0 {
		return nil
	}
	for i, name := range t.columns {
		w.cells[i] = name
	}
	w.buf, err = t.appendRecord(w.buf, 0, w.cells)
	return err
}

// add writes the cells as a record.
func (w *tableWriter) add() (err error) {
	if w.count%ctxCheckInterval == 0 && w.ctx.Err() != nil {
		return w.ctx.Err()
	}
	w.count++
	if w.buf, err = w.table.appendRecord(w.buf, w.count, w.cells); err != nil || len(w.buf) < maxBuffered {
		return err
	}
	return w.flush()
}

func (w *tableWriter) flush() error {
	_, err := w.to.Write(w.buf)
	w.buf = w.buf[:0]
	return err
}
