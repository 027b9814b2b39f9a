// Package github writes the commands by which a step of a workflow reports to GitHub Actions.
package github

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"hatchel/hcl/diag"
	"hatchel/internal/printable"
)

// Annotate writes a command that shows a message at a place of the changed files. The level is "error", "warning"
// or "notice"; the zero Range means that there is no place. No text can end the command or begin another one, and
// hidden characters are shown by their code points.
func Annotate(w io.Writer, level string, at diag.Range, title, message string) error {
	var properties []string
	add := func(name, value string) { properties = append(properties, name+"="+escapeProperty.Replace(value)) }
	if at.File != "" {
		add("file", filepath.ToSlash(at.File))
		if at.Start.Line > 0 {
			add("line", fmt.Sprint(at.Start.Line))
			add("endLine", fmt.Sprint(at.End.Line))
		}
		if at.Start.Line == at.End.Line && at.Start.Column > 0 {
			add("col", fmt.Sprint(at.Start.Column))
			add("endColumn", fmt.Sprint(at.End.Column))
		}
	}
	add("title", printable.Reveal(title, "\n"))
	message = escapeMessage.Replace(printable.Reveal(message, "\n\t"))
	_, err := fmt.Fprintf(w, "::%s %s::%s\n", level, strings.Join(properties, ","), message)
	return err
}

var (
	escapeMessage  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	escapeProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)
