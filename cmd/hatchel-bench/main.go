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

	"hatchel/cmd/hatchel-bench/process"
)

// commands are the servers and tests that this binary also is: `hatchel-bench load`.
var commands = map[string]func(context.Context, []string) error{
	"floor":    serveFloor,
	"sdk":      serveSDK,
	"upstream": serveUpstream,
	"load":     runLoad,
	"soak":     runSoak,
}

func main() {
	run, args := runTable, os.Args[1:]
	if len(args) > 0 && commands[args[0]] != nil {
		run, args = commands[args[0]], args[1:]
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, args)
	cancel()
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
	rowNames := []string{"load", "start"}
	for _, row := range callRows {
		rowNames = append(rowNames, row.name)
	}
	b := &bench{}
	flags := flag.NewFlagSet("hatchel-bench", flag.ExitOnError)
	rowList := flags.String("rows", strings.Join(rowNames, ","), "the rows to measure, separated by commas")
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
		if b.startMS, err = b.measureStart(ctx); err != nil {
			b.fail("row start: %v", err)
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
