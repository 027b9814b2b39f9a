package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"hatchel/hcl/schema"
	"hatchel/runtime"
	"hatchel/runtime/mcp"
)

// listing are the flags of list.
type listing struct {
	loading
	posing
	of     string
	asJSON bool
}

// listings are the lists that clients are answered, as --of calls them.
var listings = []struct {
	name string
	of   mcp.Listing
}{{"tools", mcp.Tools}, {"prompts", mcp.Prompts}, {"resources", mcp.Resources}, {"templates", mcp.Templates}}

func listCommand() *cobra.Command {
	l := new(listing)
	cmd := folderArg(&cobra.Command{
		Use:   "list [DIR] [--json [--of tools]] [--subject S] [--group G ...]",
		Short: "List the tools, prompts, resources and toolsets of a folder",
		Long: `List the tools, prompts, resources and toolsets of a folder, all of them, or with --subject, --group, --scope, --claim and --header those that
such a caller sees.

With --json it is the result of tools/list, byte for byte as a client of revision 2026-07-28 gets it, with all pages in one; with --of that of
prompts/list, resources/list or resources/templates/list.`,
		RunE: func(cmd *cobra.Command, args []string) error { return l.run(cmd, folderOf(args)) },
	})
	l.flags(cmd)
	cmd.Flags().BoolVar(&l.asJSON, "json", false, "print what tools/list answers")
	cmd.Flags().StringVar(&l.of, "of", "tools", "with --json, which `list`: tools, prompts, resources or templates")
	l.posingFlags(cmd)
	var names []string
	for _, is := range listings {
		names = append(names, is.name)
	}
	cmd.RegisterFlagCompletionFunc("of", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (l *listing) run(cmd *cobra.Command, dir string) error {
	of, err := l.which(cmd)
	if err != nil {
		return err
	}
	var caller *mcp.Caller
	if l.posed() {
		if caller, err = l.caller(); err != nil {
			return err
		}
	}
	g, err := l.ready(cmd.Context(), dir, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer g.Close()
	done := spin(cmd.ErrOrStderr(), "asking the connections")
	g.Learn(cmd.Context()) // what databases tell of their rows is part of the list
	done()
	list := g.List
	if caller != nil {
		list = func(of mcp.Listing) *mcp.List { return g.ListFor(cmd.Context(), caller, of) }
	}
	if l.asJSON {
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n", g.Info().AppendList(nil, list(of), mcp.Revision20260728))
		return err
	}
	return printOffers(cmd.OutOrStdout(), g, func(of mcp.Listing) []string { return list(of).Names() })
}

// which is the list that is meant.
func (l *listing) which(cmd *cobra.Command) (mcp.Listing, error) {
	if cmd.Flags().Changed("of") && !l.asJSON {
		return 0, misusef("--of says which list is printed as JSON: give --json, too")
	}
	for _, is := range listings {
		if is.name == l.of {
			return is.of, nil
		}
	}
	return 0, misusef("--of takes tools, prompts, resources or templates, and got %q", l.of)
}

// printOffers prints what there is, a line for each that is seen. Where there are not only tools, each kind has a heading.
func printOffers(w io.Writer, g *runtime.Generation, seen func(mcp.Listing) []string) error {
	kinds := []struct {
		heading string
		lines   []string
	}{
		{"Tools", toolLines(g, seen(mcp.Tools))}, {"Prompts", promptLines(g, seen(mcp.Prompts))},
		{"Resources", resourceLines(g, slices.Concat(seen(mcp.Resources), seen(mcp.Templates)))}, {"Toolsets", toolsetLines(g)},
	}
	only := true
	for _, k := range kinds[1:] {
		only = only && len(k.lines) == 0
	}
	for _, k := range kinds {
		if len(k.lines) == 0 {
			continue
		}
		indent := ""
		if !only {
			fmt.Fprintln(w, k.heading)
			indent = "  "
		}
		out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, line := range k.lines {
			fmt.Fprintln(out, indent+strings.TrimRight(line, "\t"))
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func toolLines(g *runtime.Generation, seen []string) (lines []string) {
	for _, t := range g.Config.Tools {
		if slices.Contains(seen, t.Name) {
			lines = append(lines, t.Name+"\t"+inputNames(t.Input)+"\t"+firstLine(t.Description))
		}
	}
	return lines
}

func promptLines(g *runtime.Generation, seen []string) (lines []string) {
	for _, p := range g.Config.Prompts {
		if slices.Contains(seen, p.Name) {
			lines = append(lines, p.Name+"\t"+inputNames(p.Input)+"\t"+firstLine(p.Description))
		}
	}
	return lines
}

func resourceLines(g *runtime.Generation, seen []string) (lines []string) {
	for _, r := range g.Config.Resources {
		uri := r.URI
		if r.Template != nil {
			uri = r.Template.Raw()
		}
		if slices.Contains(seen, r.Name) {
			lines = append(lines, r.Name+"\t"+uri+"\t"+firstLine(r.Description))
		}
	}
	return lines
}

func toolsetLines(g *runtime.Generation) (lines []string) {
	for _, t := range g.Config.Toolsets {
		var holds []string
		for _, k := range []struct {
			heading string
			names   []string
		}{{"tools", t.Tools}, {"prompts", t.Prompts}, {"resources", t.Resources}} {
			if len(k.names) > 0 {
				holds = append(holds, k.heading+" "+strings.Join(k.names, ", "))
			}
		}
		lines = append(lines, t.Name+"\t"+strings.Join(holds, "; ")+"\t"+firstLine(t.Title))
	}
	return lines
}

// inputNames are the inputs, those that may be left out in brackets.
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

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
