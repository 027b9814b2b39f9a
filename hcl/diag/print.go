package diag

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
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
		fmt.Fprintf(w, "%s:%d:%d: ", d.Subject.File, d.Subject.Start.Line, d.Subject.Start.Column)
	}
	fmt.Fprintf(w, "%s: %s\n", d.Severity, d.Summary)
	if e, ok := d.excerpt(src); ok {
		number := fmt.Sprintf("%4d", d.Subject.Start.Line)
		fmt.Fprintf(w, "%s | %s\n", number, strings.ReplaceAll(e.text, "\t", " "))
		fmt.Fprintf(w, "%*s | %*s%s\n", len(number), "", e.lead, "", strings.Repeat("^", e.length))
	}
	_, err := fmt.Fprintf(w, "     = %s\n", strings.ReplaceAll(d.Detail, "\n", "\n       "))
	return err
}

// maxLineWidth is the number of characters of a source line that are printed around a diagnostic.
const maxLineWidth = 240

// excerpt is the printed part of a source line, and the position and length of the carets under it.
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
	}
	before, after := []rune(string(src[from:at])), []rune(strings.TrimRight(string(src[at:to]), "\r"))
	line := append(before, after...)
	e.length = max(d.Subject.End.Column-d.Subject.Start.Column, 1)
	if d.Subject.End.Line != d.Subject.Start.Line {
		e.length = max(len(after), 1)
	}
	if !left && !right && len(line) <= maxLineWidth {
		e.text, e.lead = string(line), min(max(d.Subject.Start.Column-1, 0), len(line))
		return e, true
	}
	start := max(len(before)-maxLineWidth/2, 0)
	end := min(start+maxLineWidth, len(line))
	e.text, e.lead, e.length = string(line[start:end]), len(before)-start, min(e.length, maxLineWidth/2)
	if left || start > 0 {
		e.text, e.lead = "…"+e.text, e.lead+1
	}
	if right || end < len(line) {
		e.text += "…"
	}
	return e, true
}
