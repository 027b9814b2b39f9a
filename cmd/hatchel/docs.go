package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hatchel/adapters/all"
	"hatchel/hcl"
	"hatchel/hcl/spelling"
)

func docsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "docs [BLOCK]",
		Short: "Show the reference of the language",
		Long:  "Show the reference of the language: all blocks, one of them (hatchel docs http),\nor a topic: types, names, functions.",
		Args:  cobra.MaximumNArgs(2), // a key may have two words, as in docs connection http
		RunE: func(cmd *cobra.Command, args []string) error {
			return document(cmd.OutOrStdout(), strings.Join(args, " "))
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return wordAfter(topics(), args), cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// topics are the keys of all blocks and what else there is to read.
func topics() (names []string) {
	for _, b := range hcl.Reference(all.Set().Kinds()) {
		names = append(names, b.Key)
	}
	return append(names, "types", "names", "functions")
}

// wordAfter is what may follow the words of a key that are written already.
func wordAfter(keys, written []string) (words []string) {
	for _, key := range keys {
		parts := strings.Fields(key)
		if len(parts) > len(written) && slices.Equal(parts[:len(written)], written) && !slices.Contains(words, parts[len(written)]) {
			words = append(words, parts[len(written)])
		}
	}
	return words
}

func document(w io.Writer, topic string) error {
	blocks := hcl.Reference(all.Set().Kinds())
	switch topic {
	case "":
		return overview(w, blocks)
	case "types":
		return documentTypes(w)
	case "names":
		return documentNames(w)
	case "functions":
		return documentFunctions(w)
	}
	about := blocksAbout(blocks, topic)
	for i, b := range about {
		if i > 0 {
			fmt.Fprintln(w)
		}
		documentBlock(w, b)
	}
	if len(about) == 0 {
		if near := spelling.Nearest(topic, topics()); near != "" {
			return misusef("there is no block %q. Did you mean %q?", topic, near)
		}
		return misusef("there is no block %q. There are: %s", topic, strings.Join(topics(), ", "))
	}
	return nil
}

// blocksAbout are the block of that name and what belongs to it: its connection, its use as a step.
func blocksAbout(blocks []hcl.BlockReference, topic string) (about []hcl.BlockReference) {
	for _, b := range blocks {
		switch {
		case b.Key == topic:
			about = slices.Insert(about, 0, b)
		case strings.HasPrefix(b.Key, topic+" ") || strings.HasSuffix(b.Key, " "+topic):
			about = append(about, b)
		}
	}
	return about
}

func overview(w io.Writer, blocks []hcl.BlockReference) error {
	var rows [][2]string
	for _, b := range blocks {
		first, _, _ := strings.Cut(b.Doc, ". ")
		rows = append(rows, [2]string{b.Name, strings.TrimSuffix(first, ".") + "."})
	}
	out := bufio.NewWriter(w)
	paragraph(out, "", "What is sent or said is HCL, with ${...}. What decides or shapes is an expr program, in quotes.")
	fmt.Fprintln(out)
	columns(out, rows)
	fmt.Fprintln(out)
	columns(out, [][2]string{
		{"hatchel docs BLOCK", "What a block may hold, as in hatchel docs http."},
		{"hatchel docs types", "How the type of an input is written."},
		{"hatchel docs names", "What templates and programs can read."},
		{"hatchel docs functions", "What templates and programs can call."},
	})
	return out.Flush()
}

func documentBlock(w io.Writer, b hcl.BlockReference) {
	fmt.Fprintf(w, "%s\n", b.Name)
	paragraph(w, "  ", b.Doc)
	documentSpec(w, "  ", b.Spec)
}

// documentSpec prints the arguments and blocks of a spec, nested ones indented.
func documentSpec(w io.Writer, indent string, spec hcl.Spec) {
	said := map[string]bool{}
	for _, f := range spec {
		fmt.Fprintln(w)
		paragraph(w, indent, heading(f))
		paragraph(w, indent+"    ", f.Doc)
		if what, must := f.Choice(); what != "" && !said[what] {
			said[what] = true
			rule := "At most one says "
			if must {
				rule = "Exactly one says "
			}
			paragraph(w, indent+"    ", rule+what+": "+strings.Join(rivals(spec, what), ", ")+".")
		}
		if len(f.Nested()) > 0 {
			documentSpec(w, indent+"    ", f.Nested())
		}
	}
}

func heading(f hcl.Field) string {
	var notes []string
	if f.Required {
		notes = append(notes, "required")
	}
	if f.Default != "" {
		notes = append(notes, "default "+f.Default)
	}
	if f.Many {
		notes = append(notes, "may be repeated")
	}
	if f.Secret {
		notes = append(notes, "a secret may stand here")
	}
	head := f.Name + " = <" + f.Type + ">"
	if f.Type == "" {
		head = f.Name + " { }"
	}
	if len(notes) > 0 {
		head += "  (" + strings.Join(notes, ", ") + ")"
	}
	return head
}

// rivals are the arguments of which one is written.
func rivals(spec hcl.Spec, what string) (names []string) {
	for _, f := range spec {
		if other, _ := f.Choice(); other == what {
			names = append(names, f.Name)
		}
	}
	return names
}
