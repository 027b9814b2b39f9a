package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"hatchel/adapters/all"
	"hatchel/cmd/hatchel/tester"
	"hatchel/hcl"
	"hatchel/runtime/source"
)

// testFlags are the flags of test.
type testFlags struct {
	tester.Options
	run, tool     string
	format, junit string
	seed          string
	update, cover bool
	list          bool
	minCover      float64
	draft         string
}

func testCommand() *cobra.Command {
	f := new(testFlags)
	cmd := folderArg(&cobra.Command{
		Use:   "test [DIR]",
		Short: "Run the tests of a configuration directory",
		Long: `Run the test blocks of a configuration directory. Each test calls a tool, gets a
prompt or reads a resource. Its mocks answer in place of services, databases and
programs; everything else is real: templates, checks, policies, approvals, retries and
transactions. Nothing is sent. A request that no mock answers fails the test, which
prints the mock to write.

Tests run in parallel and in random order. The environment is not read: variables have
the values of the test or their defaults, and the value of a secret is "test-" and its
name.

With --cover the branches that no test takes are listed: conditions of steps, checks,
expectations and rules, and %{if} in templates.

With --draft a test of a tool is printed, with generated arguments and the mocks that
the call asks for.

The command exits with 1 if a test fails, and with 2 if the tests cannot be run.`,
		Example: `  hatchel test
  hatchel test ./tools --run 'order' --cover
  hatchel test ./tools --format github --junit report.xml
  hatchel test ./tools --draft list_orders`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.execute(cmd, folderOf(cmd, args)) },
	})
	fs := cmd.Flags()
	fs.StringVar(&f.run, "run", "", "run the tests whose names match a `REGEX`")
	fs.StringVar(&f.tool, "tool", "", "run the tests of one `TOOL`, prompt or resource")
	fs.StringVar(&f.format, "format", "text", "`FORMAT` of the output: "+strings.Join(tester.Formats, ", "))
	fs.StringVar(&f.junit, "junit", "", "also write the report as JUnit XML to a `FILE`")
	fs.IntVar(&f.Parallel, "parallel", goruntime.GOMAXPROCS(0), "run `N` tests at once")
	fs.StringVar(&f.seed, "seed", "", "`SEED` of the order; random by default, and printed")
	fs.IntVar(&f.Repeat, "repeat", 1, "run each test `N` times, to find one that is not deterministic")
	fs.BoolVar(&f.FailFast, "fail-fast", false, "begin no test after one has failed")
	fs.BoolVar(&f.update, "update", false, "write the goldens that differ")
	fs.BoolVar(&f.cover, "cover", false, "list the branches that no test takes")
	fs.Float64Var(&f.minCover, "min-cover", 0, "fail if less than `PERCENT` of the branches are taken")
	fs.BoolVar(&f.list, "list", false, "list the tests, and run none")
	fs.StringVar(&f.draft, "draft", "", "print a test of a `TOOL`")
	completeWords(cmd, "format", tester.Formats...)
	for _, name := range []string{"update", "list", "draft"} {
		cmd.MarkFlagsMutuallyExclusive("min-cover", name)
	}
	cmd.MarkFlagsMutuallyExclusive("update", "list", "draft")
	return cmd
}

// check refuses values of flags.
func (f *testFlags) check() (run *regexp.Regexp, err error) {
	if f.Seed = rand.Uint64N(1 << 32); f.seed != "" {
		if f.Seed, err = strconv.ParseUint(f.seed, 10, 64); err != nil {
			return nil, misusef("--seed is a number from 0, and is %q", f.seed)
		}
	}
	if f.run != "" {
		if run, err = regexp.Compile(f.run); err != nil {
			return nil, misusef("--run is not a regular expression: %s", err)
		}
	}
	ci, _ := strconv.ParseBool(os.Getenv("CI"))
	switch {
	case !slices.Contains(tester.Formats, f.format):
		return nil, misusef("--format must be one of %s, and is %q", strings.Join(tester.Formats, ", "), f.format)
	case f.Parallel < 1 || f.Repeat < 1:
		return nil, misusef("--parallel and --repeat must be at least 1")
	case f.minCover < 0 || f.minCover > 100:
		return nil, misusef("--min-cover is a number from 0 to 100")
	case f.update && ci:
		return nil, misusef("--update writes goldens, which CI must not: the environment has CI=%s", os.Getenv("CI"))
	}
	return run, nil
}

