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
		return "", &adapters.Fault{Message: `this is not UTF-8 text; the tool must use as = "bytes": ` + path}
	}
	return string(raw), nil
}

// splitLines returns the lines of a text without their line breaks.
func splitLines(text string) []any {
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
		message := fmt.Sprintf("this is not JSON, at byte %d: %s: %s", syntax.Offset, syntax.Reason, path)
		return nil, &adapters.Fault{Message: message, Cause: err}
	}
	return v, err
}

// decodeCSV decodes a CSV file whose first line names the columns.
func decodeCSV(text, delimiter, path string) ([]any, error) {
	in := &csvReader{rest: strings.TrimPrefix(text, byteOrderMark), delimiter: delimiter}
	rows := []any{}
	var columns []string
	for in.more() {
		line := in.line + 1
		record, err := in.record()
		switch {
		case err != nil:
			return nil, csvFault(line, err.Error(), path)
		case columns == nil:
			if columns = record; hasDuplicate(columns) {
				return nil, &adapters.Fault{Message: "two columns have the same name: " + path}
			}
			continue
		case len(record) != len(columns):
			return nil, csvFault(line, "it has more or fewer cells than there are columns", path)
		}
		row := make(map[string]any, len(columns))
		for i, name := range columns {
			row[name] = record[i]
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func csvFault(line int, reason, path string) error {
	return &adapters.Fault{Message: fmt.Sprintf("line %d of the CSV file cannot be read, %s: %s", line, reason, path)}
}

func hasDuplicate(names []string) bool {
	seen := map[string]bool{}
	for _, name := range names {
		seen[name] = true
	}
	return len(seen) < len(names)
}
