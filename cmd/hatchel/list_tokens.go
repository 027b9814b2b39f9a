package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"hatchel/hcl/lint"
	"hatchel/runtime"
	"hatchel/runtime/mcp"
)

// printTokens prints the estimated tokens of each tool, of each toolset and of all tools.
func printTokens(w io.Writer, g *runtime.Generation, tools *mcp.List) error {
	entries, err := lint.EntriesOf(g.Info().AppendList(nil, tools, mcp.Revision20260728))
	if err != nil {
		return failf("the list of tools cannot be read: %s", err)
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "≈ tokens\tdescription\tinput\toutput\t")
	totals, total := map[string]int{}, 0
	for _, name := range tools.Names() {
		var e struct {
			Description               string
			InputSchema, OutputSchema json.RawMessage
		}
		if err := json.Unmarshal(entries[name], &e); err != nil {
			return failf("the list of tools cannot be read: %s", err)
		}
		n := lint.Tokens(entries[name])
		total += n
		for _, set := range g.Config.Toolsets {
			if set.HasTool(name) {
				totals[set.Name] += n
			}
		}
		fmt.Fprintf(out, "%d\t%d\t%d\t%d\t  %s\n", n, lint.Tokens(lint.Entry(e.Description)), lint.Tokens(e.InputSchema),
			lint.Tokens(e.OutputSchema), name)
	}
	for _, set := range g.Config.Toolsets {
		fmt.Fprintf(out, "%d\t\t\t\t  toolset %s\n", totals[set.Name], set.Name)
	}
	fmt.Fprintf(out, "%d\t\t\t\t  %s\n", total, plural(tools.Len(), "tool"))
	return out.Flush()
}
