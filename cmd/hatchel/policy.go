package main

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"hatchel/hcl"
	"hatchel/runtime"
)

func policyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Say who may call what",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return misusef("policy takes a word more: list or explain") },
	}
	cmd.AddCommand(policyListCommand(), explainCommand())
	return cmd
}

func policyListCommand() *cobra.Command {
	var l loading
	var asJSON bool
	cmd := folderArg(&cobra.Command{
		Use:   "list [DIR]",
		Short: "List the rules about every tool, prompt and resource of a folder",
		Long:  "List every tool, prompt and resource of a folder with the rules that are about it, in the order in which they are asked.",
		RunE: func(cmd *cobra.Command, args []string) error {
			g, err := l.ready(cmd.Context(), folderOf(args), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			defer g.Close()
			all := g.ListRules()
			for _, r := range all {
				for i := range r.Rules {
					r.Rules[i].Range = seen(folderOf(args), r.Rules[i].Range)
				}
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), all)
			}
			return printRuled(cmd.OutOrStdout(), all)
		},
	})
	l.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the list as JSON")
	return cmd
}

// printRuled prints everything that is offered, each with its rules below.
func printRuled(w io.Writer, all []runtime.OperationRules) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range all {
		fmt.Fprintf(out, "%s %s\n", r.Kind, r.Name)
		for _, rule := range r.Rules {
			fmt.Fprintf(out, "  %s\t%s\t%s\n", rule.Rule, oneLine(rule.Program), place(rule.Range))
		}
		if r.Default != "" {
			fmt.Fprintf(out, "  default\t%s\n", r.Default)
		}
	}
	return out.Flush()
}

// oneLine is a program as it fits a table.
func oneLine(program string) string { return strings.Join(strings.Fields(program), " ") }

// seen is a range with the name of its file as it is seen from the current folder.
func seen(dir string, r hcl.Range) hcl.Range {
	r.File = filepath.Join(dir, filepath.FromSlash(r.File))
	return r
}

func place(r hcl.Range) string { return fmt.Sprintf("%s:%d", r.File, r.Start.Line) }

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return failf("the result cannot be written: %s", reason(err))
	}
	return nil
}
