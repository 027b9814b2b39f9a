package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hatchel/adapters/all"
	"hatchel/cmd/hatchel/reference"
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
or a topic: types, names, functions, limits, metrics. A block inside another one is
named by both: hatchel docs connection http auth.

With --search every block, argument and function that mentions a word is listed.
With --format markdown --out DIR the reference is written as Markdown files. With
--format llms --out DIR the files llms.txt and llms-full.txt are written beside the
documentation in DIR: what it has, and all of it.`,
		Example: `  hatchel docs
  hatchel docs http
  hatchel docs connection http auth
  hatchel docs --search timeout`,
		Args: cobra.MaximumNArgs(6), // the words of a key
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, strings.Join(args, " ")) },
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return reference.New(all.Set().Kinds()).NextWords(args), cobra.ShellCompDirectiveNoFileComp
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.search, "search", "", "list everything that mentions a `WORD`")
	fs.StringVar(&f.format, "format", "text", "`FORMAT` of the output: text, markdown or llms")
	fs.StringVar(&f.out, "out", "", "`DIRECTORY` for the files")
	completeWords(cmd, "format", "text", "markdown", "llms")
	cmd.MarkFlagDirname("out")
	cmd.MarkFlagsMutuallyExclusive("search", "format")
	return cmd
}

func (f *docsFlags) run(cmd *cobra.Command, topic string) error {
	ref, out := reference.New(all.Set().Kinds()), cmd.OutOrStdout()
	switch {
	case !slices.Contains([]string{"text", "markdown", "llms"}, f.format):
		return misusef("--format must be text, markdown or llms, and is %q", f.format)
	case (f.format != "text") != (f.out != ""):
		return misusef("--format markdown or llms and --out require each other")
	case topic != "" && (f.out != "" || f.search != ""):
		return misusef("--search and --out cannot be used with a block or topic")
	case f.format == "llms":
		return writeLLMs(f.out)
	case f.out != "":
		if err := ref.WriteMarkdown(f.out); err != nil {
			return failf("%s cannot be written: %s", f.out, reason(err))
		}
		return nil
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
	return misusef("%s", ref.ExplainUnknown(topic))
}

// writeLLMs writes llms.txt and llms-full.txt into a directory with the documentation.
func writeLLMs(dir string) error {
	index, full, err := reference.LLMs(os.DirFS(dir))
	if err != nil {
		return failf("%s has no documentation: %s", dir, reason(err))
	}
	for name, text := range map[string]string{"llms.txt": index, "llms-full.txt": full} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return failf("%s cannot be written: %s", name, reason(err))
		}
	}
	return nil
}
