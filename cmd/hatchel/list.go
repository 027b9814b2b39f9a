package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"hatchel/hcl"
	"hatchel/hcl/lint"
	"hatchel/hcl/schema"
	"hatchel/runtime"
	"hatchel/runtime/mcp"
)

// listFlags are the flags of list.
type listFlags struct {
	loadFlags
	callerFlags
	kind   string
	asJSON bool
	tokens bool
}

// listKinds are the values of --kind.
var listKinds = map[string]mcp.Listing{
	"tools": mcp.Tools, "prompts": mcp.Prompts, "resources": mcp.Resources, "templates": mcp.Templates,
}

func listCommand() *cobra.Command {
	f := &listFlags{loadFlags: loadFlags{inspect: true}}
	cmd := folderArg(&cobra.Command{
		Use:   "list [DIR]",
		Short: "List the tools, prompts, resources and toolsets of a configuration",
		Long: `List the tools, prompts, resources and toolsets of a configuration directory: all
of them, or those that a caller sees, given with --subject, --group, --scope,
--claim and --header.

With --json the output is the result of tools/list, exactly as a client of protocol
revision 2026-07-28 receives it, all pages in one. With --kind it is the result of
prompts/list, resources/list or resources/templates/list.

With --tokens the output is the estimated number of tokens that each tool takes of
the context of an agent that lists it.`,
		Example: `  hatchel list ./tools
  hatchel list ./tools --subject ann --group billing
  hatchel list ./tools --json --kind prompts
  hatchel list ./tools --tokens`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, folderOf(cmd, args)) },
	})
	f.loadFlags.register(cmd)
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print the result of tools/list")
	cmd.Flags().StringVar(&f.kind, "kind", "tools",
		"with --json, the `KIND` to list: tools, prompts, resources or templates")
	cmd.Flags().BoolVar(&f.tokens, "tokens", false, "print how many tokens each tool and each toolset takes")
	cmd.MarkFlagsMutuallyExclusive("json", "tokens")
	f.callerFlags.register(cmd)
	completeWords(cmd, "kind", "tools", "prompts", "resources", "templates")
	return cmd
}

func (f *listFlags) run(cmd *cobra.Command, dir string) error {
	kind, err := f.listing(cmd)
	if err != nil {
		return err
	}
	caller, err := f.caller()
	if err != nil {
		return err
	}
	g, err := f.mustCompile(cmd.Context(), dir, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer g.Close()
	stop := showSpinner(cmd.ErrOrStderr(), "checking connections")
	g.Learn(cmd.Context()) // the lists contain schemas that databases report
	stop()
	list := g.List
	if f.isSet() {
		list = func(kind mcp.Listing) *mcp.List { return g.ListFor(cmd.Context(), caller, kind) }
	}
	if f.asJSON {
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n", g.Info().AppendList(nil, list(kind), mcp.Revision20260728))
		return err
	}
	if f.tokens {
		return printTokens(cmd.OutOrStdout(), g, list(mcp.Tools))
	}
	return printCapabilities(cmd.OutOrStdout(), g, func(kind mcp.Listing) []string { return list(kind).Names() })
}

// listing returns the list that --kind names.
func (f *listFlags) listing(cmd *cobra.Command) (mcp.Listing, error) {
	if cmd.Flags().Changed("kind") && !f.asJSON {
		return 0, misusef("--kind requires --json")
	}
	kind, ok := listKinds[f.kind]
	if !ok {
		return 0, misusef("--kind must be tools, prompts, resources or templates, and is %q", f.kind)
	}
	return kind, nil
}

// printCapabilities prints the capabilities whose names are visible, one a line. Kinds have
// headings when there are not only tools.
func printCapabilities(w io.Writer, g *runtime.Generation, visible func(mcp.Listing) []string) error {
	resources := slices.Concat(visible(mcp.Resources), visible(mcp.Templates))
	sections := []struct {
		heading string
		lines   []string
	}{
		{"Tools", capabilityLines(g.Config.Tools, visible(mcp.Tools), func(t *hcl.Tool) [3]string {
			return [3]string{t.Name, inputNames(t.Input), firstLine(t.Description)}
		})},
		{"Prompts", capabilityLines(g.Config.Prompts, visible(mcp.Prompts), func(p *hcl.Prompt) [3]string {
			return [3]string{p.Name, inputNames(p.Input), firstLine(p.Description)}
		})},
		{"Resources", capabilityLines(g.Config.Resources, resources, resourceColumns)},
		{"Toolsets", toolsetLines(g)},
	}
	onlyTools := true
	for _, s := range sections[1:] {
		onlyTools = onlyTools && len(s.lines) == 0
	}
	for _, s := range sections {
		if len(s.lines) == 0 {
			continue
		}
		indent := ""
		if !onlyTools {
			fmt.Fprintln(w, s.heading)
			indent = "  "
		}
		out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, line := range s.lines {
			fmt.Fprintln(out, indent+strings.TrimRight(line, "\t"))
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// capabilityLines returns the columns of the capabilities whose names are visible; the first column is
// the name.
func capabilityLines[T any](all []T, visible []string, columns func(T) [3]string) (lines []string) {
	for _, capability := range all {
		if line := columns(capability); slices.Contains(visible, line[0]) {
			lines = append(lines, strings.Join(line[:], "\t"))
		}
	}
	return lines
}

func resourceColumns(r *hcl.Resource) [3]string {
	uri := r.URI
	if r.Template != nil {
		uri = r.Template.Raw()
	}
	return [3]string{r.Name, uri, firstLine(r.Description)}
}

func toolsetLines(g *runtime.Generation) (lines []string) {
	for _, t := range g.Config.Toolsets {
		var members []string
		for _, kind := range []struct {
			name  string
			names []string
		}{{"tools", t.Tools}, {"prompts", t.Prompts}, {"resources", t.Resources}} {
			if len(kind.names) > 0 {
				members = append(members, kind.name+" "+strings.Join(kind.names, ", "))
			}
		}
		lines = append(lines, t.Name+"\t"+strings.Join(members, "; ")+"\t"+firstLine(t.Title))
	}
	return lines
}

// inputNames returns the names of the inputs, with optional ones in brackets.
func inputNames(t *schema.Type) string {
	var names []string
	for _, m := range t.Members {
		if m.Optional {
			names = append(names, "["+m.Name+"]")
		} else {
			names = append(names, m.Name)
		}
	}
	return strings.Join(names, " ")
}

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
