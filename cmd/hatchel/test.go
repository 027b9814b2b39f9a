package main

import (
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"

	"github.com/spf13/cobra"

	"hatchel/adapters/all"
	"hatchel/cmd/hatchel/test"
	"hatchel/hcl"
	"hatchel/runtime/load/source"
)

func testCommand() *cobra.Command {
	f := new(test.Flags)
	cmd := folderArg(&cobra.Command{
		Use:   "test [DIR]",
		Short: "Run the tests of a configuration directory",
		Long: `Run the test blocks of a configuration directory. Each test calls a tool, gets a
prompt or reads a resource. Its mocks answer in place of services, databases and
programs; everything else is real: templates, checks, policies, approvals, retries and
transactions. Nothing is sent. A request that no mock answers fails the test, and the
failure shows the mock to write.

Tests run in parallel and in random order. The environment is not read: variables have
the values of the test or their defaults, and the value of a secret is "test-" and its
name.

With --live, requests that no mock answers go to the real services and databases, with
the variables and secrets that a server reads. Only requests that read are sent: GET,
HEAD and queries. --allow-writes also sends other requests, starts programs, and
executes statements in transactions that are rolled back. --record writes requests and
answers to the tapes that mocks name, without secrets.

--cover lists the branches that no test takes: conditions of steps, checks,
expectations and rules, and %{if} in templates.

--tokens prints, for each tool, the median and the maximum of the tokens that its answers
take, as they are sent and as JSON. An answer over max_tokens, or over 10,000 tokens
without it, is the warning answer-budget; --max-answer-tokens fails the test. Numbers of
tokens are estimates.

search_test blocks ask a question of the search of a toolset and name the tools that it
has to find. With --min-recall 0.85, a search that misses one does not fail by itself:
the command fails if less than 85 % of the tools are found.

--draft prints a test of a tool, with generated arguments and the mocks that the call
needs.

The command exits with 1 if a test fails, and with 2 if the tests cannot be run.`,
		Example: `  hatchel test
  hatchel test ./tools --run 'order' --cover
  hatchel test ./tools --format github --junit report.xml
  hatchel test ./tools --draft list_orders
  hatchel test ./tools --run 'a paid order' --live --record`,
		RunE: func(cmd *cobra.Command, args []string) error { return runTests(cmd, f, folderOf(cmd, args)) },
	})
	fs := cmd.Flags()
	fs.StringVar(&f.Run, "run", "", "run the tests whose names match a `REGEX`")
	fs.StringVar(&f.Tool, "tool", "", "run the tests of one `TOOL`, prompt or resource")
	fs.StringVar(&f.Format, "format", "text", "`FORMAT` of the output: "+strings.Join(test.Formats, ", "))
	fs.StringVar(&f.JUnit, "junit", "", "also write the report as JUnit XML to a `FILE`")
	fs.IntVar(&f.Parallel, "parallel", goruntime.GOMAXPROCS(0), "run `N` tests at once")
	fs.StringVar(&f.SeedText, "seed", "", "`SEED` of the order; random by default, and printed")
	fs.IntVar(&f.Repeat, "repeat", 1, "run each test `N` times, to find one that is not deterministic")
	fs.BoolVar(&f.FailFast, "fail-fast", false, "start no test after one has failed")
	fs.BoolVar(&f.Update, "update", false, "write the goldens that differ")
	fs.BoolVar(&f.Live, "live", false, "ask services and databases for real what no mock answers")
	fs.BoolVar(&f.Record, "record", false, "with --live, write requests and answers to tapes")
	fs.BoolVar(&f.AllowWrites, "allow-writes", false, "with --live, also ask for real what may change something")
	fs.BoolVar(&f.Cover, "cover", false, "list the branches that no test takes")
	fs.Float64Var(&f.MinCover, "min-cover", 0, "fail if less than `PERCENT` of the branches are taken")
	fs.BoolVar(&f.Tokens, "tokens", false, "print how many tokens the answers of each tool take")
	fs.IntVar(&f.MaxAnswerTokens, "max-answer-tokens", 0, "fail a test whose answer takes more than `N` tokens")
	fs.Float64Var(&f.MinRecall, "min-recall", 0,
		"fail if the searches find less than this `PART` of their tools, in place of each that misses one")
	fs.BoolVar(&f.List, "list", false, "list the tests, and run none")
	fs.StringVar(&f.Draft, "draft", "", "print a test of a `TOOL`")
	completeWords(cmd, "format", test.Formats...)
	for _, name := range []string{"update", "list", "draft"} {
		cmd.MarkFlagsMutuallyExclusive("min-cover", name)
		cmd.MarkFlagsMutuallyExclusive("min-recall", name)
	}
	cmd.MarkFlagsMutuallyExclusive("update", "list", "draft", "live")
	return cmd
}

func runTests(cmd *cobra.Command, f *test.Flags, dir string) error {
	run, err := f.Check()
	if err != nil {
		return err
	}
	suite, printer, err := readSuite(cmd, dir, f.Backends())
	if err != nil {
		return err
	}
	return f.Execute(cmd.Context(), suite, printer, run, cmd.ErrOrStderr())
}

// readSuite loads a directory and its tests.
func readSuite(cmd *cobra.Command, dir string, live *test.Live) (*test.Suite, *test.Printer, error) {
	folder, err := source.NewFolder(dir)
	if err != nil {
		return nil, nil, misusef("%s cannot be found: %s", dir, reason(err))
	}
	files, err := folder.Snapshot(cmd.Context())
	if err != nil {
		return nil, nil, misusef("%s cannot be read: %s", dir, reason(err))
	}
	suite := &test.Suite{
		Dir: folder.Dir(), FS: files, Set: all.Set(), Version: release(), Load: hcl.Options{Parallel: runParallel},
		Live: live,
	}
	if live != nil {
		suite.Load.Getenv, suite.Load.ReadSecret = os.LookupEnv, folder.ReadSecret
	}
	suite.ReadCases()
	printer := &test.Printer{Out: cmd.OutOrStdout(), Prefix: filepath.ToSlash(dir), Sources: suite.Sources}
	return suite, printer, nil
}
