package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"hatchel/hcl/schema"
	"hatchel/runtime"
	"hatchel/runtime/mcp"
)

func listCommand() *cobra.Command {
	var l loading
	var asJSON bool
	cmd := folderArg(&cobra.Command{
		Use:   "list [DIR]",
		Short: "List the tools, prompts, resources and toolsets of a folder",
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
				return printLists(cmd.OutOrStdout(), g)
			}
			return printOffers(cmd.OutOrStdout(), g)
		},
	})
	l.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what tools/list, prompts/list, resources/list and resources/templates/list answer, as one object")
	return cmd
}

// printLists prints the lists as clients get them.
func printLists(w io.Writer, g *runtime.Generation) error {
	var lists struct {
		Tools     json.RawMessage `json:"tools"`
		Prompts   json.RawMessage `json:"prompts"`
		Resources json.RawMessage `json:"resources"`
		Templates json.RawMessage `json:"resourceTemplates"`
	}
	for _, of := range []mcp.Listing{mcp.Tools, mcp.Prompts, mcp.Resources, mcp.Templates} {
		if err := json.Unmarshal(g.List(of).AppendResult(nil, mcp.Revision20260728), &lists); err != nil {
			return failf("the list cannot be written: %s", err)
		}
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(lists); err != nil {
		return failf("the list cannot be written: %s", err)
	}
	_, err := out.WriteTo(w)
	return err
}

// printOffers prints what there is, a line for each. Where there are not only tools, each kind has a heading.
func printOffers(w io.Writer, g *runtime.Generation) error {
	kinds := []struct {
		heading string
		lines   []string
	}{{"Tools", toolLines(g)}, {"Prompts", promptLines(g)}, {"Resources", resourceLines(g)}, {"Toolsets", toolsetLines(g)}}
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

func toolLines(g *runtime.Generation) (lines []string) {
	for _, t := range g.Config.Tools {
		if t.Listed {
			lines = append(lines, t.Name+"\t"+inputNames(t.Input)+"\t"+firstLine(t.Description))
		}
	}
	return lines
}

func promptLines(g *runtime.Generation) (lines []string) {
	for _, p := range g.Config.Prompts {
		lines = append(lines, p.Name+"\t"+inputNames(p.Input)+"\t"+firstLine(p.Description))
	}
	return lines
}

func resourceLines(g *runtime.Generation) (lines []string) {
	for _, r := range g.Config.Resources {
		uri := r.URI
		if r.Template != nil {
			uri = r.Template.Raw()
		}
		if r.Listed {
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
