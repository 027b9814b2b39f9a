package main

import (
	"fmt"
	"io"

	"hatchel/cmd/hatchel/console"
	"hatchel/cmd/hatchel/lint"
	"hatchel/cmd/hatchel/sarif"
	"hatchel/hcl/diag"
)

// lintReport is what lint has found in a directory, which is named as a person has named it. The paths of the findings
// are relative to the current directory.
type lintReport struct {
	*lint.Result
	Folder  string
	Version string // of the program
	Tools   int    // that were checked
	Sources map[string][]byte
}

// Write writes the report in a format: text, json, github or sarif.
func (r *lintReport) Write(out io.Writer, format string) error {
	all, diags := make([]finding, len(r.Findings)), make(diag.Diagnostics, len(r.Findings))
	for i, f := range r.Findings {
		all[i], diags[i] = finding{Rule: f.Rule, Diagnostic: f.Diagnostic}, f.Diagnostic
	}
	switch format {
	case "json":
		return r.writeJSON(out, diags)
	case "github":
		return writeAnnotations(out, all)
	case "sarif":
		var rules []sarif.Rule
		for _, rule := range lint.Rules {
			rules = append(rules, sarif.Rule{ID: rule.Name, Text: rule.Doc})
		}
		return writeSARIF(out, r.Version, rules, all)
	}
	return r.writeText(out, all, diags)
}

func (r *lintReport) writeJSON(out io.Writer, diags diag.Diagnostics) error {
	errs, warnings := diags.Counts()
	result := lintResult{errs, warnings, r.Allowed, r.Tools, r.Tokens, append([]lint.Finding{}, r.Findings...)}
	return console.WriteJSON(out, result)
}

func (r *lintReport) writeText(out io.Writer, all []finding, diags diag.Diagnostics) error {
	for i, d := range diags {
		d.Summary += " (" + all[i].Rule + ")"
	}
	if err := diags.Print(out, r.Sources); err != nil {
		return err
	}
	if len(diags) > 0 {
		fmt.Fprintln(out)
	}
	allowed := ""
	if r.Allowed > 0 {
		allowed = fmt.Sprintf(", %d allowed", r.Allowed)
	}
	errs, warnings := diags.Counts()
	_, err := fmt.Fprintf(out, "%s: %s, ≈ %d tokens, %s%s\n", console.FolderName(r.Folder),
		console.Plural(r.Tools, "tool"), r.Tokens,
		console.JoinCounts(" and ", "no findings", console.Count{N: errs, Noun: "error"},
			console.Count{N: warnings, Noun: "warning"}), allowed)
	return err
}

// lintResult is the output of lint --format json.
type lintResult struct {
	Errors   int            `json:"errors"`
	Warnings int            `json:"warnings"`
	Allowed  int            `json:"allowed"`
	Tools    int            `json:"tools"`
	Tokens   int            `json:"tokens"` // estimate for all listed tools
	Findings []lint.Finding `json:"findings"`
}
