package file

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"hatchel/adapters"
	"hatchel/internal/charset"
	"hatchel/internal/cut"
)

// delimiters are what separates the cells of a CSV file, of which the reader finds the right one.
var delimiters = []string{",", ";", "\t", "|"}

// rareDelimiters separate the cells of some files, too. They are also common in texts, so that the tool must name them.
var rareDelimiters = []string{":", "^", "~", "\x1f", "\x01", "¦", "§"}

// decodeCSV decodes a CSV file whose first line names the columns. An empty delimiter is found.
func decodeCSV(text, delimiter, path string) ([]any, error) {
	if i := strings.IndexByte(text, 0); i >= 0 {
		line := 1 + countLineBreaks(text[:i])
		reason := "it has a NUL character"
		if guess := charset.GuessUTF16(text); guess != "" {
			reason += fmt.Sprintf("; the tool must name the encoding: encoding = %q", guess)
		}
		return nil, csvFault(line, reason, path)
	}
	text, named := cutDelimiterLine(text)
	if named != "" && delimiter != "" && named != delimiter {
		return nil, &adapters.Fault{Message: fmt.Sprintf("the first line of the CSV file, sep=%s, names another "+
			"delimiter than the tool; the tool must use delimiter = %q: %s", named, named, path)}
	}
	chosen := delimiter
	if chosen == "" {
		chosen = named
	}
	if chosen == "" {
		var err error
		if chosen, err = findDelimiter(text, path); err != nil {
			return nil, err
		}
	}
	rows, columns, err := decodeRows(text, chosen, path)
	if err == nil && named == "" && len(columns) == 1 {
		err = checkSoleColumn(text, chosen, columns[0], path)
		if err == nil && delimiter == "" {
			err = checkUndeclaredColumn(text, chosen, columns[0], path)
		}
	}
	return rows, err
}

// cutDelimiterLine removes a first line "sep=;", by which spreadsheets name the delimiter.
func cutDelimiterLine(text string) (rest, delimiter string) {
	line, rest := cutLine(text)
	if name, ok := strings.CutPrefix(line, "sep="); ok && utf8.RuneCountInString(name) == 1 {
		return rest, name
	}
	return text, ""
}

// decodeRows decodes the rows with a delimiter.
func decodeRows(text, delimiter, path string) (rows []any, columns []string, err error) {
	in := &csvReader{rest: text, delimiter: delimiter}
	rows = []any{}
	for in.more() {
		line := in.line + 1
		record, err := in.record()
		switch {
		case err != nil:
			return nil, nil, csvFault(line, err.Error(), path)
		case columns == nil:
			columns = record
			if err := checkColumns(columns, line, path); err != nil {
				return nil, nil, err
			}
			continue
		case len(record) != len(columns):
			return nil, nil, csvFault(line, fmt.Sprintf("it has another number of cells, %d, than the first line, %d",
				len(record), len(columns)), path)
		}
		row := make(map[string]any, len(columns))
		for i, name := range columns {
			row[name] = record[i]
		}
		rows = append(rows, row)
	}
	return rows, columns, nil
}

func csvFault(line int, reason, path string) error {
	return &adapters.Fault{Message: fmt.Sprintf("line %d of the CSV file cannot be read, %s: %s", line, reason, path)}
}

// checkColumns requires that each column has a name of its own.
func checkColumns(columns []string, line int, path string) error {
	seen := make(map[string]int, len(columns))
	for i, name := range columns {
		if first, ok := seen[name]; ok {
			return csvFault(line, fmt.Sprintf("the columns %d and %d have the same name, %q", first+1, i+1,
				cut.Runes(name, maxShownName)), path)
		}
		seen[name] = i
	}
	return nil
}

// maxShownName is how many characters of the name of a column are shown.
const maxShownName = 80

// findDelimiter returns the delimiter of a CSV file: what the first line has between cells, and if it has several of
// them, the only one that gives each line as many cells.
func findDelimiter(text, path string) (string, error) {
	var among []string
	for _, delimiter := range delimiters {
		if columns, _ := cellCounts(text, delimiter, 1); columns > 1 {
			among = append(among, delimiter)
		}
	}
	if len(among) < 2 {
		return strings.Join(append(among, delimiters[:1-len(among)]...), ""), nil
	}
	fits := slices.DeleteFunc(slices.Clone(among), func(delimiter string) bool {
		_, same := cellCounts(text, delimiter, 0)
		return !same
	})
	switch len(fits) {
	case 0:
		return among[0], nil // what is wrong is reported with it
	case 1:
		return fits[0], nil
	}
	choices := make([]string, len(fits))
	for i, delimiter := range fits {
		choices[i] = fmt.Sprintf("delimiter = %q", delimiter)
	}
	return "", &adapters.Fault{Message: fmt.Sprintf("the cells of the CSV file may be separated in %d ways; the tool "+
		"must use %s: %s", len(fits), strings.Join(choices, " or "), path)}
}

