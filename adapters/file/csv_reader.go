package file

import (
	"errors"
	"strings"
)

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
