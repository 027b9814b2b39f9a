package rows

import (
	"bytes"
	"strings"

	"hatchel/hcl/schema"
)

// Table is a list of objects as text.
type Table struct {
	others []byte // the encoded object without the list; nil when there is nothing else
	text   []byte
	ends   []int // of the header, and of each row
}

// format is a way to write a table.
type format struct {
	head func(dst []byte, names []string) []byte
	row  func(dst []byte, cells [][]byte) []byte // a nil cell is null
}

// formats are the formats other than JSON, by name.
var formats = map[string]format{
	"csv":      {appendCSVHead, appendCSVRow},
	"markdown": {appendMarkdownHead, appendMarkdownRow},
}

// Write writes the list as a table in a format. T is the type of the value of which it is the list, or nil. It reports
// false for a list of anything but objects, for one without columns, and for one with more than 200: these are sent as
// JSON. A list without rows has its header, or is written as [] when no column is known.
func (l *List) Write(name string, t *schema.Type) (*Table, bool) {
	f, known := formats[name]
	if !known || !l.objects {
		return nil, false
	}
	if l.Member != "" {
		t = memberType(t, l.Member)
	}
	depth := maxDepth
	root, columns := l.columns(t, depth)
	if root == nil {
		depth = 1
		root, columns = l.columns(t, depth)
	}
	if root == nil && len(l.elements) == 0 && l.Member == "" {
		return &Table{text: []byte("[]\n"), ends: []int{len("[]\n")}}, true
	}
	if root == nil {
		return nil, false
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	out := &Table{text: f.head(nil, names), ends: make([]int, 0, len(l.elements)+1), others: l.others()}
	out.ends = append(out.ends, len(out.text))
	cells := make([][]byte, len(columns))
	for i := range l.elements {
		clear(cells)
		_ = root.walk(l.Element(i), depth, func(c *column, text []byte) { cells[c.index] = text }) // read before
		out.text = f.row(out.text, cells)
		out.ends = append(out.ends, len(out.text))
	}
	return out, true
}

// First returns the text of the header and of the first n rows.
func (t *Table) First(n int) []byte { return t.text[:t.ends[n]] }

// AppendOthers appends a notice with the members of the object other than the list, if there are any.
func (t *Table) AppendOthers(dst []byte) []byte {
	if t.others == nil {
		return dst
	}
	return AppendNotice(dst, t.others)
}

// Whole returns the text of all rows, and the notice of AppendOthers.
func (t *Table) Whole() []byte { return t.AppendOthers(t.text) }

// AppendNotice appends a line in brackets to a table. In Markdown an empty line ends a table.
func AppendNotice(dst, notice []byte) []byte {
	if n := len(dst); n > 0 && dst[n-1] != '\n' {
		dst = append(dst, '\n')
	}
	if bytes.HasSuffix(dst, []byte("|\n")) {
		dst = append(dst, '\n')
	}
	return append(append(append(dst, '['), notice...), "]\n"...)
}

// memberType returns the type of a member; nil when it is unknown.
func memberType(t *schema.Type, name string) *schema.Type {
	if t == nil || t.Kind != schema.Object || t.OneOf != nil {
		return nil
	}
	m, ok := t.Unfolded().Lookup(name)
	if !ok {
		return nil
	}
	return m.Type
}

// appendCSVHead appends a record of RFC 4180 that ends with a line feed.
func appendCSVHead(dst []byte, names []string) []byte {
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendCSVText(dst, name)
	}
	return append(dst, '\n')
}

// appendCSVRow appends a record with an empty field for null. A record of one field is no empty line, because readers
// skip those.
func appendCSVRow(dst []byte, cells [][]byte) []byte {
	if len(cells) == 1 && cells[0] == nil {
		return append(dst, "\"\"\n"...)
	}
	for i, cell := range cells {
		if i > 0 {
			dst = append(dst, ',')
		}
		if cell == nil {
			continue
		}
		text, _ := cellText(cell)
		dst = appendCSVText(dst, text)
	}
	return append(dst, '\n')
}

// appendCSVText appends a field that is not null: an empty text is in quotes.
func appendCSVText(dst []byte, text string) []byte {
	if text != "" && !strings.ContainsAny(text, ",\"\r\n") {
		return append(dst, text...)
	}
	dst = append(dst, '"')
	dst = append(dst, strings.ReplaceAll(text, `"`, `""`)...)
	return append(dst, '"')
}

// appendMarkdownHead appends the header of a table of GitHub Flavored Markdown, and the line below it.
func appendMarkdownHead(dst []byte, names []string) []byte {
	for _, name := range names {
		dst = append(append(dst, "| "...), markdownText(name)...)
		dst = append(dst, ' ')
	}
	dst = append(dst, "|\n"...)
	for range names {
		dst = append(dst, "| --- "...)
	}
	return append(dst, "|\n"...)
}

func appendMarkdownRow(dst []byte, cells [][]byte) []byte {
	for _, cell := range cells {
		dst = append(dst, "| "...)
		if cell != nil {
			text, isString := cellText(cell)
			if isString && text == "" {
				text = `""`
			}
			dst = append(append(dst, markdownText(text)...), ' ')
		}
	}
	return append(dst, "|\n"...)
}

// markdownText returns a text as a cell: with <br> in place of line breaks, and with a backslash before | and <.
// Backslashes before these are doubled.
func markdownText(text string) string {
	if !strings.ContainsAny(text, "|<\r\n") {
		return text
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var b strings.Builder
	for text != "" {
		at := strings.IndexAny(text, "|<\r\n")
		if at < 0 {
			b.WriteString(text)
			break
		}
		b.WriteString(text[:at])
		escapeBackslashes(&b, text[:at])
		switch c := text[at]; c {
		case '|', '<':
			b.WriteByte('\\')
			b.WriteByte(c)
		default:
			b.WriteString("<br>")
		}
		text = text[at+1:]
	}
	return b.String()
}
