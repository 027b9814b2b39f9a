package main

import (
	"io"
	"strings"

	"hatchel/cmd/hatchel/github"
	"hatchel/cmd/hatchel/sarif"
	"hatchel/hcl"
)

// finding is a diagnostic of validate or lint, with a path that is relative to the current directory.
type finding struct {
	rule string
	*hcl.Diagnostic
}

// ruleOf returns the rule of a diagnostic of the loader: its summary, in the form of an identifier.
func ruleOf(d *hcl.Diagnostic) string {
	return strings.ReplaceAll(strings.ToLower(d.Summary), " ", "-")
}

// loaderFindings returns diagnostics of the loader as findings.
func loaderFindings(diags hcl.Diagnostics) (all []finding) {
	for _, d := range diags {
		all = append(all, finding{ruleOf(d), d})
	}
	return all
}

// printAnnotations writes findings as annotations of GitHub Actions.
func printAnnotations(w io.Writer, found []finding) error {
	for _, f := range found {
		if err := github.Annotate(w, f.Severity.String(), f.Subject, f.Summary, f.Detail); err != nil {
			return failf("the result cannot be written: %s", reason(err))
		}
	}
	return nil
}

// printSARIF writes findings as a SARIF log.
func printSARIF(w io.Writer, rules []sarif.Rule, found []finding) error {
	results := make([]sarif.Finding, len(found))
	for i, f := range found {
		results[i] = sarif.Finding{Rule: f.rule, Level: sarif.LevelOf(f.Severity), Message: f.Summary + ". " + f.Detail,
			Subject: f.Subject}
	}
	if err := sarif.Write(w, sarif.Tool{Name: "hatchel", Version: release(), Rules: rules}, results); err != nil {
		return failf("the result cannot be written: %s", reason(err))
	}
	return nil
}