// cellCounts returns the number of cells in the first record, and whether all records have as many: of the first
// records, or of all if there are 0.
func cellCounts(text, delimiter string, records int) (first int, same bool) {
	in := &csvReader{rest: text, delimiter: delimiter}
	for n := 0; in.more() && (records == 0 || n < records); n++ {
		record, err := in.record()
		if err != nil {
			return first, false
		}
		if n == 0 {
			first = len(record)
		}
		if len(record) != first {
			return first, false
		}
	}
	return first, true
}

// checkSoleColumn reports a file with one column that is a table with another delimiter.
func checkSoleColumn(text, used, column, path string) error {
	for _, delimiter := range delimiters {
		if cells, same := cellCounts(text, delimiter, 0); cells > 1 && same && delimiter != used {
			return soleColumnFault(column, fmt.Sprintf("the tool must use delimiter = %q", delimiter), delimiter, path)
		}
	}
	return nil
}

// checkUndeclaredColumn reports a file with one column that may be a table with another delimiter, where the tool does
// not name the delimiter.
func checkUndeclaredColumn(text, used, column, path string) error {
	for _, delimiter := range rareDelimiters {
		if cells, same := cellCounts(text, delimiter, 0); cells > 1 && same && countRecords(text, delimiter) > 1 {
			return soleColumnFault(column, fmt.Sprintf("the tool must use delimiter = %q, or delimiter = %q for one "+
				"column", delimiter, used), delimiter, path)
		}
	}
	_, below := cutLine(text)
	for _, delimiter := range delimiters {
		if cells, same := cellCounts(below, delimiter, 0); cells > 1 && same && delimiter != used {
			return &adapters.Fault{Message: fmt.Sprintf("line 1 of the CSV file names one column, %q, but each line "+
				"below has %d cells separated by %q; the names of the columns must be in line 1, or the tool must use "+
				"delimiter = %q for one column: %s", cut.Runes(column, maxShownName), cells, delimiter, used, path)}
		}
	}
	return nil
}

func soleColumnFault(column, advice, delimiter, path string) error {
	return &adapters.Fault{Message: fmt.Sprintf("the CSV file has one column, %q, unless %q separates its cells; "+
		"%s: %s", cut.Runes(column, maxShownName), delimiter, advice, path)}
}

func countRecords(text, delimiter string) (n int) {
	for in := (&csvReader{rest: text, delimiter: delimiter}); in.more(); n++ {
		if _, err := in.record(); err != nil {
			break
		}
	}
	return n
}

// csvReader reads the records of a CSV file as RFC 4180 defines them. Unlike encoding/csv, it does not change line
// breaks in a cell, and a carriage return alone ends a record. It skips empty lines.
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
		end := strings.IndexAny(r.rest, "\r\n")
		if end < 0 {
			end = len(r.rest)
		}
		if i := strings.Index(r.rest[:end], r.delimiter); i >= 0 { // beyond the line, each line would search the file
			end = i
		}
		cell := r.rest[:end]
		if strings.Contains(cell, `"`) {
			return "", errQuote
		}
		r.rest = r.rest[end:]
		return cell, nil
	}
	var parts strings.Builder
	for {
		part, next, closed := strings.Cut(after, `"`)
		if !closed {
			return "", errQuote
		}
		r.line += countLineBreaks(part)
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
	case strings.HasPrefix(s, "\r\n"):
		return 2
	case strings.HasPrefix(s, "\n"), strings.HasPrefix(s, "\r"):
		return 1
	}
	return 0
}

func countLineBreaks(s string) int {
	return strings.Count(s, "\n") + strings.Count(s, "\r") - strings.Count(s, "\r\n")
}

// cutLine returns the first line of a text without its line break, and what follows.
func cutLine(text string) (line, rest string) {
	end := strings.IndexAny(text, "\r\n")
	if end < 0 {
		return text, ""
	}
	return text[:end], text[end+lineBreakSize(text[end:]):]
}
