package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"hatchel/runtime"
	"hatchel/runtime/mcp"
)

func listCommand() *cobra.Command {
	var l loading
	var asJSON bool
	cmd := folderArg(&cobra.Command{
		Use:   "list [DIR]",
		Short: "List the tools of a folder",
		RunE: func(cmd *cobra.Command, args []string) error {
			g, err := l.ready(cmd.Context(), folderOf(args), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			defer g.Close()
			done := spin(cmd.ErrOrStderr(), "asking the connections")
			g.Probe(cmd.Context()) // what databases tell of their rows is part of the list
			done()
			if asJSON {
				var out bytes.Buffer
				if err := json.Indent(&out, g.List(mcp.Tools).AppendResult(nil, mcp.Revision20260728), "", "  "); err != nil {
					return failf("the list cannot be written: %s", err)
				}
				fmt.Fprintln(cmd.OutOrStdout(), out.String())
				return nil
			}
			return printTools(cmd, g)
		},
	})
	l.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what tools/list answers")
	return cmd
}

func printTools(cmd *cobra.Command, g *runtime.Generation) error {
	out := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	for _, name := range g.Names() {
		p, _ := g.Program(name)
		t := p.Tool()
		if !t.Listed {
			continue
		}
		var inputs []string
		for _, m := range t.Input.Members {
			if m.Optional {
				inputs = append(inputs, "["+m.Name+"]")
			} else {
				inputs = append(inputs, m.Name)
			}
		}
		line, _, _ := strings.Cut(strings.TrimSpace(t.Description), "\n")
		fmt.Fprintf(out, "%s\t%s\t%s\n", name, strings.Join(inputs, " "), line)
	}
	return out.Flush()
}
