package main

import (
	"slices"

	"github.com/spf13/cobra"

	"hatchel/cmd/hatchel/exit"
	"hatchel/cmd/hatchel/lint"
	"hatchel/hcl"
	"hatchel/runtime"
	"hatchel/runtime/edge/mcp"
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
		Short: "Find hidden text, instructions to models, and tools that confuse agents",
		Long: `Find problems in a valid configuration directory that mislead agents or the people who
review it: invisible characters, phrases that instruct models, inputs without a
description, names that clients refuse or confuse, and lists that take many tokens. No
connection is opened and no secret is read. Numbers of tokens are estimates.

The exit code is 1 if there is an error, and 0 if there are only warnings. A comment allows the
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
	tuneFor(inspectTuning)
	g, err := f.mustCompile(cmd.Context(), dir, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer g.Close()
	entries, err := listEntries(g)
	if err != nil {
		return err
	}
	searched, err := listSearched(g)
	if err != nil {
		return err
	}
	result := lint.Check(g.Config, lint.Options{
		Tools: entries, Searched: searched, MaxTokens: f.maxTokens, Parallel: runParallel,
	})
	diags, sources := prefixPaths(dir, diagnosticsOf(result.Findings), g.Config.Sources)
	for i, d := range diags {
		result.Findings[i].Diagnostic = d
	}
	report := lintReport{
		Result: &result, Folder: dir, Version: release(), Tools: len(g.Config.Tools), Sources: sources,
	}
	if err := report.Write(cmd.OutOrStdout(), f.format); err != nil {
		return writeError(err)
	}
	if diags.HasErrors() {
		return &exit.Error{Code: exit.Failed}
	}
	return nil
}

// listEntries returns the entries of tools/list by the name of the tool.
func listEntries(g *runtime.Generation) (map[string]lint.Entry, error) {
	return lint.EntriesOf(g.Info().AppendList(nil, g.List(mcp.Tools), mcp.Revision20260728))
}

// listSearched returns the entries of tools/list of each toolset with a search block.
func listSearched(g *runtime.Generation) (map[string]map[string]lint.Entry, error) {
	searched := map[string]map[string]lint.Entry{}
	for _, set := range g.Config.Toolsets {
		if set.Search == nil {
			continue
		}
		view := g.Views.Of(set.Name)
		entries, err := lint.EntriesOf(view.Info.AppendList(nil, view.List(mcp.Tools), mcp.Revision20260728))
		if err != nil {
			return nil, err
		}
		searched[set.Name] = entries
	}
	return searched, nil
}

func diagnosticsOf(found []lint.Finding) (diags hcl.Diagnostics) {
	for _, f := range found {
		diags = append(diags, f.Diagnostic)
	}
	return diags
}