func (f *testFlags) execute(cmd *cobra.Command, dir string) error {
	run, err := f.check()
	if err != nil {
		return err
	}
	suite, printer, err := readSuite(cmd, dir)
	if err != nil {
		return err
	}
	if f.draft != "" {
		return f.printDraft(cmd, suite)
	}
	if len(suite.Diagnostics) > 0 {
		printer.PrintDiagnostics(cmd.ErrOrStderr(), suite.Diagnostics)
	}
	if suite.Diagnostics.HasErrors() {
		return misusef("%s has %s", folderName(dir), countDiagnostics(suite.Diagnostics))
	}
	total := len(suite.Cases)
	suite.Select(run, f.tool)
	switch {
	case total == 0:
		return misusef("%s has no tests. hatchel test --draft TOOL prints one", folderName(dir))
	case len(suite.Cases) == 0:
		return misusef("none of %s is selected", plural(total, "test"))
	case f.list:
		return printer.PrintCases(suite)
	}
	report, err := suite.Run(cmd.Context(), f.Options)
	if err != nil {
		return failf("the tests were interrupted")
	}
	return f.finish(cmd, suite, printer, report)
}

func (f *testFlags) printDraft(cmd *cobra.Command, suite *tester.Suite) error {
	text, err := suite.Draft(cmd.Context(), f.draft)
	if err != nil {
		return misusef("%s", err)
	}
	_, err = fmt.Fprint(cmd.OutOrStdout(), text)
	return err
}

// readSuite loads a directory and its tests.
func readSuite(cmd *cobra.Command, dir string) (*tester.Suite, *tester.Printer, error) {
	folder, err := source.NewFolder(dir)
	if err != nil {
		return nil, nil, misusef("%s cannot be found: %s", dir, reason(err))
	}
	files, err := folder.Snapshot()
	if err != nil {
		return nil, nil, misusef("%s cannot be read: %s", dir, reason(err))
	}
	suite := &tester.Suite{
		Dir: folder.Dir(), FS: files, Set: all.Set(), Version: release(), Load: hcl.Options{Parallel: runParallel},
	}
	suite.ReadCases()
	printer := &tester.Printer{Out: cmd.OutOrStdout(), Prefix: filepath.ToSlash(dir), Sources: suite.Sources}
	return suite, printer, nil
}

// finish prints the report, writes what was asked for, and says whether all is well.
func (f *testFlags) finish(cmd *cobra.Command, s *tester.Suite, p *tester.Printer, r *tester.Report) error {
	if f.update {
		written, err := s.WriteGoldens(r)
		if err != nil {
			return failf("the goldens cannot be written: %s", reason(err))
		}
		for _, name := range written {
			fmt.Fprintf(cmd.OutOrStdout(), "written: %s\n", name)
		}
		r.AcceptGoldens()
	}
	if err := p.Print(f.format, r); err != nil {
		return failf("the report cannot be written: %s", reason(err))
	}
	if f.junit != "" {
		if err := writeJUnit(p, r, f.junit); err != nil {
			return misusef("%s cannot be written: %s", f.junit, reason(err))
		}
	}
	failed := r.Count(tester.Failed) > 0
	if f.cover || f.minCover > 0 {
		coverage := s.Cover(r)
		out := cmd.OutOrStdout()
		if f.format != "text" {
			out = cmd.ErrOrStderr()
		}
		if f.cover {
			p.PrintCoverage(out, coverage)
		}
		if percent := coverage.Percent(); percent < f.minCover {
			fmt.Fprintf(cmd.ErrOrStderr(), "coverage is %.1f %%, and --min-cover is %g %%\n", percent, f.minCover)
			failed = true
		}
	}
	if failed {
		return &exitError{code: exitFailed}
	}
	return nil
}

func writeJUnit(p *tester.Printer, r *tester.Report, name string) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(p.PrintJUnit(file, r), file.Close())
}
