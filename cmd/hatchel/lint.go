package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"hatchel/cmd/hatchel/findings"
	"hatchel/cmd/hatchel/sarif"
	"hatchel/hcl"
	"hatchel/hcl/lint"
	"hatchel/runtime"
	"hatchel/runtime/mcp"
)

// lintFlags are the flags of lint.
type lintFlags struct {
	loadFlags
	maxTokens int
	format    string
}

func lintCommand() *cobra.Command {
	f := &lintFlags{loadFlags: loadFlags{inspect: true}}
	cmd := folderArg(&cobra.Command{
		Use:   "lint [DIR]",
		Short: "Find text that hides or steers, and tools that agents read badly",
		Long: `Find what is valid in a configuration directory and still harms agents or people who
read it: characters that nobody sees, phrases that steer models, inputs that nobody
explains, names that clients refuse or confuse, and lists that take many tokens. No
connection is opened and no secret is read. Numbers of tokens are estimates.

The exit code is 1 if there is an error, and 0 for warnings. A comment allows the
findings of one rule on its line, or in the argument or block below it:

  # lint:allow steering The catalogue must be read before the other tools are of use.`,
		Example: `  hatchel lint
  hatchel lint ./tools --max-tokens 10000
  hatchel lint ./tools --format sarif`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, folderOf(cmd, args)) },
	})
	f.register(cmd)
	cmd.Flags().IntVar(&f.maxTokens, "max-tokens", lint.DefaultMaxTokens,
		"the `NUMBER` of tokens that all tools, and those of each toolset, may take together")
	cmd.Flags().StringVar(&f.format, "format", "text", "`FORMAT` of the output: text, json, github or sarif")
	completeWords(cmd, "format", "text", "json", "github", "sarif")
	return cmd
}

func (f *lintFlags) run(cmd *cobra.Command, dir string) error {
	switch {
	case !slices.Contains([]string{"text", "json", "github", "sarif"}, f.format):
		return misusef("--format must be text, json, github or sarif, and is %q", f.format)
	case f.maxTokens < 1:
		return misusef("--max-tokens must be at least 1, and is %d", f.maxTokens)
	}
	g, err := f.mustCompile(cmd.Context(), dir, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer g.Close()
	entries, err := listEntries(g)
	if err != nil {
		return err
	}
	result := lint.Check(g.Config, lint.Options{Tools: entries, MaxTokens: f.maxTokens})
	if err := f.print(cmd, dir, g.Config, &result); err != nil {
		return err
	}
	if errs, _ := diagnosticsOf(result.Findings).Counts(); errs > 0 {
		return &exitError{code: exitFailed}
	}
	return nil
}

// listEntries returns the entries of tools/list by the name of the tool.
func listEntries(g *runtime.Generation) (map[string]lint.Entry, error) {
	return lint.EntriesOf(g.Info().AppendList(nil, g.List(mcp.Tools), mcp.Revision20260728))
}

func diagnosticsOf(found []lint.Finding) (diags hcl.Diagnostics) {
	for _, f := range found {
		diags = append(diags, f.Diagnostic)
	}
	return diags
}

func (f *lintFlags) print(cmd *cobra.Command, dir string, config *hcl.Config, r *lint.Result) error {
	out := cmd.OutOrStdout()
	diags, sources := prefixPaths(dir, diagnosticsOf(r.Findings), config.Sources)
	all := make([]findings.Finding, len(diags))
	for i, d := range diags {
		r.Findings[i].Diagnostic, all[i] = d, findings.Finding{Rule: r.Findings[i].Rule, Diagnostic: d}
	}
	errs, warnings := diags.Counts()
	switch f.format {
	case "json":
		return printJSON(out, lintResult{errs, warnings, r.Allowed, len(config.Tools), r.Tokens,
			append([]lint.Finding{}, r.Findings...)})
	case "github":
		return writeError(findings.WriteAnnotations(out, all))
	case "sarif":
		var rules []sarif.Rule
		for _, rule := range lint.Rules {
			rules = append(rules, sarif.Rule{ID: rule.Name, Text: rule.Doc})
		}
		return writeError(findings.WriteSARIF(out, release(), rules, all))
	}
	for i, d := range diags {
		d.Summary += " (" + all[i].Rule + ")"
	}
	if err := diags.Print(out, sources); err != nil {
		return writeError(err)
	}
	if len(diags) > 0 {
		fmt.Fprintln(out)
	}
	allowed := ""
	if r.Allowed > 0 {
		allowed = fmt.Sprintf(", %d allowed", r.Allowed)
	}
	fmt.Fprintf(out, "%s: %s, ≈ %d tokens, %s%s\n", folderName(dir), plural(len(config.Tools), "tool"), r.Tokens,
		joinCounts(" and ", "no findings", count{errs, "error"}, count{warnings, "warning"}), allowed)
	return nil
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
