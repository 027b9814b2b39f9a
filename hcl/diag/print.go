package diag

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"hatchel/internal/printable"
)

// Print writes diagnostics for people, each with its source line and carets under the exact span.
// Sources holds the text of each file by its name. Values of calls are never printed.
func (ds Diagnostics) Print(w io.Writer, sources map[string][]byte) error {
	for i, d := range ds {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := d.print(w, sources[d.Subject.File]); err != nil {
			return err
		}
	}
	return nil
}

func (d *Diagnostic) print(w io.Writer, src []byte) error {
	if d.Subject.File != "" {
		name := printable.Reveal(d.Subject.File, "")
		fmt.Fprintf(w, "%s:%d:%d: ", name, d.Subject.Start.Line, d.Subject.Start.Column)
	}
	fmt.Fprintf(w, "%s: %s\n", d.Severity, d.Summary)
	if e, ok := d.excerpt(src); ok {
		number := fmt.Sprintf("%4d", d.Subject.Start.Line)
		fmt.Fprintf(w, "%s | %s\n", number, e.text)
		fmt.Fprintf(w, "%*s | %*s%s\n", len(number), "", e.lead, "", strings.Repeat("^", e.length))
	}
	_, err := fmt.Fprintf(w, "     = %s\n", strings.ReplaceAll(d.Text(), "\n", "\n       "))
	return err
}

// Text returns the detail as people are shown it: with the code points of hidden characters of what it quotes.
func (d *Diagnostic) Text() string { return printable.Reveal(d.Detail, "\n\t") }

// maxLineWidth is the number of characters of a source line that are printed around a diagnostic.
const maxLineWidth = 240

// excerpt is the printed part of a source line, and the position and length of the carets under it, in columns.
type excerpt struct {
	text         string
	lead, length int
}

// excerpt returns the part of the line around the subject. It reads no more of a long line than it needs, because each
// of many mistakes may be in the same one.
func (d *Diagnostic) excerpt(src []byte) (e excerpt, ok bool) {
	const enough = maxLineWidth * utf8.UTFMax
	at := d.Subject.Start.Byte
	if src == nil || at > len(src) {
		return e, false
	}
	from, to := max(at-enough, 0), min(at+enough, len(src))
	left, right := from > 0, to < len(src) // that the line goes on there
	if i := bytes.LastIndexByte(src[from:at], '\n'); i >= 0 {
		from, left = from+i+1, false
	}
	if i := bytes.IndexByte(src[at:to], '\n'); i >= 0 {
		to, right = at+i, false
		to = at + len(bytes.TrimRight(src[at:to], "\r"))
	}
	end := to
	if d.Subject.End.Line == d.Subject.Start.Line {
		end = min(max(d.Subject.End.Byte, at), to)
	}
	before, subject, after := []rune(string(src[from:at])), []rune(string(src[at:end])), []rune(string(src[end:to]))
	if left || right || len(before)+len(subject)+len(after) > maxLineWidth {
		start := max(len(before)-maxLineWidth/2, 0)
		room := start + maxLineWidth - len(before)
		left, right = left || start > 0, right || len(subject)+len(after) > room
		before, subject = before[start:], subject[:min(len(subject), room)]
		after = after[:min(len(after), room-len(subject))]
	}
	lead, marked, rest := shownText(before), shownText(subject), shownText(after)
	if left {
		lead = "…" + lead
	}
	if right {
		rest += "…"
	}
	return excerpt{lead + marked + rest, columns(lead), max(columns(marked), 1)}, true
}

// shownText returns a part of a line with the code points of its hidden characters.
func shownText(part []rune) string {
	return strings.ReplaceAll(printable.Reveal(string(part), "\t"), "\t", " ")
}

// columns returns how many columns a text without hidden characters takes. Marks are shown with the letter before them.
func columns(text string) (n int) {
	for _, r := range text {
		if !unicode.In(r, unicode.Mn, unicode.Me) {
			n++
		}
	}
	return n
}
