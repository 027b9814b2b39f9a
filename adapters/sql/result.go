package sql

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"sync/atomic"

	"hatchel/adapters"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

var errDifferentColumns = errors.New("the rows of the elements have different columns, so they do not form one list")

// maxResultSize is the maximum size in bytes of the rows of one call. Larger results are truncated.
const maxResultSize = 16 << 20

// column is one member of every row.
type column struct {
	name string
	typ  *schema.Type // of its values, null included
}

// resultColumns are the columns of a result in the order of the statement. Their names are distinct.
type resultColumns struct {
	columns  []column
	jsonKeys [][]byte // `"name":`
}

// newResultColumns renames repeated columns to name_2, name_3 and so on, because a row is an object.
func newResultColumns(columns []column) *resultColumns {
	c := &resultColumns{columns: columns}
	original := map[string]bool{}
	for _, col := range columns {
		original[col.name] = true
	}
	taken := map[string]bool{}
	for i, col := range columns {
		name := col.name
		for n := 2; taken[name]; n++ {
			if next := col.name + "_" + strconv.Itoa(n); !original[next] {
				name = next
			}
		}
		taken[name] = true
		columns[i].name = name
		c.jsonKeys = append(c.jsonKeys, append(value.AppendString(nil, name), ':'))
	}
	return c
}

// resultSet holds the rows of a result. It is a LazyJSON list of objects whose JSON has the members in
// the order of the columns. It does not change after the call that made it has returned.
type resultSet struct {
	columns   *resultColumns
	cells     []any // row by row; values of the language, and int64 from drivers
	rows      int
	maxRows   int
	size      int // bytes
	truncated bool
	decoded   atomic.Pointer[[]any]
	stream    *rowStream // receives the rows, which are not kept; nil if they are

	accept func([]column) error // is asked before the first row; nil if every column is accepted
}

// output returns the members of output that hold rows.
func (t *resultSet) output() map[string]any {
	return map[string]any{"rows": t, "row": t.rowAt(0), "truncated": t.truncated}
}

// addRow appends a row and returns its cells to fill. It returns nil and marks the result as truncated
// if a limit is reached.
func (t *resultSet) addRow() []any {
	if t.stream != nil {
		return t.stream.addRow()
	}
	if t.rows >= t.maxRows || t.size > maxResultSize {
		t.truncated = true
		return nil
	}
	t.rows++
	n := len(t.columns.columns)
	if t.cells == nil {
		t.cells = make([]any, 0, 2*n)
	}
	start := len(t.cells)
	t.cells = append(t.cells, make([]any, n)...)
	t.size += 16 * n
	return t.cells[start : start+n : start+n]
}

// AppendJSON implements value.LazyJSON.
func (t *resultSet) AppendJSON(dst []byte) []byte {
	dst = append(dst, '[')
	for i := range t.rows {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = t.appendRow(dst, i)
	}
	return append(dst, ']')
}

func (t *resultSet) appendRow(dst []byte, row int) []byte {
	dst = append(dst, '{')
	n := len(t.columns.jsonKeys)
	for i, v := range t.cells[row*n : row*n+n] {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, t.columns.jsonKeys[i]...)
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
	if err != nil { // impossible: cells hold neither bytes nor infinities
		panic(err)
	}
	return dst
}

// Weight returns that of the decoded rows; see value.Weight.
func (t *resultSet) Weight() int64 { return int64(t.size + 32*len(t.cells)) }

// Rows returns how many rows there are, without decoding them.
func (t *resultSet) Rows() int { return t.rows }

// Value implements value.LazyJSON.
func (t *resultSet) Value() (any, error) {
	if decoded := t.decoded.Load(); decoded != nil {
		return *decoded, nil
	}
	list := make([]any, t.rows)
	for i := range list {
		list[i] = t.object(i)
	}
	t.decoded.Store(&list)
	return list, nil
}

func (t *resultSet) object(row int) map[string]any {
	n := len(t.columns.columns)
	out := make(map[string]any, n)
	for i, v := range t.cells[row*n : row*n+n] {
		if number, ok := v.(int64); ok {
			v = int(number)
		}
		out[t.columns.columns[i].name] = v
	}
	return out
}

// rowAt returns a row, or nil if there is none.
func (t *resultSet) rowAt(i int) any {
	if i >= t.rows {
		return nil
	}
	return deferredRow{t, i}
}

// deferredRow is one row as LazyJSON of a result.
type deferredRow struct {
	result *resultSet
	index  int
}

func (r deferredRow) AppendJSON(dst []byte) []byte { return r.result.appendRow(dst, r.index) }

func (r deferredRow) Value() (any, error) { return r.result.object(r.index), nil }

// Columns implements adapters.Rows.
func (t *resultSet) Columns() []string {
	if t.columns == nil {
		return nil
	}
	names := make([]string, len(t.columns.columns))
	for i, c := range t.columns.columns {
		names[i] = c.name
	}
	return names
}

