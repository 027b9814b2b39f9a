package main

import (
	"bufio"
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hatchel/adapters/all"
	"hatchel/hcl"
	"hatchel/hcl/spelling"
)

// examples are what the pages of the reference show.
//
//go:embed examples
var examples embed.FS

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
	if len(about) == 0 {
		about = partsCalled(blocks, topic)
	}
	if len(about) == 0 {
		return unknown(blocks, topic)
	}
	page := reference{Writer: w}
	for _, b := range blocks {
		if len(b.Spec) > 0 {
			page.own = append(page.own, b.Key)
		}
	}
	for i, b := range about {
		if i > 0 {
			fmt.Fprintln(w)
		}
		page.block(b)
	}
	return nil
}

// unknown says where a word belongs that is no block.
func unknown(blocks []hcl.BlockReference, topic string) error {
	if holders := holdersOf(blocks, topic); len(holders) > 0 {
		return misusef("%s is no block, but an argument of %s: hatchel docs %s", topic, strings.Join(holders, ", "), holders[0])
	}
	if near := spelling.Nearest(topic, topics()); near != "" {
		return misusef("there is no block %q. Did you mean %q?", topic, near)
	}
	return misusef("there is no block %q. There are: %s", topic, strings.Join(topics(), ", "))
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

// partsCalled are the blocks of that name inside of others that have no page of their own. Those that are the same in several are told once.
func partsCalled(blocks []hcl.BlockReference, name string) (parts []hcl.BlockReference) {
	holders := map[string][]string{} // by what the part is for
	for _, b := range blocks {
		eachField(b.Spec, func(f hcl.Field) {
			if f.Name != name || f.Type != "" {
				return
			}
			if holders[f.Doc] == nil {
				parts = append(parts, hcl.BlockReference{Name: name, Doc: f.Doc, Spec: f.Nested()})
			}
			holders[f.Doc] = append(holders[f.Doc], b.Key)
		})
	}
	for i, p := range parts {
		parts[i].Name += ", in " + strings.Join(slices.Compact(holders[p.Doc]), ", ")
	}
	return parts
}

// holdersOf are the blocks that have an argument of that name.
func holdersOf(blocks []hcl.BlockReference, name string) (keys []string) {
	for _, b := range blocks {
		if slices.ContainsFunc(b.Spec, func(f hcl.Field) bool { return f.Name == name }) {
			keys = append(keys, b.Key)
		}
	}
	return keys
}

func eachField(spec hcl.Spec, do func(hcl.Field)) {
	for _, f := range spec {
		do(f)
		eachField(f.Nested(), do)
	}
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

// reference prints pages of the reference.
type reference struct {
	io.Writer
	own []string // blocks that have a page of their own, which are not told of again where they stand in another
}

func (r reference) block(b hcl.BlockReference) {
	fmt.Fprintf(r, "%s\n", b.Name)
	paragraph(r, "  ", b.Doc)
	r.spec("  ", b.Spec)
	if src, err := examples.ReadFile("examples/" + b.Key + ".hcl"); err == nil {
		fmt.Fprint(r, "\n  For example:\n\n")
		for line := range strings.Lines(string(src)) {
			fmt.Fprint(r, strings.TrimRight("    "+line, " \n"), "\n")
		}
	}
}

// spec prints the arguments and blocks of a spec, nested ones indented.
func (r reference) spec(indent string, spec hcl.Spec) {
	said := map[string]bool{}
	for _, f := range spec {
		fmt.Fprintln(r)
		paragraph(r, indent, heading(f))
		paragraph(r, indent+"    ", f.Doc)
		if what, must := f.Choice(); what != "" && !said[what] {
			said[what] = true
			rule := "At most one says "
			if must {
				rule = "Exactly one says "
			}
			paragraph(r, indent+"    ", rule+what+": "+strings.Join(rivals(spec, what), ", ")+".")
		}
		switch {
		case f.Type == "" && slices.Contains(r.own, f.Name):
			paragraph(r, indent+"    ", "What it holds: hatchel docs "+f.Name+".")
		case len(f.Nested()) > 0:
			r.spec(indent+"    ", f.Nested())
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
		if f.Label != "" {
			head = f.Name + " \"" + f.Label + "\" { }"
		}
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
