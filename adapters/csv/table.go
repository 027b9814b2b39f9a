package csv

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"hatchel/adapters"
	"hatchel/hcl/value"
	"hatchel/internal/lazyregexp"
	"hatchel/internal/printable"
)

// table is the rows of one call.
type table struct {
	columns   []string
	rows      []any
	stream    adapters.RowStream // in place of rows that are not read yet
	delimiter rune
	formulas  string
	newline   string
}

func (a *action) newTable(unresolved any) (*table, error) {
	t := &table{columns: a.columns, delimiter: a.delimiter, formulas: a.block.Formulas, newline: "\r\n"}
	if stream, ok := unresolved.(adapters.RowStream); ok {
		t.stream = stream
		return t, nil
	}
	v, err := value.Resolve(unresolved)
	if err != nil {
		return nil, &adapters.Fault{Message: err.Error(), Cause: err}
	}
	var ok bool
	if t.rows, ok = v.([]any); !ok {
		return nil, &adapters.Fault{Message: "the rows must be a list of objects, not " + value.Kind(v)}
	}
	if t.columns == nil {
		t.columns, err = columnsOf(unresolved, t.rows)
	}
	return t, err
}

// columnsOf returns the columns of rows whose type does not declare them. The columns of a deferred value,
// such as the result of a query, have the order of its JSON; all others are sorted by name. Members that
// only later rows have come last.
func columnsOf(unresolved any, rows []any) ([]string, error) {
	var columns []string
	if d, ok := unresolved.(value.LazyJSON); ok && len(rows) > 0 {
		columns = keysInOrder(d.AppendJSON(nil))
	}
	known := map[string]bool{}
	for _, name := range columns {
		known[name] = true
	}
	for i, row := range rows {
		row, err := value.Resolve(row)
		if err != nil {
			return nil, &adapters.Fault{Message: err.Error(), Cause: err}
		}
		m, ok := row.(map[string]any)
		if !ok {
			return nil, notObject(i, row)
		}
		for _, name := range value.Keys(m) {
			if !known[name] {
				known[name] = true
				columns = append(columns, name)
			}
		}
	}
	return columns, nil
}

// keysInOrder returns the keys of the first object of a JSON list in their order.
func keysInOrder(doc []byte) (keys []string) {
	d := json.NewDecoder(bytes.NewReader(doc))
	for range 2 {
		if _, err := d.Token(); err != nil {
			return nil
		}
	}
	for d.More() {
		key, err := d.Token()
		name, ok := key.(string)
		var skipped json.RawMessage
		if err != nil || !ok || d.Decode(&skipped) != nil {
			return nil
		}
		keys = append(keys, name)
	}
	return keys
}

func notObject(i int, row any) error {
	return &adapters.Fault{Message: fmt.Sprintf("row %d must be an object, not %s", i+1, value.Kind(row))}
}

// fillCells sets cells to the values of a row in the order of the columns.
func (t *table) fillCells(cells []any, i int, row any) error {
	row, err := value.Resolve(row)
	if err != nil {
		return &adapters.Fault{Message: err.Error(), Cause: err}
	}
	switch row := row.(type) {
	case map[string]any:
		for j, name := range t.columns {
			cells[j] = row[name]
		}
		return nil
	case []any:
		if len(row) == len(cells) {
			copy(cells, row)
			return nil
		}
		message := fmt.Sprintf("row %d has %d cells, but there are %d columns", i+1, len(row), len(cells))
		return &adapters.Fault{Message: message}
	}
	return notObject(i, row)
}

// appendRecord appends one record; row 0 is the header.
func (t *table) appendRecord(dst []byte, row int, cells []any) ([]byte, error) {
	start := len(dst)
	for i, v := range cells {
		if i > 0 {
			dst = append(dst, string(t.delimiter)...)
		}
		text, err := t.cellText(v)
		if err != nil {
			return nil, &adapters.Fault{Message: fmt.Sprintf("%s, column %s: %v", recordName(row), t.columns[i], err)}
		}
		dst = t.appendCell(dst, text)
	}
	if len(dst) == start {
		dst = append(dst, `""`...) // readers skip empty lines
	}
	return append(dst, t.newline...), nil
}

func recordName(row int) string {
	if row == 0 {
		return "the header"
	}
	return fmt.Sprintf("row %d", row)
}

func (t *table) cellText(v any) (string, error) {
	v, err := value.Resolve(v)
	if err != nil {
		return "", err
	}
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return t.escapeFormula(v)
	case value.Bytes:
		return "", errors.New("a CSV file cannot contain bytes; base64encode(…) converts them to text")
	}
	return value.Text(v)
}

// escapeFormula treats a text that a spreadsheet would interpret as a formula as the block demands.
func (t *table) escapeFormula(s string) (string, error) {
	if t.formulas == formulasKeep || !printable.StartsFormula(s) || plainNumber.MatchString(s) {
		return s, nil
	}
	if t.formulas == formulasRefuse {
		first, _ := utf8.DecodeRuneInString(s)
		return "", fmt.Errorf("the text begins with %q, so a spreadsheet would interpret it as a formula",
			string(first))
	}
	return "'" + s, nil
}

// plainNumber matches a number without an exponent, such as a decimal of a database, and the texts of PostgreSQL and
// SQLite for infinity.
var plainNumber = lazyregexp.New(`^[-+]?([0-9]+(\.[0-9]+)?|Infinity|9e999)$`)

// appendCell appends a cell. It adds quotes where RFC 4180 requires them, and where a reader could mistake
// a space or another delimiter.
func (t *table) appendCell(dst []byte, s string) []byte {
	special := strings.ContainsAny(s, "\"\r\n,;\t|") || strings.ContainsRune(s, t.delimiter) ||
		strings.HasPrefix(s, " ") || strings.HasSuffix(s, " ")
	s = strings.ToValidUTF8(s, "\uFFFD")
	if !special {
		return append(dst, s...)
	}
	dst = append(dst, '"')
	dst = append(dst, strings.ReplaceAll(s, `"`, `""`)...)
	return append(dst, '"')
}

// hasColumns reports whether the columns of a file are those of the table.
func (t *table) hasColumns(columns []string) bool {
	expected := make([]string, len(t.columns))
	for i, name := range t.columns {
		expected[i], _ = t.escapeFormula(name)
	}
	return slices.Equal(expected, columns)
}
