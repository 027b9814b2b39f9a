package file

import (
	"io"

	"hatchel/hcl/value"
)

// jsonRows writes the rows of a query as a JSON list of objects.
type jsonRows struct {
	to   io.Writer
	keys [][]byte // `"name":`
	next byte     // what precedes the next row
	buf  []byte
	size int // of what was written
}

// maxBuffered is how many bytes are written at once.
const maxBuffered = 64 << 10

// Begin implements adapters.RowReader.
func (r *jsonRows) Begin(columns []string) error {
	for _, name := range columns {
		r.keys = append(r.keys, append(value.AppendString(nil, name), ':'))
	}
	r.next = '['
	return nil
}

// Row implements adapters.RowReader.
func (r *jsonRows) Row(cells []any) (err error) {
	r.buf = append(r.buf, r.next, '{')
	r.next = ','
	for i, v := range cells {
		if i > 0 {
			r.buf = append(r.buf, ',')
		}
		if r.buf, err = value.AppendJSON(append(r.buf, r.keys[i]...), v); err != nil {
			return err
		}
	}
	if r.buf = append(r.buf, '}'); len(r.buf) < maxBuffered {
		return nil
	}
	return r.flush()
}

// end writes what follows the last row.
func (r *jsonRows) end() error {
	if r.next == '[' {
		r.buf = append(r.buf, '[')
	}
	r.buf = append(r.buf, "]\n"...)
	return r.flush()
}

func (r *jsonRows) flush() error {
	n, err := r.to.Write(r.buf)
	r.size, r.buf = r.size+n, r.buf[:0]
	return err
}
