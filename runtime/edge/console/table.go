package console

import (
	"bytes"
	"encoding/json"
	"slices"
)

// table is JSON as a table: a list of objects as its rows, also one that is the only member of an object, and another
// object as a row for each member.
type table struct {
	Columns []tableColumn // nil for the members of one object
	Rows    []tableRow
	More    int // rows that are not shown
}

// tableColumn is a member of the objects. Its values are numbers or null if IsNumber is set.
type tableColumn struct {
	Name     string
	IsNumber bool
}

// tableRow is a row; Name is that of a member of an object.
type tableRow struct {
	Name  string
	Cells []string
}

const (
	maxTableRows    = 200
	maxTableColumns = 20
	maxCellRunes    = 1000 // that a page shows of a cell
)

// newTable returns the table of a JSON text; nil for one that is neither an object nor a list of objects, or has too
// many columns.
func newTable(text []byte) *table {
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return nil
	}
	switch text[0] {
	case '{':
		names, values, ok := members(text)
		if !ok || len(names) == 0 {
			return nil
		}
		if len(names) == 1 || slices.Equal(names, []string{"rows", "next_cursor"}) { // of a tool with pages
			if t := tableOfList(values[0]); t != nil {
				return t
			}
		}
		t := new(table)
		for i, name := range names {
			t.Rows = append(t.Rows, tableRow{Name: name, Cells: []string{cellText(values[i])}})
		}
		return t
	case '[':
		return tableOfList(text)
	}
	return nil
}

func tableOfList(text []byte) *table {
	var elements []json.RawMessage
	if json.Unmarshal(text, &elements) != nil || len(elements) == 0 {
		return nil
	}
	t := &table{More: max(len(elements)-maxTableRows, 0)}
	for _, e := range elements[:len(elements)-t.More] {
		names, values, ok := members(e)
		if !ok {
			return nil
		}
		row := tableRow{Cells: make([]string, len(t.Columns), max(len(names), len(t.Columns)))}
		for i, name := range names {
			at := slices.IndexFunc(t.Columns, func(c tableColumn) bool { return c.Name == name })
			if at < 0 {
				if len(t.Columns) == maxTableColumns {
					return nil
				}
				at = len(t.Columns)
				t.Columns = append(t.Columns, tableColumn{name, true})
				row.Cells = append(row.Cells, "")
			}
			row.Cells[at] = cellText(values[i])
			if !isNumber(values[i]) && row.Cells[at] != "null" {
				t.Columns[at].IsNumber = false
			}
		}
		t.Rows = append(t.Rows, row)
	}
	for i, row := range t.Rows { // columns that came later
		t.Rows[i].Cells = append(row.Cells, make([]string, len(t.Columns)-len(row.Cells))...)
	}
	return t
}

// limit leaves out the last rows until the table takes at most so many bytes in a page, and returns how many it takes.
func (t *table) limit(most int) (size int) {
	for i, row := range t.Rows {
		taken := len("<tr></tr>\n") + len("<th scope=row></th>") + sizeInPage(row.Name)
		for _, cell := range row.Cells {
			taken += len("<td class=number></td>") + sizeInPage(shortCell(cell))
		}
		if size+taken > most {
			t.More += len(t.Rows) - i
			t.Rows = t.Rows[:i]
			break
		}
		size += taken
	}
	return size
}

// members returns the members of a JSON object in their order; not ok for another text.
func members(text []byte) (names []string, values []json.RawMessage, ok bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, nil, false
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, nil, false
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return nil, nil, false
		}
		names, values = append(names, name.(string)), append(values, value)
	}
	return names, values, true
}

// IsNumber reports whether the values of a column are numbers.
func (t *table) IsNumber(column int) bool { return t.Columns != nil && t.Columns[column].IsNumber }

func isNumber(value json.RawMessage) bool {
	return value[0] == '-' || value[0] >= '0' && value[0] <= '9'
}

// cellText returns a value as a cell shows it: a text without its quotation marks.
func cellText(value json.RawMessage) string {
	var text string
	if value[0] != '"' || json.Unmarshal(value, &text) != nil {
		return string(value)
	}
	return text
}

// shortCell returns what a page shows of a cell.
func shortCell(text string) string { return shorten(text, maxCellRunes) }
