package access

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// legend explains the answers that are no plain words.
var legend = []struct {
	answer Answer
	text   string
}{
	{Depends, "depends: the rules read the input of the call."},
	{NeedsApproval, "approval: the call needs an approval."},
}

// Text prints the matrix as a table.
func (m *Matrix) Text(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, table := range m.tables() {
		if i > 0 {
			if fmt.Fprintln(out); out.Flush() != nil {
				break
			}
		}
		for _, row := range table {
			fmt.Fprintln(out, strings.Join(row, "\t"))
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return m.printNotes(w, "\n")
}

// Markdown prints the matrix as a Markdown table.
func (m *Matrix) Markdown(w io.Writer) error {
	escape := strings.NewReplacer("&", "&amp;", "\\", "&#92;", "|", "&#124;", "`", "&#96;", "<", "&lt;", "*", "&#42;",
		"[", "&#91;", "@", "&#64;", "://", "&#58;//", "\n", " ", "\r", " ")
	for n, table := range m.tables() {
		if n > 0 {
			fmt.Fprintln(w)
		}
		for i, row := range table {
			for j, cell := range row {
				row[j] = escape.Replace(cell)
			}
			fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
			if i == 0 {
				fmt.Fprintln(w, "|"+strings.Repeat(" --- |", len(row)))
			}
		}
	}
	return m.printNotes(w, "\n\n")
}

// tables returns the cells of the tools, and of the masks if there are any, each with a heading.
func (m *Matrix) tables() [][][]string {
	columns := m.Columns()
	tables := [][][]string{table("tool", m.Tools, columns)}
	if len(m.Masks) > 0 {
		tables = append(tables, table("mask", m.Masks, columns))
	}
	return tables
}

func table(of string, rows []Row, columns []Column) [][]string {
	heading := []string{of}
	for _, column := range columns {
		heading = append(heading, column.Name)
	}
	cells := [][]string{heading}
	for _, r := range rows {
		row := []string{r.Name}
		for _, column := range columns {
			row = append(row, string(r.Answers[column.Callers[0].Name]))
		}
		cells = append(cells, row)
	}
	return cells
}

// Column is a caller, or the callers of API keys that get the same answers.
type Column struct {
	Name    string // of all callers, as in "key ada, bob, cid and 2 more"
	Callers []Caller
}

// Columns returns the columns of the matrix.
func (m *Matrix) Columns() (columns []Column) {
	for _, c := range m.Callers {
		same := func(column Column) bool {
			return column.Callers[0].isKey && c.isKey && m.answersAlike(column.Callers[0], c)
		}
		if i := slices.IndexFunc(columns, same); i >= 0 {
			columns[i].Callers = append(columns[i].Callers, c)
			continue
		}
		columns = append(columns, Column{Callers: []Caller{c}})
	}
	for i, column := range columns {
		columns[i].Name = columnName(column.Callers)
	}
	return columns
}

func (m *Matrix) answersAlike(a, b Caller) bool {
	differ := func(r Row) bool { return r.Answers[a.Name] != r.Answers[b.Name] }
	return !slices.ContainsFunc(m.Tools, differ) && !slices.ContainsFunc(m.Masks, differ)
}

// maxNames is how many API keys the heading of a column names.
const maxNames = 3

func columnName(column []Caller) string {
	name := column[0].Name
	for _, c := range column[1:min(len(column), maxNames)] {
		name += ", " + strings.TrimPrefix(c.Name, keyPrefix)
	}
	if more := len(column) - maxNames; more > 0 {
		name += fmt.Sprintf(" and %d more", more)
	}
	return name
}

// has reports whether a caller has an answer.
func (r Row) has(answer Answer) bool {
	return slices.Contains(slices.Collect(maps.Values(r.Answers)), answer)
}

// printNotes prints what the reader of the table has to know.
func (m *Matrix) printNotes(w io.Writer, separator string) error {
	var notes []string
	for _, l := range legend {
		if slices.ContainsFunc(m.Tools, func(r Row) bool { return r.has(l.answer) }) {
			notes = append(notes, l.text)
		}
	}
	if slices.ContainsFunc(m.Masks, func(r Row) bool { return r.has(Depends) }) {
		notes = append(notes, "depends, of a mask: the rule reads the tool. hatchel policy explain answers for one.")
	}
	if len(m.Unknown) > 0 {
		const text = "The answers are for callers without %s, which the rules read: give --claim or --header."
		notes = append(notes, fmt.Sprintf(text, strings.Join(m.Unknown, ", ")))
	}
	notes = append(append(notes, m.SignIn...), m.Needs...)
	if notes == nil {
		return nil
	}
	_, err := fmt.Fprintf(w, "\n%s\n", strings.Join(notes, separator))
	return err
}
