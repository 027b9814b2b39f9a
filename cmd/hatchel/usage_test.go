package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Every suggestion must name something that exists: a flag of some command, or a command.
func TestWhatIsSuggestedInPlaceOfOtherFlagsAndCommandsExists(t *testing.T) {
	root := rootCommand()
	flags := map[string]bool{}
	var collect func(cmd *cobra.Command)
	collect = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) { flags["--"+f.Name], flags["-"+f.Shorthand] = true, true })
		for _, c := range cmd.Commands() {
			collect(c)
		}
	}
	collect(root)
	for other, ours := range otherFlags {
		for _, text := range ours {
			if word, _, _ := strings.Cut(text, " "); !flags[strings.TrimRight(word, ",")] {
				t.Errorf("--%s suggests %s, which no command has", other, text)
			}
		}
	}
	for other, text := range otherCommands {
		words := strings.Fields(strings.NewReplacer(",", "", "--stdio", "").Replace(text))
		if found, _, err := root.Find(words[1:2]); err != nil || found == root {
			t.Errorf("%s suggests %s, which is no command", other, text)
		}
		if found, _, err := root.Find([]string{other}); err == nil && found != root {
			t.Errorf("%s is a command of ours", other)
		}
	}
}
