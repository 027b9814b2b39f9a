package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hatchel/adapters/all"
	"hatchel/cmd/hatchel/reference"
	"hatchel/hcl/spelling"
)

// docsFlags are the flags of docs.
type docsFlags struct {
	search string
	format string
	out    string
}

func docsCommand() *cobra.Command {
	var f docsFlags
	cmd := &cobra.Command{
		Use:   "docs [BLOCK | TOPIC]",
		Short: "Show the reference of the configuration language",
		Long: `Show the reference of the configuration language: the list of all blocks, one block,
or a topic: types, names, functions, limits. A block inside another one is named by
both: hatchel docs connection http auth.

With --search every block, argument and function that mentions a word is listed.
With --format markdown --out DIR the reference is written as Markdown files.`,
		Example: `  hatchel docs
  hatchel docs http
  hatchel docs connection http auth
  hatchel docs --search timeout`,
		Args: cobra.MaximumNArgs(6), // the words of a key
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, strings.Join(args, " ")) },
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return nextWords(reference.New(all.Set().Kinds()).Keys(), args), cobra.ShellCompDirectiveNoFileComp
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.search, "search", "", "list everything that mentions a `WORD`")
	fs.StringVar(&f.format, "format", "text", "`FORMAT` of the output: text or markdown")
	fs.StringVar(&f.out, "out", "", "`DIRECTORY` for the Markdown files")
	completeWords(cmd, "format", "text", "markdown")
	cmd.MarkFlagDirname("out")
	cmd.MarkFlagsMutuallyExclusive("search", "format")
	return cmd
}

// nextWords returns the words that may follow the words of a key.
func nextWords(keys, words []string) (next []string) {
	for _, key := range keys {
		parts := strings.Fields(key)
		n := len(words)
		if len(parts) > n && slices.Equal(parts[:n], words) && !slices.Contains(next, parts[n]) {
			next = append(next, parts[n])
		}
	}
	return next
}

func (f *docsFlags) run(cmd *cobra.Command, topic string) error {
	ref, out := reference.New(all.Set().Kinds()), cmd.OutOrStdout()
	switch {
	case f.format != "text" && f.format != "markdown":
		return misusef("--format must be text or markdown, and is %q", f.format)
	case (f.format == "markdown") != (f.out != ""):
		return misusef("--format markdown and --out require each other")
	case topic != "" && (f.out != "" || f.search != ""):
		return misusef("--search and --out cannot be used with a block or topic")
	case f.out != "":
		return writeMarkdown(ref, f.out)
	case f.search != "":
		found, err := ref.Search(out, f.search)
		if err == nil && !found {
			err = failf("nothing in the reference mentions %q", f.search)
		}
		return err
	case topic == "":
		return ref.WriteOverview(out)
	}
	if t := ref.Topic(topic); t != nil {
		return t.WriteText(out)
	}
	if blocks := ref.Find(topic); len(blocks) > 0 {
		return reference.WriteBlocks(out, blocks)
	}
	return unknownTopic(ref, topic)
}

// writeMarkdown replaces the Markdown files of a directory.
func writeMarkdown(ref *reference.Reference, dir string) error {
	err := os.MkdirAll(dir, 0o755)
	for name, text := range ref.Markdown() {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)
		}
	}
	if err != nil {
		return failf("%s cannot be written: %s", dir, reason(err))
	}
	return nil
}

// unknownTopic returns the error for a word that is no block, with the blocks that have an argument
// of that name.
func unknownTopic(ref *reference.Reference, topic string) error {
	if holders := ref.Holders(topic); len(holders) > 0 {
		return misusef("%s is not a block, but an argument of %s: see hatchel docs %s", topic,
			strings.Join(holders, ", "), holders[0])
	}
	if near := spelling.Nearest(topic, ref.Keys()); near != "" {
		return misusef("there is no block or topic %q. Did you mean %q?", topic, near)
	}
	return misusef("there is no block or topic %q. hatchel docs lists all", topic)
}
