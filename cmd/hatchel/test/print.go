package test

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"hatchel/cmd/hatchel/console"
	"hatchel/cmd/hatchel/github"
	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/internal/printable"
	"hatchel/runtime/stage/failure"
)

// Printer writes reports. Prefix is put before the names of files, so that they can be opened from the current
// directory.
type Printer struct {
	Out     io.Writer
	Prefix  string
	Sources map[string][]byte
	Tokens  bool // a report as JSON has the tokens of answers
}

// Formats are the formats of a report, the default first.
var Formats = []string{"text", "tap", "json", "github"}

// Print writes a report in one of the Formats.
func (p *Printer) Print(format string, r *Report) error {
	switch format {
	case "tap":
		return p.printTAP(r)
	case "json":
		return p.printJSON(r)
	case "github":
		return p.printGitHub(r)
	}
	return p.printText(r)
}

func (p *Printer) file(name string) string { return path.Join(p.Prefix, name) }

// place returns diagnostics with the names of files that are printed.
func (p *Printer) place(diags hcl.Diagnostics) hcl.Diagnostics {
	out := make(hcl.Diagnostics, len(diags))
	for i, d := range diags {
		again := *d
		if again.Subject.File != "" {
			again.Subject.File = p.file(again.Subject.File)
		}
		out[i] = &again
	}
	return out
}

// PrintDiagnostics writes diagnostics as validate does.
func (p *Printer) PrintDiagnostics(w io.Writer, diags hcl.Diagnostics) error {
	sources := make(map[string][]byte, len(p.Sources))
	for name, src := range p.Sources {
		sources[p.file(name)] = src
	}
	return p.place(diags).Print(w, sources)
}

// details returns the failures and warnings of a test as validate prints diagnostics.
func (p *Printer) details(r *Result) string {
	var out strings.Builder
	p.PrintDiagnostics(&out, slices.Concat(r.Failures, r.Warnings)) // a Builder takes everything
	return out.String()
}

// visible returns a text with the code points of what people do not see. Line breaks and tabs stay.
func visible(text string) string { return printable.Reveal(text, "\n\t") }

// oneLine returns a text without breaks of lines.
func oneLine(text string) string { return visible(strings.ReplaceAll(text, "\n", " ")) }

func (p *Printer) printText(r *Report) error {
	for _, result := range r.Results {
		word := strings.ToUpper(string(result.Status))
		if result.Status == Passed && len(result.Warnings) > 0 {
			word = "WARNING"
		}
		if word != "PASSED" {
			fmt.Fprintf(p.Out, "%s  %s", word, oneLine(result.Name))
			if result.Reason != "" {
				fmt.Fprintf(p.Out, " (%s)", oneLine(result.Reason))
			}
			fmt.Fprintf(p.Out, "\n%s\n", p.details(result))
		}
	}
	_, err := fmt.Fprintln(p.Out, r.Summary())
	return err
}

// Summary is one line about all tests.
func (r *Report) Summary() string {
	text := fmt.Sprintf("%d passed", r.Count(Passed))
	for _, s := range []Status{Failed, Missed, Skipped} {
		if n := r.Count(s); n > 0 {
			text += fmt.Sprintf(", %d %s", n, s)
		}
	}
	if r.Options.Repeat > 1 {
		text += fmt.Sprintf(", each %d times", r.Options.Repeat)
	}
	if line := r.recallLine(); line != "" {
		text += ", " + line
	}
	return fmt.Sprintf("%s in %s (seed %d)", text, failure.FormatDuration(r.Duration.Round(time.Millisecond)),
		r.Options.Seed)
}

func (p *Printer) printTAP(r *Report) error {
	fmt.Fprintf(p.Out, "TAP version 13\n1..%d\n", len(r.Results))
	escape := strings.NewReplacer(`\`, `\\`, "#", `\#`)
	for i, result := range r.Results {
		status, directive := "ok", ""
		switch result.Status {
		case Failed:
			status = "not ok"
		case Skipped:
			directive = " # SKIP " + escape.Replace(oneLine(result.Reason))
		case Missed: // a failure that does not fail the run is TODO in TAP
			status, directive = "not ok", " # TODO missed, and --min-recall decides"
		}
		fmt.Fprintf(p.Out, "%s %d - %s%s\n", status, i+1, escape.Replace(oneLine(result.Name)), directive)
		for line := range strings.Lines(p.details(result)) {
			fmt.Fprintf(p.Out, "# %s\n", strings.TrimSuffix(line, "\n"))
		}
	}
	_, err := fmt.Fprintf(p.Out, "# %s\n", r.Summary())
	return err
}

// jsonResult is one test in the output of --format json.
type jsonResult struct {
	Name     string          `json:"name"`
	File     string          `json:"file"`
	Line     int             `json:"line"`
	Kind     string          `json:"kind"`
	Target   string          `json:"target"`
	Status   Status          `json:"status"`
	Reason   string          `json:"reason,omitempty"`
	Found    []string        `json:"found,omitempty"`
	Duration float64         `json:"duration_ms"`
	Failures hcl.Diagnostics `json:"failures"`
	Warnings hcl.Diagnostics `json:"warnings,omitempty"`
}

func (p *Printer) printJSON(r *Report) error {
	out := struct {
		Passed   int          `json:"passed"`
		Failed   int          `json:"failed"`
		Missed   int          `json:"missed,omitempty"`
		Skipped  int          `json:"skipped"`
		Recall   *float64     `json:"recall,omitempty"`
		Seed     uint64       `json:"seed"`
		Duration float64      `json:"duration_ms"`
		Tests    []jsonResult `json:"tests"`
		// Answers are the tokens of each tool, with --tokens
		Answers []AnswerTokens `json:"answers,omitempty"`
	}{
		Passed: r.Count(Passed), Failed: r.Count(Failed), Missed: r.Count(Missed), Skipped: r.Count(Skipped),
		Seed: r.Options.Seed, Duration: milliseconds(r.Duration), Tests: []jsonResult{},
	}
	if p.Tokens {
		out.Answers = r.Tokens()
	}
	if recall, tests := r.Recall(); tests > 0 {
		out.Recall = &recall
	}
	for _, result := range r.Results {
		out.Tests = append(out.Tests, jsonResult{
			result.Name, p.file(result.File()), result.Range.Start.Line, result.Kind, result.Target, result.Status,
			result.Reason, result.Found, milliseconds(result.Duration), p.place(result.Failures),
			p.place(result.Warnings),
		})
	}
	return console.WriteJSON(p.Out, out)
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// printGitHub writes a workflow command for each failure, and the summary.
func (p *Printer) printGitHub(r *Report) error {
	for _, result := range r.Results {
		for _, d := range p.place(slices.Concat(result.Failures, result.Warnings)) {
			level := "error"
			if d.Severity == diag.Warning || result.Status == Missed {
				level = "warning"
			}
			if err := github.Annotate(p.Out, level, d.Subject, result.Name+": "+d.Summary, d.Detail); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Fprintln(p.Out, r.Summary())
	return err
}

// PrintCases writes the names of the selected tests, with their places.
func (p *Printer) PrintCases(s *Suite) error {
	var out strings.Builder
	for _, c := range s.Cases {
		fmt.Fprintf(&out, "%s:%d: %s\n", p.file(c.File()), c.Range.Start.Line, oneLine(c.Name))
	}
	_, err := io.WriteString(p.Out, out.String())
	return err
}
