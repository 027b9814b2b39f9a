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

// csvReader reads the records of a CSV file as RFC 4180 defines them. Unlike encoding/csv, it does not
// change line breaks in a cell. It skips empty lines.
type csvReader struct {
	rest      string // not read yet
	delimiter string
	line      int // of rest, counted from 0
}

var errQuote = errors.New("a quote is not closed or not allowed there")

// more reports whether there is another record.
func (r *csvReader) more() bool {
	for {
		size := lineBreakSize(r.rest)
		if size == 0 {
			return r.rest != ""
		}
		r.rest = r.rest[size:]
		r.line++
	}
}

// record returns the cells of the next record. The reader cannot be used after an error.
func (r *csvReader) record() ([]string, error) {
	var cells []string
	for {
		cell, err := r.cell()
		if err != nil {
			return nil, err
		}
		cells = append(cells, cell)
		if after, ok := strings.CutPrefix(r.rest, r.delimiter); ok {
			r.rest = after
			continue
		}
		size := lineBreakSize(r.rest)
		if size == 0 && r.rest != "" {
			return nil, errQuote
		}
		r.rest = r.rest[size:]
		r.line++
		return cells, nil
	}
}

// cell returns the next cell. Afterwards rest begins with a delimiter or a line break, or with anything
// else if a quote is wrong.
func (r *csvReader) cell() (string, error) {
	after, quoted := strings.CutPrefix(r.rest, `"`)
	if !quoted {
		end := strings.Index(r.rest, r.delimiter)
		if line := strings.IndexByte(r.rest, '\n'); line >= 0 && (end < 0 || line < end) {
			end = line
		}
		if end < 0 {
			end = len(r.rest)
		}
		cell := r.rest[:end]
		if !strings.HasPrefix(r.rest[end:], r.delimiter) {
			cell = strings.TrimSuffix(cell, "\r")
		}
		if strings.Contains(cell, `"`) {
			return "", errQuote
		}
		r.rest = r.rest[len(cell):]
		return cell, nil
	}
	var parts strings.Builder
	for {
		part, next, closed := strings.Cut(after, `"`)
		if !closed {
			return "", errQuote
		}
		r.line += strings.Count(part, "\n")
		if after = next; !strings.HasPrefix(after, `"`) {
			r.rest = after
			if parts.Len() == 0 {
				return part, nil
			}
			parts.WriteString(part)
			return parts.String(), nil
		}
		parts.WriteString(part)
		parts.WriteByte('"')
		after = after[1:]
	}
}

// lineBreakSize returns the size of the line break that s begins with.
func lineBreakSize(s string) int {
	switch {
	case strings.HasPrefix(s, "\n"), s == "\r":
		return 1
	case strings.HasPrefix(s, "\r\n"):
		return 2
	}
	return 0
}
