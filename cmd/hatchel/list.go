package main

import (
	"fmt"
	goruntime "runtime"

	"github.com/spf13/cobra"

	"hatchel/cmd/hatchel/console"
	"hatchel/cmd/hatchel/test"
	"hatchel/internal/printable"
	"hatchel/runtime/edge/mcp"
)

// listFlags are the flags of list.
type listFlags struct {
	loadFlags
	callerFlags
	serverFlag
	kind   string
	asJSON bool
	tokens bool
	tests  bool
}

// listKinds are the values of --kind.
var listKinds = map[string]mcp.Listing{
	"tools": mcp.Tools, "prompts": mcp.Prompts, "resources": mcp.Resources, "templates": mcp.Templates,
	"skills": mcp.Skills,
}

func listCommand() *cobra.Command {
	f := &listFlags{loadFlags: loadFlags{inspect: true}}
	cmd := folderArg(&cobra.Command{
		Use:   "list [DIR]",
		Short: "List the tools, prompts, resources, skills and toolsets of a configuration",
		Long: `List the tools, prompts, resources, skills and toolsets of a configuration directory:
all of them, or only those that a caller sees. --subject, --group, --scope, --claim and
--header describe the caller.

With --json the output is the result of tools/list, exactly as a client of protocol
revision 2026-07-28 receives it, all pages in one. With --kind it is the result of
prompts/list, resources/list, resources/templates/list or skills/list.

With --tokens the output is an estimate of the tokens that each tool takes in the
context of an agent. --tests also runs the tests of the directory, which send nothing,
and adds the median and the maximum of the tokens of each tool's answers.` + serverHelp,
		Example: `  hatchel list ./tools
  hatchel list ./tools --subject ann --group billing
  hatchel list ./tools --json --kind prompts
  hatchel list ./tools --tokens --tests
  hatchel list --server http://127.0.0.1:8080`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.server != "" && len(args) > 0 {
				return misusef("give a directory or --server, not both")
			}
			return f.run(cmd, folderOf(cmd, args))
		},
	})
	f.loadFlags.register(cmd)
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print the result of tools/list")
	cmd.Flags().StringVar(&f.kind, "kind", "tools",
		"with --json, the `KIND` to list: tools, prompts, resources, templates or skills")
	cmd.Flags().BoolVar(&f.tokens, "tokens", false, "print how many tokens each tool and each toolset takes")
	cmd.Flags().BoolVar(&f.tests, "tests", false, "with --tokens, run the tests and print the tokens of answers")
	cmd.MarkFlagsMutuallyExclusive("json", "tokens")
	f.registerServer(cmd)
	f.callerFlags.register(cmd)
	completeWords(cmd, "kind", "tools", "prompts", "resources", "templates", "skills")
	return cmd
}

func (f *listFlags) run(cmd *cobra.Command, dir string) error {
	kind, err := f.listing(cmd)
	if err != nil {
		return err
	}
	if f.server != "" {
		return f.listServer(cmd)
	}
	caller, err := f.Caller()
	if err != nil {
		return err
	}
	g, err := f.mustCompile(cmd.Context(), dir, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer g.Close()
	stop := console.ShowSpinner(cmd.ErrOrStderr(), "checking connections")
	g.Learn(cmd.Context()) // the lists contain schemas that databases report
	stop()
	list := g.List
	if f.IsSet() {
		list = func(kind mcp.Listing) *mcp.List { return g.ListFor(cmd.Context(), caller, kind) }
	}
	if f.asJSON {
		listed := printable.EscapeJSON(g.Info().AppendList(nil, list(kind), mcp.Revision20260728))
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n", listed)
		return err
	}
	if f.tokens {
		var answers []test.AnswerTokens
		if f.tests {
			if answers, err = testAnswers(cmd, dir); err != nil {
				return err
			}
		}
		return writeError(printTokens(console.Shown(cmd.OutOrStdout()), g, list(mcp.Tools), answers))
	}
	return writeError(printCapabilities(console.Shown(cmd.OutOrStdout()), g,
		func(kind mcp.Listing) []string { return list(kind).Names() }))
}

// testAnswers runs the tests of a directory, and returns the tokens of the answers of its tools, not nil.
func testAnswers(cmd *cobra.Command, dir string) ([]test.AnswerTokens, error) {
	suite, printer, err := readSuite(cmd, dir, nil)
	if err != nil {
		return nil, err
	}
	if suite.Diagnostics.HasErrors() {
		printer.PrintDiagnostics(cmd.ErrOrStderr(), suite.Diagnostics)
		return nil, misusef("the tests cannot be run")
	}
	report, err := suite.Run(cmd.Context(), test.Options{Parallel: goruntime.GOMAXPROCS(0), Repeat: 1})
	if err != nil {
		return nil, failf("the tests were interrupted")
	}
	if n := report.Count(test.Failed); n > 0 {
		const text = "%s failed, so answers of these tests are not counted\n"
		fmt.Fprintf(cmd.ErrOrStderr(), text, console.Plural(n, "test"))
	}
	return report.Tokens(), nil
}

// listing returns the list that --kind names.
func (f *listFlags) listing(cmd *cobra.Command) (mcp.Listing, error) {
	switch {
	case f.tests && !f.tokens:
		return 0, misusef("--tests requires --tokens")
	case f.tests && f.server != "":
		return 0, misusef("--tests runs tests of a directory, so it excludes --server")
	case cmd.Flags().Changed("kind") && !f.asJSON:
		return 0, misusef("--kind requires --json")
	}
	kind, ok := listKinds[f.kind]
	if !ok {
		return 0, misusef("--kind must be tools, prompts, resources, templates or skills, and is %q", f.kind)
	}
	return kind, nil
}
