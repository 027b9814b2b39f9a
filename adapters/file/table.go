package file

import (
	"errors"
	"strings"
)

// table reads the cells of a CSV file as RFC 4180 has it. Other than encoding/csv it leaves line breaks within a cell as they are, so that what
// was written is what is read. Empty lines are no records.
type table struct {
	rest      string // what has not been read
	delimiter string
	line      int // of rest, counted from 0
}

var errQuote = errors.New("a quote is not closed or stands where none may")

// more reports whether there is another record.
func (t *table) more() bool {
	for {
		size := lineEnd(t.rest)
		if size == 0 {
			return t.rest != ""
		}
		t.rest = t.rest[size:]
		t.line++
	}
}

// record returns the cells of the next record. After an error there is nothing more to read.
func (t *table) record() ([]string, error) {
	var cells []string
	for {
		cell, err := t.cell()
		if err != nil {
			return nil, err
		}
		cells = append(cells, cell)
		if after, ok := strings.CutPrefix(t.rest, t.delimiter); ok {
			t.rest = after
			continue
		}
		size := lineEnd(t.rest)
		if size == 0 && t.rest != "" {
			return nil, errQuote
		}
		t.rest = t.rest[size:]
		t.line++
		return cells, nil
	}
}

// cell leaves rest at what ends the cell: a delimiter, the end of the line, or for a wrong quote anything else.
func (t *table) cell() (string, error) {
	after, quoted := strings.CutPrefix(t.rest, `"`)
	if !quoted {
		end := strings.Index(t.rest, t.delimiter)
		if line := strings.IndexByte(t.rest, '\n'); line >= 0 && (end < 0 || line < end) {
			end = line
		}
		if end < 0 {
			end = len(t.rest)
		}
		cell := t.rest[:end]
		if !strings.HasPrefix(t.rest[end:], t.delimiter) {
			cell = strings.TrimSuffix(cell, "\r")
		}
		if strings.Contains(cell, `"`) {
			return "", errQuote
		}
		t.rest = t.rest[len(cell):]
		return cell, nil
	}
	var parts strings.Builder
	for {
		part, next, closed := strings.Cut(after, `"`)
		if !closed {
			return "", errQuote
		}
		t.line += strings.Count(part, "\n")
		if after = next; !strings.HasPrefix(after, `"`) {
			t.rest = after
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

// lineEnd is the size of the line break that s begins with.
func lineEnd(s string) int {
	switch {
	case strings.HasPrefix(s, "\n"), s == "\r":
		return 1
	case strings.HasPrefix(s, "\r\n"):
		return 2
	}
	return 0
}
