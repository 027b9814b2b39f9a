package file

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"hatchel/adapters"
	"hatchel/hcl/value"
)

const byteOrderMark = "\ufeff"

func decodeText(raw []byte, path string) (string, error) {
	if !utf8.Valid(raw) {
		return "", &adapters.Fault{Message: "this is not text in UTF-8, so the tool would have to read it with as = \"bytes\": " + path}
	}
	return string(raw), nil
}

// split makes lines of a text; the ends of lines are not part of them.
func split(text string) []any {
	lines := []any{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		lines = append(lines, strings.TrimSuffix(line, "\r"))
	}
	return lines
}

func decodeJSON(text, path string) (any, error) {
	v, err := value.Decode([]byte(strings.TrimPrefix(text, byteOrderMark)))
	var syntax *value.SyntaxError
	if errors.As(err, &syntax) {
		return nil, &adapters.Fault{Message: fmt.Sprintf("this is not JSON, at byte %d: %s: %s", syntax.Offset, syntax.What, path), Cause: err}
	}
	return v, err
}

// rows reads a CSV file whose first line names the columns.
func (r *reader) rows(text, path string) ([]any, error) {
	in := &table{rest: strings.TrimPrefix(text, byteOrderMark), delimiter: string(r.delimiter)}
	rows := []any{}
	var columns []string
	for in.more() {
		line := in.line + 1
		record, err := in.record()
		switch {
		case err != nil:
			return nil, malformed(line, err.Error(), path)
		case columns == nil:
			if columns = record; duplicate(columns) {
				return nil, &adapters.Fault{Message: "two columns have the same name: " + path}
			}
			continue
		case len(record) != len(columns):
			return nil, malformed(line, "it has more or fewer cells than there are columns", path)
		}
		row := make(map[string]any, len(columns))
		for i, name := range columns {
			row[name] = record[i]
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func malformed(line int, what, path string) error {
	return &adapters.Fault{Message: fmt.Sprintf("line %d of the CSV file cannot be read, %s: %s", line, what, path)}
}

func duplicate(names []string) bool {
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			return true
		}
		seen[name] = true
	}
	return false
}
