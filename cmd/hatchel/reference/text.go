package reference

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"hatchel/hcl/decode"
)

// Width is the width of a terminal page in characters.
const Width = 80

// WriteOverview writes the list of all blocks.
func (r *Reference) WriteOverview(w io.Writer) error {
	out := bufio.NewWriter(w)
	writeParagraph(out, "", "A configuration is HCL. A template is text with ${...} interpolations. An expression is "+
		"an expr program in quotes, "+`as in when = "input.id > 0".`)
	for _, g := range r.Groups {
		fmt.Fprintf(out, "\n%s\n", g.Title)
		rows := make([][2]string, len(g.Blocks))
		for i, b := range g.Blocks {
			rows[i] = [2]string{"  " + b.Title(), firstSentence(b.Doc)}
		}
		writeColumns(out, rows)
	}
	rows := [][2]string{{"  hatchel docs BLOCK", "The arguments and blocks of a block, as in hatchel docs http."}}
	for _, t := range r.Topics {
		rows = append(rows, [2]string{"  hatchel docs " + t.Key, t.Title + "."})
	}
	rows = append(rows, [2]string{"  hatchel docs --search WORD", "Everything that mentions a word."})
	fmt.Fprint(out, "\nMore\n")
	writeColumns(out, rows)
	return out.Flush()
}

// WriteBlocks writes the pages of some blocks.
func WriteBlocks(w io.Writer, blocks []*Block) error {
	out := bufio.NewWriter(w)
	for i, b := range blocks {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintln(out, b.Title())
		writeParagraph(out, "  ", b.Doc)
		b.writeSpec(out, "  ")
		if b.Example != "" {
			fmt.Fprint(out, "\n  Example:\n\n")
			for line := range strings.Lines(b.Example) {
				fmt.Fprint(out, strings.TrimRight("    "+line, " \n"), "\n")
			}
		}
	}
	return out.Flush()
}

// writeSpec writes the arguments and blocks of a block, with nested ones indented.
func (b *Block) writeSpec(w io.Writer, indent string) {
	for _, f := range b.Spec {
		fmt.Fprintln(w)
		writeParagraph(w, indent, fieldHeading(f))
		writeParagraph(w, indent+"    ", f.Doc)
		if rule := choiceRule(b.Spec, f); rule != "" {
			writeParagraph(w, indent+"    ", rule)
		}
		switch child := b.children[f.Name]; {
		case child == nil:
		case child.Parent == b:
			child.writeSpec(w, indent+"    ")
		case len(child.Spec) > 0:
			writeParagraph(w, indent+"    ", "See hatchel docs "+child.Key+".")
		}
	}
}

func fieldHeading(f decode.Field) string {
	heading := f.Name + " = <" + f.Type + ">"
	if f.Type == "" {
		heading = fieldName(f) + " { }"
	}
	if n := notes(f); len(n) > 0 {
		heading += "  (" + strings.Join(n, ", ") + ")"
	}
	return heading
}

// WriteText writes the page of a topic.
func (t *Topic) WriteText(w io.Writer) error {
	out := bufio.NewWriter(w)
	for i, s := range t.Sections {
		if i > 0 {
			fmt.Fprintln(out)
		}
		if s.Text != "" {
			writeParagraph(out, "", s.Text)
		}
		if s.Code != "" {
			fmt.Fprintf(out, "\n  %s\n", strings.ReplaceAll(s.Code, "\n", "\n  "))
		}
		if s.List {
			for _, row := range s.Rows {
				fmt.Fprintln(out)
				writeParagraph(out, "", row[0])
				writeParagraph(out, "    ", row[1])
			}
			continue
		}
		if len(s.Rows) > 0 && s.Text != "" {
			fmt.Fprintln(out)
		}
		writeColumns(out, s.Rows)
	}
	return out.Flush()
}

// writeParagraph wraps a text.
func writeParagraph(w io.Writer, indent, text string) {
	for _, line := range wrap(text, Width-len(indent)) {
		fmt.Fprintln(w, indent+line)
	}
}

// writeColumns writes rows of a name and a text, which begins below a name that is wide.
func writeColumns(w io.Writer, rows [][2]string) {
	left := 0
	for _, row := range rows {
		if n := utf8.RuneCountInString(row[0]); n <= Width/2 {
			left = max(left, n)
		}
	}
	indent := strings.Repeat(" ", left+2)
	for _, row := range rows {
		lines := wrap(row[1], Width-len(indent))
		if n := utf8.RuneCountInString(row[0]); n <= left {
			fmt.Fprintln(w, row[0]+indent[n:]+lines[0])
			lines = lines[1:]
		} else {
			fmt.Fprintln(w, row[0])
		}
		for _, line := range lines {
			fmt.Fprintln(w, indent+line)
		}
	}
}

// wrap breaks a text between words into lines of at most width characters.
func wrap(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}
