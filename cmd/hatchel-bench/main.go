// Command hatchel-bench measures hatchel beside a bare program that does only the work (the floor)
// and a server written by hand with the official SDK, and prints a table of ratios. All of them do
// the same work in one run, in alternating rounds, and their replies are checked. The table compares
// the CPU time that the operating system accounts to the server process. A row that misses its bound
// is printed as missed; only a run that could not measure what was asked for ends with status 1.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"hatchel/cmd/hatchel-bench/process"
	"hatchel/cmd/hatchel-bench/soak"
)

// commands are the tests that this binary also is: `hatchel-bench load`.
var commands = map[string]func(context.Context, []string) error{
	"load": runLoad,
	"soak": runSoak,
}

// servers are the processes that a benchmark starts of this binary. They undo nothing, so that a signal ends them.
var servers = map[string]func([]string) error{
	"floor":    serveFloor,
	"sdk":      serveSDK,
	"upstream": serveUpstream,
	"parse":    parseFolder,
}

func main() {
	args := os.Args[1:]
	if len(args) > 0 && servers[args[0]] != nil {
		exit(servers[args[0]](args[1:]))
		return
	}
	run := runTable
	if len(args) > 0 && commands[args[0]] != nil {
		run, args = commands[args[0]], args[1:]
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, args)
	cancel()
	exit(err)
}

// exit ends the process with status 1 if there is an error.
func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// progress reports what was just measured; results go to stdout.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...)
}

func runTable(ctx context.Context, args []string) (err error) {
	rowNames := []string{"load", "start", "operation"}
	available := slices.Clone(rowNames)
	for _, row := range callRows {
		rowNames = append(rowNames, row.name)
		if row.available() {
			available = append(available, row.name)
		}
	}
	b := &bench{}
	flags := flag.NewFlagSet("hatchel-bench", flag.ExitOnError)
	rowList := flags.String("rows", strings.Join(available, ","), "the rows to measure, separated by commas")
	flags.StringVar(&b.hatchel, "hatchel", "", "a hatchel binary to measure instead of one built from this module")
	flags.BoolVar(&b.quick, "quick", false, "few short rounds, and only the connections that are judged")
	flags.Parse(args)
	rows := strings.Split(*rowList, ",")
	for _, name := range rows {
		if !slices.Contains(rowNames, name) {
			return fmt.Errorf("there is no row %q; the rows are %s", name, strings.Join(rowNames, ", "))
		}
	}
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.folder, err = os.MkdirTemp("", "hatchel-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.folder)
	if b.hatchel == "" {
		if b.hatchel, err = process.Build(ctx, b.folder, false); err != nil {
			return err
		}
	}
	if err := b.measure(ctx, rows); err != nil {
		return err
	}
	b.write(os.Stdout)
	return reportFailures(b.failures)
}

func (b *bench) measure(ctx context.Context, rows []string) (err error) {
	for _, row := range callRows {
		if !slices.Contains(rows, row.name) {
			continue
		}
		if err := b.measureRow(ctx, row); err != nil {
			return fmt.Errorf("row %s: %w", row.name, err)
		}
	}
	if slices.Contains(rows, "load") {
		if b.loading, err = b.measureLoad(ctx); err != nil {
			b.fail("row load: %v", err)
		}
	}
	if slices.Contains(rows, "start") {
		if b.startup, err = b.measureStart(ctx); err != nil {
			b.fail("row start: %v", err)
		}
	}
	if slices.Contains(rows, "operation") {
		if err := b.measureGo(ctx); err != nil {
			b.fail("row operation: %v", err)
		}
	}
	return ctx.Err()
}

func reportFailures(failures []string) error {
	if len(failures) > 0 {
		return fmt.Errorf("%d failures", len(failures))
	}
	return nil
}

// runLoad prints how a server behaves under many listeners and steady calls.
func runLoad(ctx context.Context, args []string) error {
	return runMode(ctx, args, soak.Load, soak.Options{Duration: time.Minute})
}

// runSoak lets all clients and authors act at once for a while.
func runSoak(ctx context.Context, args []string) error {
	return runMode(ctx, args, soak.Soak, soak.Options{Duration: 5 * time.Minute, Race: true})
}

// runMode runs one of the tests in a temporary folder, with the options as defaults of its flags, and
// prints its report. It returns an error if anything went wrong.
func runMode(ctx context.Context, args []string, test func(context.Context, soak.Options) (*soak.Report, error),
	o soak.Options) (err error) {
	flags := flag.NewFlagSet("hatchel-bench", flag.ExitOnError)
	flags.IntVar(&o.Listeners, "listeners", 2000, "number of subscribed clients; for load")
	flags.IntVar(&o.Rate, "rate", 500, "calls per second; for load")
	flags.DurationVar(&o.Duration, "for", o.Duration, "duration")
	flags.BoolVar(&o.Race, "race", o.Race, "build with the race detector; memory is judged only without it")
	flags.StringVar(&o.Binary, "hatchel", "", "hatchel binary to use instead of one built from this module")
	keep := flags.Bool("keep", false, "keep the folder with the log of the server")
	flags.Parse(args)
	o.Logf, o.Served = progress, "examples/conformance"
	if o.Program, err = os.Executable(); err != nil {
		return err
	}
	if o.Folder, err = os.MkdirTemp("", "hatchel-bench-"); err != nil {
		return err
	}
	if *keep {
		progress("the log is in %s", o.Folder)
	} else {
		defer os.RemoveAll(o.Folder)
	}
	if o.Binary == "" {
		if o.Binary, err = process.Build(ctx, o.Folder, o.Race); err != nil {
			return err
		}
	}
	report, err := test(ctx, o)
	if err != nil {
		return err
	}
	report.Write(os.Stdout)
	return reportFailures(report.Failures())
}
