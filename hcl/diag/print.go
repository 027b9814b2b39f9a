package diag

import (
	"bytes"
	"fmt"
	"io"
	"strings"
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
	if line, ok := lineAt(src, d.Subject.Start.Byte); ok {
		line, lead, length := d.window(line)
		number := fmt.Sprintf("%4d", d.Subject.Start.Line)
		fmt.Fprintf(w, "%s | %s\n", number, strings.ReplaceAll(line, "\t", " "))
		fmt.Fprintf(w, "%*s | %*s%s\n", len(number), "", lead, "", strings.Repeat("^", length))
	}
	_, err := fmt.Fprintf(w, "     = %s\n", strings.ReplaceAll(d.Detail, "\n", "\n       "))
	return err
}

// maxLineWidth is the number of characters of a source line that are printed around a diagnostic.
const maxLineWidth = 240

// window returns the printed part of a line, and the position and length of the carets.
func (d *Diagnostic) window(line string) (part string, lead, length int) {
	runes := []rune(line)
	lead = min(max(d.Subject.Start.Column-1, 0), len(runes))
	length = d.Subject.End.Column - d.Subject.Start.Column
	if d.Subject.End.Line != d.Subject.Start.Line {
		length = len(runes) - lead
	}
	if len(runes) <= maxLineWidth {
		return line, lead, max(length, 1)
	}
	from := max(lead-maxLineWidth/2, 0)
	to := min(from+maxLineWidth, len(runes))
	part = string(runes[from:to])
	if from > 0 {
		part, lead = "…"+part, lead-from+1
	}
	if to < len(runes) {
		part += "…"
	}
	return part, lead, max(min(length, maxLineWidth/2), 1)
}

// lineAt returns the line of a source that contains an offset.
func lineAt(src []byte, offset int) (string, bool) {
	if src == nil || offset > len(src) {
		return "", false
	}
	from, to := bytes.LastIndexByte(src[:offset], '\n')+1, len(src)
	if i := bytes.IndexByte(src[offset:], '\n'); i >= 0 {
		to = offset + i
	}
	return strings.TrimRight(string(src[from:to]), "\r"), true
}
