package csv

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl/value"
)

// A table is the rows of one call under their columns.
type table struct {
	columns   []string
	rows      []any
	delimiter rune
	formulas  string
	newline   string
}

func (a *action) table(v any) (*table, error) {
	t := &table{columns: a.columns, delimiter: a.delimiter, formulas: a.config.Formulas, newline: "\r\n"}
	written := v
	v, err := value.Resolve(v)
	if err != nil {
		return nil, &adapters.Fault{Message: err.Error(), Cause: err}
	}
	rows, ok := v.([]any)
	if !ok {
		return nil, &adapters.Fault{Message: "the rows must be a list of objects, got " + value.Kind(v)}
	}
	t.rows = rows
	if t.columns == nil {
		t.columns, err = columnsOf(written, rows)
	}
	return t, err
}

// columnsOf are the columns of rows whose type says nothing of them: in the order in which their JSON names them where it is at hand, as that of a
// query is, else by name. A member that only a later row has follows.
func columnsOf(written any, rows []any) ([]string, error) {
	var columns []string
	if d, ok := written.(value.Deferred); ok && len(rows) > 0 {
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

// keysInOrder reads the keys of the first object of a list as they are written.
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
	return &adapters.Fault{Message: fmt.Sprintf("row %d must be an object, got %s", i+1, value.Kind(row))}
}

// rowsBetweenLooks is how many rows are written before the context is asked again.
const rowsBetweenLooks = 4096

// encode appends the lines of the table.
func (t *table) encode(ctx context.Context, dst []byte, header bool) ([]byte, error) {
	if header && len(t.columns) > 0 {
		names := make([]any, len(t.columns))
		for i, name := range t.columns {
			names[i] = name
		}
		var err error
		if dst, err = t.line(dst, 0, names); err != nil {
			return nil, err
		}
	}
	cells := make([]any, len(t.columns))
	for i, row := range t.rows {
		if i%rowsBetweenLooks == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := t.cells(cells, i, row); err != nil {
			return nil, err
		}
		var err error
		if dst, err = t.line(dst, i+1, cells); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// cells puts the values of a row in the order of the columns.
func (t *table) cells(cells []any, i int, row any) error {
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
		return &adapters.Fault{Message: fmt.Sprintf("row %d has %d cells, and there are %d columns", i+1, len(row), len(cells))}
	}
	return notObject(i, row)
}

// line appends one record; row 0 is the header.
func (t *table) line(dst []byte, row int, cells []any) ([]byte, error) {
	start := len(dst)
	for i, v := range cells {
		if i > 0 {
			dst = append(dst, string(t.delimiter)...)
		}
		text, err := t.cell(v)
		if err != nil {
			return nil, &adapters.Fault{Message: fmt.Sprintf("%s, column %s: %v", place(row), t.columns[i], err)}
		}
		dst = t.quoted(dst, text)
	}
	if len(dst) == start {
		dst = append(dst, `""`...) // an empty line would be no record
	}
	return append(dst, t.newline...), nil
}

func place(row int) string {
	if row == 0 {
		return "the header"
	}
	return fmt.Sprintf("row %d", row)
}

func (t *table) cell(v any) (string, error) {
	v, err := value.Resolve(v)
	if err != nil {
		return "", err
	}
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return t.guarded(v)
	case value.Bytes:
		return "", fmt.Errorf("bytes have no place in a CSV file; base64encode(…) makes text of them")
	}
	return value.Text(v)
}

// guarded keeps a text from being computed by a spreadsheet.
func (t *table) guarded(s string) (string, error) {
	if t.formulas == formulasKeep || s == "" || !strings.ContainsRune("=+-@\t\r", rune(s[0])) || isNumber(s) {
		return s, nil
	}
	if t.formulas == formulasRefuse {
		return "", fmt.Errorf("the text begins with %q, which a spreadsheet would compute", s[:1])
	}
	return "'" + s, nil
}

// isNumber reports a number in plain notation, such as the exact text of a decimal of a database.
func isNumber(s string) bool {
	if s[0] == '-' || s[0] == '+' {
		s = s[1:]
	}
	whole, fraction, dotted := strings.Cut(s, ".")
	return digits(whole) && (!dotted || digits(fraction))
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// quoted appends a cell, in quotes where RFC 4180 wants them and where another delimiter or a space at an end could mislead a reader.
func (t *table) quoted(dst []byte, s string) []byte {
	if s == "" || !strings.ContainsAny(s, "\"\r\n,;\t|") && !strings.ContainsRune(s, t.delimiter) && s[0] != ' ' && s[len(s)-1] != ' ' {
		return append(dst, strings.ToValidUTF8(s, "\uFFFD")...)
	}
	dst = append(dst, '"')
	dst = append(dst, strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), `"`, `""`)...)
	return append(dst, '"')
}

// same reports whether the columns of a file are the table's.
func (t *table) same(found []string) bool {
	expected := make([]string, len(t.columns))
	for i, name := range t.columns {
		expected[i], _ = t.guarded(name)
	}
	return slices.Equal(expected, found)
}
