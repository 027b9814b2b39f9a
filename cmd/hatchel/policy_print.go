package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"hatchel/cmd/hatchel/console"
	"hatchel/hcl"
	"hatchel/runtime/call"
	"hatchel/runtime/load/access"
)

// printRules prints the rules that apply to each operation, in the order of evaluation.
func printRules(w io.Writer, targets []call.OperationRules) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, target := range targets {
		fmt.Fprintf(out, "%s %s\n", target.Kind, target.Name)
		for _, rule := range target.Rules {
			fmt.Fprintf(out, "  %s\t%s\t%s\n", rule.Rule, console.JoinLines(rule.Program), formatPosition(rule.Range))
		}
		if target.Default != "" {
			fmt.Fprintf(out, "  default\t%s\n", target.Default)
		}
	}
	return out.Flush()
}

func formatPosition(r hcl.Range) string { return fmt.Sprintf("%s:%d", r.File, r.Start.Line) }

// printExplanation prints the verdict, the result of every rule, and what masks show.
func printExplanation(w io.Writer, kind, name string, e call.Explanation, identities []access.Identity,
	masks []access.Mask) error {
	if e.Verdict == "" {
		fmt.Fprintf(w, "%s %s: depends on its inputs\n", kind, name)
	} else {
		fmt.Fprintf(w, "%s %s: %s by %s\n", kind, name, e.Verdict, e.Rule)
	}
	if e.Message != "" {
		fmt.Fprintf(w, "told: %s\n", strings.ReplaceAll(e.Message, "\n", "\n      "))
	}
	if e.Invalid != "" {
		fmt.Fprintf(w, "inputs: %s\n", strings.ReplaceAll(e.Invalid, "\n", "\n        "))
	}
	fmt.Fprintf(w, "listed: %s\n", map[bool]string{true: "yes", false: "no"}[e.Listed])
	for _, i := range identities {
		fmt.Fprintf(w, "needs: %s\n", i)
		if i.Fails != "" {
			fmt.Fprintf(w, "fails: %s\n", i.Fails)
			continue
		}
		fmt.Fprintf(w, "runs: %s\n", i.RunsAs)
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range e.Rules {
		result := r.Says
		switch result {
		case "":
			result = "reads inputs"
		case "error":
			result = "error: " + r.Error
		}
		fmt.Fprintf(out, "  %s\t%s\t%s\t%s\n", r.Rule, result, console.JoinLines(r.Program), formatPosition(r.Range))
	}
	if err := out.Flush(); err != nil || len(masks) == 0 {
		return err
	}
	fmt.Fprintln(w, "masks:")
	for _, m := range masks {
		result, program := "no rule", "nobody sees the values"
		if m.Rule != nil {
			result, program = m.Rule.Says, console.JoinLines(m.Rule.Program)
			if m.Rule.Error != "" {
				result = "error: " + m.Rule.Error
			}
		}
		fmt.Fprintf(out, "  %s\t%s\t%s\t%s\t%s\t%s\n", m.Name, strings.Join(m.Members, ", "), m.Sees, result, program,
			formatPosition(m.Range))
	}
	return out.Flush()
}
