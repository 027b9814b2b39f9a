// Package findings prints diagnostics and findings for the services that show them beside the code.
package findings

import (
	"io"
	"strings"

	"hatchel/cmd/hatchel/github"
	"hatchel/cmd/hatchel/sarif"
	"hatchel/hcl/diag"
)

// Finding is a diagnostic and the rule that made it. Its path is relative to the current directory.
type Finding struct {
	Rule string
	*diag.Diagnostic
}

// Of returns the diagnostics of a load. The rule of each is its summary, in the form of an identifier.
func Of(diags diag.Diagnostics) (found []Finding) {
	for _, d := range diags {
		found = append(found, Finding{strings.ReplaceAll(strings.ToLower(d.Summary), " ", "-"), d})
	}
	return found
}

// WriteAnnotations writes findings as annotations of GitHub Actions.
func WriteAnnotations(w io.Writer, found []Finding) error {
	for _, f := range found {
		if err := github.Annotate(w, f.Severity.String(), f.Subject, f.Summary, f.Detail); err != nil {
			return err
		}
	}
	return nil
}

// WriteSARIF writes findings as a SARIF log of a version of the program.
func WriteSARIF(w io.Writer, version string, rules []sarif.Rule, found []Finding) error {
	results := make([]sarif.Finding, len(found))
	for i, f := range found {
		results[i] = sarif.Finding{Rule: f.Rule, Level: sarif.LevelOf(f.Severity), Message: f.Summary + ". " + f.Detail,
			Subject: f.Subject}
	}
	return sarif.Write(w, sarif.Tool{Name: "hatchel", Version: version, Rules: rules}, results)
}

// CapWarnings returns diagnostics without the warnings after the first ones, and how many those are.
func CapWarnings(diags diag.Diagnostics, maxWarnings int) (kept diag.Diagnostics, omitted int) {
	_, warnings := diags.Counts()
	shown := 0
	for _, d := range diags {
		if d.Severity == diag.Error || shown < maxWarnings {
			kept = append(kept, d)
		}
		if d.Severity != diag.Error {
			shown++
		}
	}
	return kept, max(0, warnings-maxWarnings)
}
