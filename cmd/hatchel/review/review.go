// Package review writes the difference of two surfaces for people, programs and code review.
package review

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"hatchel/cmd/hatchel/console"
	"hatchel/cmd/hatchel/github"
	"hatchel/cmd/hatchel/sarif"
	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/hcl/surface"
	"hatchel/internal/printable"
)

// Report is a difference and what it is between.
type Report struct {
	*surface.Diff
	Old, New   string // what was compared, as a person named it
	OldDir     string // before the files of the older configuration; empty if these are not in this directory
	NewDir     string
	Threshold  surface.Class
	Version    string // of the program
	HasVersion bool   // both sides declare the version of the server
}

// Formats are the formats of Write.
var Formats = []string{"text", "json", "markdown", "github", "sarif"}

// Write writes the report in a format.
func (r *Report) Write(w io.Writer, format string) error {
	switch format {
	case "json":
		return r.writeJSON(w)
	case "markdown":
		return r.writeMarkdown(w)
	case "github":
		return r.writeGitHub(w)
	case "sarif":
		return r.writeSARIF(w)
	}
	return r.writeText(w)
}

// subject returns where a change is, with a path that an editor can open; the zero Range if the file is
// not here.
func (r *Report) subject(c *surface.Change) hcl.Range {
	at, dir := c.Range, r.NewDir
	if c.Removed {
		dir = r.OldDir
	}
	if at.File == "" || dir == "" {
		return hcl.Range{}
	}
	at.File = filepath.Join(dir, filepath.FromSlash(at.File))
	return at
}

// position returns where a change is for people.
func (r *Report) position(c *surface.Change) string {
	if at := r.subject(c); at.File != "" {
		return fmt.Sprintf("%s:%d", at.File, at.Start.Line)
	}
	if c.Range.File == "" {
		return ""
	}
	of := r.New
	if c.Removed {
		of = r.Old
	}
	return fmt.Sprintf("%s:%s:%d", strings.TrimSuffix(of, ":"), c.Range.File, c.Range.Start.Line)
}

func (r *Report) writeText(w io.Writer) error {
	rows := make([][3]string, len(r.Changes))
	widest := 0
	for i, c := range r.Changes {
		rows[i] = [3]string{printable.Line(c.Place), printable.Line(c.Text), printable.Line(r.position(&c))}
		widest = max(widest, len(c.Place))
	}
	for i, row := range rows {
		line := fmt.Sprintf("%-10s  %-*s  %s", r.Changes[i].Class, min(widest, 40), row[0], row[1])
		if row[2] != "" {
			line += "  " + row[2]
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, r.Summary())
	return err
}

// Summary returns the counts and the suggested step of the version, in one line of printable text.
func (r *Report) Summary() string { return printable.Line(r.summary()) }

func (r *Report) summary() string {
	if len(r.Changes) == 0 {
		return fmt.Sprintf("no changes from %s to %s", r.Old, r.New)
	}
	var counts []string
	for class := surface.Breaking; class >= surface.Compatible; class-- {
		if n := r.Count(class); n > 0 {
			counts = append(counts, fmt.Sprintf("%d %v", n, class))
		}
	}
	text := strings.Join(counts, ", ") + ": a " + r.Step + " version"
	if r.HasVersion && !r.Moved() {
		text += fmt.Sprintf("; server.version is still %s", r.Diff.New)
		if r.Diff.New != r.Diff.Old {
			text = strings.TrimSuffix(text, "is still "+r.Diff.New) + fmt.Sprintf("moved only from %s to %s",
				r.Diff.Old, r.Diff.New)
		}
	}
	return text
}

// jsonChange is a change with the path of its file.
type jsonChange struct {
	surface.Change
	Range *hcl.Range `json:"range,omitempty"`
	Where string     `json:"where,omitempty"`
}

func (r *Report) writeJSON(w io.Writer) error {
	changes := make([]jsonChange, len(r.Changes))
	for i, c := range r.Changes {
		changes[i] = jsonChange{Change: c, Where: r.position(&c)}
		if at := r.subject(&c); at.File != "" {
			changes[i].Range = &at
		}
	}
	out := struct {
		Old     string       `json:"old"`
		New     string       `json:"new"`
		Step    string       `json:"step"`
		Moved   bool         `json:"version_moved"`
		Reaches bool         `json:"reaches_threshold"`
		Changes []jsonChange `json:"changes"`
	}{r.Old, r.New, r.Step, r.Moved(), r.Reaches(r.Threshold), changes}
	return console.WriteJSON(w, out)
}

// maxRows is the maximum number of rows of a Markdown table: a comment of a pull request is bounded.
const maxRows = 200

func (r *Report) writeMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### Tools: %s\n", markdownText(r.Summary()))
	if len(r.Changes) > 0 {
		b.WriteString("\n| class | what | change | where |\n|---|---|---|---|\n")
	}
	for i, c := range r.Changes {
		if i == maxRows {
			fmt.Fprintf(&b, "\n%d further changes are not shown.\n", len(r.Changes)-i)
			break
		}
		class := c.Class.String()
		if c.Class >= surface.Widening {
			class = "**" + class + "**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", class, code(c.Place), code(c.Text), code(r.position(&c)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// code returns text as a code span of a table cell, in which nothing is markup. Parsers disagree about a backslash
// before a bar, so a space comes between them.
func code(text string) string {
	text = strings.ReplaceAll(printable.Line(text), `\|`, `\ |`)
	if text == "" {
		return ""
	}
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return fence + strings.ReplaceAll(text, "|", "\\|") + fence
}

// markdownText returns text without markup.
func markdownText(text string) string {
	return strings.NewReplacer("\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "<", "&lt;", "[", "\\[", "|", "\\|",
		"@", "&#64;", "://", "&#58;//", "#", "&#35;").Replace(text)
}

func (r *Report) writeGitHub(w io.Writer) error {
	for _, c := range r.Changes {
		level := "notice"
		switch {
		case c.Class >= r.Threshold && r.Threshold > surface.Compatible:
			level = "error"
		case c.Class >= surface.Widening:
			level = "warning"
		}
		title := fmt.Sprintf("%v: %s", c.Class, c.Place)
		if err := github.Annotate(w, level, r.subject(&c), title, c.Text); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, r.Summary())
	return err
}

func (r *Report) writeSARIF(w io.Writer) error {
	tool := sarif.Tool{Name: "hatchel", Version: r.Version}
	for _, k := range diag.SortedNames(surface.Kinds) {
		tool.Rules = append(tool.Rules, sarif.Rule{ID: k, Text: surface.Kinds[k]})
	}
	findings := make([]sarif.Finding, len(r.Changes))
	for i, c := range r.Changes {
		level := sarif.Note
		switch {
		case c.Class == surface.Breaking:
			level = sarif.Error
		case c.Class == surface.Widening:
			level = sarif.Warning
		}
		findings[i] = sarif.Finding{Rule: c.Kind, Level: level, Subject: r.subject(&c),
			Message: fmt.Sprintf("%v: %s: %s", c.Class, c.Place, c.Text)}
	}
	return sarif.Write(w, tool, findings)
}
