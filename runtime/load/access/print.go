package access

import (
	"fmt"
	"io"
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
	for _, row := range m.table() {
		fmt.Fprintln(out, strings.Join(row, "\t"))
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
	for i, row := range m.table() {
		for j, cell := range row {
			row[j] = escape.Replace(cell)
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintln(w, "|"+strings.Repeat(" --- |", len(row)))
		}
	}
	return m.printNotes(w, "\n\n")
}

// table returns the cells, with a heading.
func (m *Matrix) table() [][]string {
	columns := m.Columns()
	heading := []string{"tool"}
	for _, column := range columns {
		heading = append(heading, column.Name)
	}
	rows := [][]string{heading}
	for _, tool := range m.Tools {
		row := []string{tool.Name}
		for _, column := range columns {
			row = append(row, string(tool.Answers[column.Callers[0].Name]))
		}
		rows = append(rows, row)
	}
	return rows
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
	return !slices.ContainsFunc(m.Tools, func(t Tool) bool { return t.Answers[a.Name] != t.Answers[b.Name] })
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

// printNotes prints what the reader of the table has to know.
func (m *Matrix) printNotes(w io.Writer, separator string) error {
	var notes []string
	for _, l := range legend {
		has := func(t Tool) bool {
			for _, answer := range t.Answers {
				if answer == l.answer {
					return true
				}
			}
			return false
		}
		if slices.ContainsFunc(m.Tools, has) {
			notes = append(notes, l.text)
		}
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
