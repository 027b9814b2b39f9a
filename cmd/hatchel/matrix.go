package main

import (
	"github.com/spf13/cobra"

	"hatchel/runtime/access"
)

// matrixFlags are the flags of policy matrix.
type matrixFlags struct {
	loadFlags
	callerFlags
	format string
}

func matrixCommand() *cobra.Command {
	f := &matrixFlags{loadFlags: loadFlags{inspect: true}}
	cmd := folderArg(&cobra.Command{
		Use:   "matrix [DIR]",
		Short: "Show which callers may call which tools",
		Long: `Show for every tool whether each caller may call it: yes, no, depends (on the input)
or approval (once the call is approved). No call is made.

The callers are one in no group, one for each group and subject that the rules and
keys name, and one for each API key. With --group they are one for each --group;
finance+board is a caller in both groups. A caller that is no key has all scopes,
unless --scope is given. The other flags say what else all callers have.`,
		Example: `  hatchel policy matrix ./tools
  hatchel policy matrix ./tools --group finance --group finance+board --format markdown`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, folderOf(cmd, args)) },
	})
	f.loadFlags.register(cmd)
	f.callerFlags.register(cmd)
	cmd.Flags().Lookup("group").Usage = "show only a caller in this `GROUP`, or in several joined with +; may be repeated"
	cmd.Flags().StringVar(&f.format, "format", "text", "`FORMAT` of the output: text, json or markdown")
	completeWords(cmd, "format", "text", "json", "markdown")
	return cmd
}

func (f *matrixFlags) run(cmd *cobra.Command, dir string) error {
	caller, err := f.caller()
	if err != nil {
		return err
	}
	g, err := f.mustCompile(cmd.Context(), dir, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer g.Close()
	callers := access.Callers(g.Config, caller.Identity)
	if len(f.groups) > 0 {
		callers = access.InGroups(g.Config, f.groups, caller.Identity)
	}
	m := access.New(cmd.Context(), g.Config, callers)
	switch f.format {
	case "text":
		return m.Text(cmd.OutOrStdout())
	case "json":
		return printJSON(cmd.OutOrStdout(), m)
	case "markdown":
		return m.Markdown(cmd.OutOrStdout())
	}
	return misusef("--format must be text, json or markdown, and is %q", f.format)
}
