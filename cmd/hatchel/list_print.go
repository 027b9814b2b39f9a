package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"hatchel/cmd/hatchel/console"
	"hatchel/cmd/hatchel/lint"
	"hatchel/cmd/hatchel/test"
	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/runtime"
	"hatchel/runtime/edge/mcp"
)

// printCapabilities prints the capabilities whose names are visible, one a line. Kinds have
// headings when there are not only tools.
func printCapabilities(w io.Writer, g *runtime.Generation, visible func(mcp.Listing) []string) error {
	resources := slices.Concat(visible(mcp.Resources), visible(mcp.Templates))
	sections := []struct {
		heading string
		lines   []string
	}{
		{"Tools", capabilityLines(g.Config.Tools, visible(mcp.Tools), func(t *hcl.Tool) [3]string {
			return [3]string{t.Name, inputNames(t.Input), console.FirstLine(t.Description)}
		})},
		{"Prompts", capabilityLines(g.Config.Prompts, visible(mcp.Prompts), func(p *hcl.Prompt) [3]string {
			return [3]string{p.Name, inputNames(p.Input), console.FirstLine(p.Description)}
		})},
		{"Resources", capabilityLines(g.Config.Resources, resources, resourceColumns)},
		{"Skills", skillLines(g, visible(mcp.Skills))},
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
	return [3]string{r.Name, uri, console.FirstLine(r.Description)}
}

func skillLines(g *runtime.Generation, visible []string) (lines []string) {
	for _, s := range g.Config.Skills {
		if slices.Contains(visible, s.URI) {
			lines = append(lines, s.Name+"\t"+s.URI+"\t"+console.FirstLine(s.Description))
		}
	}
	return lines
}

func toolsetLines(g *runtime.Generation) (lines []string) {
	for _, t := range g.Config.Toolsets {
		var members []string
		for _, kind := range []struct {
			name  string
			names []string
		}{{"tools", t.Tools}, {"prompts", t.Prompts}, {"resources", t.Resources}, {"skills", t.Skills}} {
			if len(kind.names) > 0 {
				members = append(members, kind.name+" "+strings.Join(kind.names, ", "))
			}
		}
		if t.Search != nil {
			members = append(members, searchLine(t.Search))
		}
		lines = append(lines, t.Name+"\t"+strings.Join(members, "; ")+"\t"+console.FirstLine(t.Title))
	}
	return lines
}

// searchLine says what clients list of a toolset with a search block.
func searchLine(s *hcl.Search) string {
	if len(s.Pinned) == 0 {
		return "found by search"
	}
	return "found by search but " + strings.Join(s.Pinned, ", ")
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

// printTokens prints the estimated tokens of each tool, of each toolset and of all tools. Answers, unless they are nil,
// are two more columns.
func printTokens(w io.Writer, g *runtime.Generation, tools *mcp.List, answers []test.AnswerTokens) error {
	entries, err := lint.EntriesOf(g.Info().AppendList(nil, tools, mcp.Revision20260728))
	if err != nil {
		return err
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	head, none := "", ""
	if answers != nil {
		head, none = "answer\tmax\t", "\t\t"
	}
	fmt.Fprintf(out, "≈ tokens\tdescription\tinput\toutput\t%s\n", head)
	searched, err := listSearched(g)
	if err != nil {
		return err
	}
	totals, total := map[string]int{}, 0
	for _, name := range tools.Names() {
		var e struct {
			Description               string
			InputSchema, OutputSchema json.RawMessage
		}
		if err := json.Unmarshal(entries[name], &e); err != nil {
			return err
		}
		n := lint.Tokens(entries[name])
		total += n
		for _, set := range g.Config.Toolsets {
			if set.HasTool(name) && set.Search == nil {
				totals[set.Name] += n
			}
		}
		columns := ""
		if answers != nil {
			median, most := test.TokensOf(answers, name)
			columns = median + "\t" + most + "\t"
		}
		fmt.Fprintf(out, "%d\t%d\t%d\t%d\t%s  %s\n", n, lint.Tokens(lint.Entry(e.Description)),
			lint.Tokens(e.InputSchema), lint.Tokens(e.OutputSchema), columns, name)
	}
	for set, entries := range searched {
		for _, entry := range entries {
			totals[set] += lint.Tokens(entry)
		}
	}
	for _, set := range g.Config.Toolsets {
		fmt.Fprintf(out, "%d\t\t\t\t%s  toolset %s\n", totals[set.Name], none, set.Name)
	}
	fmt.Fprintf(out, "%d\t\t\t\t%s  %s\n", total, none, console.Plural(tools.Len(), "tool"))
	return out.Flush()
}