// WithCells implements adapters.Rows.
func (t *resultSet) WithCells(all []bool, change func(column int, cell any) (any, error)) (value.LazyJSON, error) {
	return t.withCells(0, t.rows, all, change)
}

func (t *resultSet) withCells(from, to int, all []bool, change func(int, any) (any, error)) (*resultSet, error) {
	if t.columns == nil {
		return t, nil // the statement has no rows
	}
	n := len(t.columns.columns)
	other := &resultSet{columns: t.columns, cells: slices.Clone(t.cells[from*n : to*n]), rows: to - from,
		maxRows: t.maxRows, size: t.size, truncated: t.truncated}
	for row := other.cells; len(row) > 0; row = row[n:] {
		for i, cell := range row[:n] {
			if !all[i] && adapters.HasNoParts(cell) {
				continue
			}
			if number, ok := cell.(int64); ok {
				cell = int(number)
			}
			var err error
			if row[i], err = change(i, cell); err != nil {
				return nil, err
			}
		}
	}
	return other, nil
}

// Columns implements adapters.Rows.
func (r deferredRow) Columns() []string { return r.result.Columns() }

// WithCells implements adapters.Rows.
func (r deferredRow) WithCells(all []bool, change func(column int, cell any) (any, error)) (value.LazyJSON, error) {
	other, err := r.result.withCells(r.index, r.index+1, all, change)
	return deferredRow{other, 0}, err
}

// setColumns sets the columns of the rows added next. All executions of one result have the same
// columns.
func (t *resultSet) setColumns(c *resultColumns) error {
	sameName := func(a, b column) bool { return a.name == b.name }
	if t.columns != nil && t.columns != c && !slices.EqualFunc(t.columns.columns, c.columns, sameName) {
		return modelError{errDifferentColumns}
	}
	t.columns = c
	if t.accept != nil {
		if err := t.accept(c.columns); err != nil {
			return err
		}
	}
	if t.stream != nil {
		return t.stream.begin(c)
	}
	return nil
}

// columnType is the type of a column, and how the text form of its values is converted.
type columnType struct {
	schema  *schema.Type
	convert func([]byte) any
}

// typedColumns are the columns of a result.
type typedColumns struct {
	resultColumns
	types []columnType
}

func nullable(k schema.Kind, doc string) *schema.Type {
	return &schema.Type{Kind: k, Nullable: true, Description: doc}
}

// Types that several engines have.
var (
	textType      = columnType{nullable(schema.String, ""), convertString}
	dateType      = columnType{nullable(schema.String, "date"), convertString}
	decimalText   = columnType{nullable(schema.String, "decimal"), convertString}
	decimalNumber = columnType{numberOrName("decimal"), convertDecimal}
	jsonType      = columnType{&schema.Type{Kind: schema.Any}, convertJSON}
)

func convertString(b []byte) any { return string(b) }

func convertInteger(b []byte) any {
	n, err := strconv.Atoi(string(b))
	if err != nil {
		return string(b)
	}
	return n
}

// numberOrName is the type of numbers of which some have a name, for JSON has no number that is infinite or none.
func numberOrName(doc string) *schema.Type {
	names := &schema.Type{Kind: schema.String}
	for _, name := range []string{"NaN", "Infinity", "-Infinity"} {
		names.Enum = append(names.Enum, schema.EnumValue{Value: name})
	}
	t := schema.OneOf(&schema.Type{Kind: schema.Number}, names).AsNullable()
	t.Description = doc
	return t
}

// convertFloat returns NaN and the infinities by the names that PostgreSQL writes and reads.
func convertFloat(b []byte) any {
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return string(b)
	}
	return f
}

// maxExactInteger is the largest integer up to which JavaScript holds all of them.
const maxExactInteger = 1<<53 - 1

// bigIntegerType is the type of integers of which those beyond maxExactInteger are texts.
var bigIntegerType = schema.OneOf(&schema.Type{Kind: schema.Integer}, &schema.Type{Kind: schema.String}).AsNullable()

// textOfBig returns an integer beyond maxExactInteger as its text, and any other value unchanged.
func textOfBig(v any) any {
	switch n := v.(type) {
	case int:
		if n < -maxExactInteger || n > maxExactInteger {
			return strconv.Itoa(n)
		}
	case int64:
		if n < -maxExactInteger || n > maxExactInteger {
			return strconv.FormatInt(n, 10)
		}
	case json.Number:
		return string(n)
	}
	return v
}

// convertNumber returns a number with more digits than numbers have as its text.
func convertNumber(b []byte) any {
	n, err := value.ParseNumber(string(b))
	if err != nil {
		return string(b)
	}
	return n
}

func convertDecimal(b []byte) any {
	if len(b) == 0 || b[len(b)-1] < '0' || b[len(b)-1] > '9' { // NaN, Infinity
		return string(b)
	}
	return convertNumber(b)
}

func convertJSON(b []byte) any {
	v, err := value.Decode(b)
	if err != nil { // databases allow duplicate keys
		return string(b)
	}
	return v
}
