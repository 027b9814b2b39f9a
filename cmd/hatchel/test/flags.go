package test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hatchel/cmd/hatchel/console"
	"hatchel/cmd/hatchel/exit"
)

// Flags are what the command line says of a run. The errors of their methods are those of package exit.
type Flags struct {
	Options
	Run, Tool     string
	Format, JUnit string
	SeedText      string
	Update, Cover bool
	List          bool
	Live          bool
	Record        bool
	AllowWrites   bool
	MinCover      float64
	Draft         string
	Tokens        bool
}

// Check refuses values of flags, and sets the seed. It returns what the names of the tests must match; nil for all.
func (f *Flags) Check() (run *regexp.Regexp, err error) {
	if f.Seed = rand.Uint64N(1 << 32); f.SeedText != "" {
		if f.Seed, err = strconv.ParseUint(f.SeedText, 10, 64); err != nil {
			return nil, exit.Misusef("--seed is a number from 0, and is %q", f.SeedText)
		}
	}
	if f.Run != "" {
		if run, err = regexp.Compile(f.Run); err != nil {
			return nil, exit.Misusef("--run is not a regular expression: %s", err)
		}
	}
	ci, _ := strconv.ParseBool(os.Getenv("CI"))
	switch {
	case !slices.Contains(Formats, f.Format):
		return nil, exit.Misusef("--format must be one of %s, and is %q", strings.Join(Formats, ", "), f.Format)
	case f.Parallel < 1 || f.Repeat < 1:
		return nil, exit.Misusef("--parallel and --repeat must be at least 1")
	case f.MaxAnswerTokens < 0:
		return nil, exit.Misusef("--max-answer-tokens must be at least 0, and is %d", f.MaxAnswerTokens)
	case f.MinCover < 0 || f.MinCover > 100:
		return nil, exit.Misusef("--min-cover is a number from 0 to 100")
	case f.MinRecall < 0 || f.MinRecall > 1:
		return nil, exit.Misusef("--min-recall is a number from 0 to 1, such as 0.85")
	case f.Update && ci:
		const text = "--update writes goldens, which CI must not: the environment has CI=%s"
		return nil, exit.Misusef(text, os.Getenv("CI"))
	case f.Record && ci:
		const text = "--record writes tapes, which CI must not: the environment has CI=%s"
		return nil, exit.Misusef(text, os.Getenv("CI"))
	case (f.Record || f.AllowWrites) && !f.Live:
		return nil, exit.Misusef("--record and --allow-writes need --live, because services and databases are asked " +
			"for real")
	case f.Record && f.Repeat > 1:
		return nil, exit.Misusef("--record records one run, so it excludes --repeat")
	}
	return run, nil
}

// Backends returns the use of real backends; nil for none.
func (f *Flags) Backends() *Live {
	if !f.Live {
		return nil
	}
	return &Live{Writes: f.AllowWrites, Record: f.Record}
}

// Execute does what the flags say with a suite that was read: it prints a draft or the list of the tests, or runs those
// whose names match, nil for all. It fails if a test fails.
func (f *Flags) Execute(ctx context.Context, s *Suite, p *Printer, run *regexp.Regexp, stderr io.Writer) error {
	diags, name := s.Diagnostics, console.FolderName(p.Prefix)
	if f.Draft != "" {
		diags = s.DraftDiagnostics()
	}
	if diags.HasErrors() {
		p.PrintDiagnostics(stderr, diags)
		return exit.Misusef("%s has %s", name, console.CountDiagnostics(diags.Counts()))
	}
	if f.Draft != "" {
		text, err := s.Draft(ctx, f.Draft)
		if err != nil {
			return exit.Misusef("%s", err)
		}
		_, err = fmt.Fprint(p.Out, text)
		return err
	}
	total := len(s.Cases)
	s.Select(run, f.Tool)
	switch {
	case total == 0:
		return exit.Misusef("%s has no tests. hatchel test --draft TOOL prints one", name)
	case len(s.Cases) == 0:
		return exit.Misusef("none of %s is selected", console.Plural(total, "test"))
	case f.List:
		return p.PrintCases(s)
	}
	if f.Live {
		s.PrintLive(stderr)
	}
	report, err := s.Run(ctx, f.Options)
	if err != nil {
		return exit.Failf("the tests were interrupted")
	}
	return f.finish(s, p, report, stderr)
}

// finish prints the report and writes the files that the flags name. It fails if a test failed.
func (f *Flags) finish(s *Suite, p *Printer, r *Report, stderr io.Writer) error {
	out := p.Out // for what people read
	if f.Format != "text" {
		out = stderr
	}
	if f.Update {
		if err := s.WriteGoldens(out, r); err != nil {
			return exit.Failf("the goldens cannot be written: %s", exit.Reason(err))
		}
		r.AcceptGoldens()
	}
	p.Tokens = f.Tokens
	if err := p.Print(f.Format, r); err != nil {
		return exit.Failf("the report cannot be written: %s", exit.Reason(err))
	}
	if f.JUnit != "" {
		if err := writeJUnit(p, r, f.JUnit); err != nil {
			return exit.Misusef("%s cannot be written: %s", f.JUnit, exit.Reason(err))
		}
	}
	failed := r.Count(Failed) > 0
	if f.Record {
		complete, err := s.WriteTapes(stderr, r)
		if err != nil {
			return exit.Failf("the tapes cannot be written: %s", exit.Reason(err))
		}
		failed = failed || !complete
	}
	if f.MinRecall > 0 {
		switch recall, tests := r.Recall(); {
		case tests == 0:
			fmt.Fprintln(stderr, "no search_test block was run, and --min-recall needs one")
			failed = true
		case recall < f.MinRecall:
			fmt.Fprintf(stderr, "recall is %.3f, and --min-recall is %g\n", recall, f.MinRecall)
			failed = true
		}
	}
	if f.Cover || f.MinCover > 0 {
		coverage := s.Cover(r)
		if f.Cover {
			p.PrintCoverage(out, coverage)
		}
		if percent := coverage.Percent(); percent < f.MinCover {
			fmt.Fprintf(stderr, "coverage is %.1f %%, and --min-cover is %g %%\n", percent, f.MinCover)
			failed = true
		}
	}
	if f.Tokens && f.Format != "json" {
		if err := PrintTokens(out, r.Tokens()); err != nil {
			return exit.Failf("the report cannot be written: %s", exit.Reason(err))
		}
	}
	if failed {
		return &exit.Error{Code: exit.Failed}
	}
	return nil
}

func writeJUnit(p *Printer, r *Report, name string) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(p.PrintJUnit(file, r), file.Close())
}
