package sql

import (
	"errors"
	"strconv"
	"sync/atomic"

	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

var errDifferentColumns = errors.New("the rows of the elements have different columns, so they are no one list")

// maxTable is how many bytes the rows of one call may hold. More is cut like max_rows.
const maxTable = 16 << 20

// A column is one member of every row.
type column struct {
	name string
	typ  *schema.Type // of its values, null included
}

// A heading is the columns of a table in the order of the statement, their names made distinct.
type heading struct {
	columns []column
	keys    [][]byte // `"name":`
}

// newHeading gives a second column of a name the name with _2, a third with _3: a row is an object, whose names are distinct.
func newHeading(columns []column) *heading {
	h := &heading{columns: columns}
	used := map[string]bool{}
	for _, c := range columns {
		used[c.name] = true
	}
	seen := map[string]bool{}
	for i, c := range columns {
		name := c.name
		for n := 2; seen[name]; n++ {
			if next := c.name + "_" + strconv.Itoa(n); !used[next] {
				name = next
			}
		}
		seen[name] = true
		columns[i].name = name
		h.keys = append(h.keys, append(value.AppendString(nil, name), ':'))
	}
	return h
}

// A table is the rows of a result: a Deferred list of objects, whose JSON has the members in the order of the columns. It does not change once
// the call that made it has returned.
type table struct {
	heading   *heading
	cells     []any // row by row: values of a call, and int64 as drivers give it
	rows      int
	limit     int // rows it takes
	size      int // bytes of its texts
	truncated bool
	decoded   atomic.Pointer[[]any]
}

// take makes room for one row and returns its cells, or nil if the table is full; then it is truncated.
func (t *table) take() []any {
	if t.rows >= t.limit || t.size > maxTable {
		t.truncated = true
		return nil
	}
	t.rows++
	n := len(t.heading.columns)
	if t.cells == nil {
		t.cells = make([]any, 0, 2*n)
	}
	start := len(t.cells)
	for range n {
		t.cells = append(t.cells, nil)
	}
	t.size += 16 * n
	return t.cells[start : start+n : start+n]
}

// AppendJSON appends the list of rows.
func (t *table) AppendJSON(dst []byte) []byte {
	dst = append(dst, '[')
	for i := range t.rows {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = t.appendRow(dst, i)
	}
	return append(dst, ']')
}

func (t *table) appendRow(dst []byte, row int) []byte {
	dst = append(dst, '{')
	n := len(t.heading.keys)
	for i, v := range t.cells[row*n : row*n+n] {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, t.heading.keys[i]...)
		dst = appendCell(dst, v)
	}
	return append(dst, '}')
}

func appendCell(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case int:
		return strconv.AppendInt(dst, int64(v), 10)
	case string:
		return value.AppendString(dst, v)
	}
	dst, err := value.AppendJSON(dst, v)
	if err != nil { // cells hold neither bytes nor infinities
		panic(err)
	}
	return dst
}

// Value returns the rows as objects, made once.
func (t *table) Value() (any, error) {
	if known := t.decoded.Load(); known != nil {
		return *known, nil
	}
	list := make([]any, t.rows)
	for i := range list {
		list[i] = t.object(i)
	}
	t.decoded.Store(&list)
	return list, nil
}

func (t *table) object(row int) map[string]any {
	n := len(t.heading.columns)
	out := make(map[string]any, n)
	for i, v := range t.cells[row*n : row*n+n] {
		if number, ok := v.(int64); ok {
			v = int(number)
		}
		out[t.heading.columns[i].name] = v
	}
	return out
}

// first is the first row, or nil.
func (t *table) first() any {
	if t.rows == 0 {
		return nil
	}
	return firstRow{t}
}

// firstRow is the Deferred first row of a table.
type firstRow struct{ table *table }

func (r firstRow) AppendJSON(dst []byte) []byte { return r.table.appendRow(dst, 0) }

func (r firstRow) Value() (any, error) { return r.table.object(0), nil }

// head says what columns the rows have that come next. A table of several executions has one heading.
func (t *table) head(h *heading) error {
	if t.heading != nil && t.heading != h {
		if len(t.heading.columns) != len(h.columns) {
			return refusal{errDifferentColumns}
		}
		for i, c := range h.columns {
			if t.heading.columns[i].name != c.name {
				return refusal{errDifferentColumns}
			}
		}
	}
	t.heading = h
	return nil
}
