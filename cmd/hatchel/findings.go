package main

import (
	"io"

	"hatchel/cmd/hatchel/github"
	"hatchel/cmd/hatchel/sarif"
	"hatchel/hcl/diag"
)

// finding is a diagnostic and the rule that made it. Its path is relative to the current directory.
type finding struct {
	Rule string
	*diag.Diagnostic
}

// findingsOf returns the diagnostics of a load.
func findingsOf(diags diag.Diagnostics) (found []finding) {
	for _, d := range diags {
		found = append(found, finding{d.Rule(), d})
	}
	return found
}

// writeAnnotations writes findings as annotations of GitHub Actions.
func writeAnnotations(w io.Writer, found []finding) error {
	for _, f := range found {
		if err := github.Annotate(w, f.Severity.String(), f.Subject, f.Summary, f.Detail); err != nil {
			return err
		}
	}
	return nil
}

// writeSARIF writes findings as a SARIF log of a version of the program.
func writeSARIF(w io.Writer, version string, rules []sarif.Rule, found []finding) error {
	results := make([]sarif.Finding, len(found))
	for i, f := range found {
		results[i] = sarif.Finding{Rule: f.Rule, Level: sarif.LevelOf(f.Severity), Message: f.Summary + ". " + f.Detail,
			Subject: f.Subject}
	}
	return sarif.Write(w, sarif.Tool{Name: "hatchel", Version: version, Rules: rules}, results)
}

// capWarnings returns diagnostics without the warnings after the first ones, and how many those are.
func capWarnings(diags diag.Diagnostics, maxWarnings int) (kept diag.Diagnostics, omitted int) {
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
