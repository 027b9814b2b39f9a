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
	"runtime"
	"slices"
	"strings"
	"syscall"

	"hatchel/cmd/hatchel-bench/process"
)

func main() {
	args := os.Args[1:]
	if len(args) > 0 && children[args[0]] != nil {
		if err := runChild(args[0], args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	run := runTable
	if len(args) > 0 && modes[args[0]] != nil {
		run, args = modes[args[0]], args[1:]
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
	targetList := flags.String("targets", strings.Join(targetNames, ","), "the servers to measure, separated by commas")
	flags.StringVar(&b.hatchel, "hatchel", "", "a hatchel binary to measure instead of one built from this module")
	flags.BoolVar(&b.quick, "quick", false, "few short rounds, and only the connections that are judged")
	flags.Parse(args)
	rows, err := splitList("row", *rowList, rowNames)
	if err != nil {
		return err
	}
	if b.targets, err = splitList("target", *targetList, targetNames); err != nil {
		return err
	}
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.folder, err = os.MkdirTemp("", "hatchel-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.folder)
	if b.hatchel == "" && slices.Contains(b.targets, "hatchel") {
		if b.hatchel, err = process.Build(ctx, b.folder, false); err != nil {
			return err
		}
	}
	r, err := b.measure(ctx, rows)
	if err != nil {
		return err
	}
	r.write(os.Stdout)
	return reportFailures(b.failures)
}

// splitList splits a comma-separated list, in which only known names may occur.
func splitList(kind, list string, known []string) ([]string, error) {
	names := strings.Split(list, ",")
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("there is no %s %q; the %ss are %s", kind, name, kind, strings.Join(known, ", "))
		}
	}
	return names, nil
}

func (b *bench) measure(ctx context.Context, rows []string) (*results, error) {
	r := &results{machine: fmt.Sprintf("%s, %s/%s, %d cores", runtime.Version(), runtime.GOOS, runtime.GOARCH,
		runtime.NumCPU())}
	for _, row := range callRows {
		if !slices.Contains(rows, row.name) {
			continue
		}
		cells, err := b.measureRow(ctx, row)
		if err != nil {
			return nil, fmt.Errorf("row %s: %w", row.name, err)
		}
		r.cells = append(r.cells, cells...)
	}
	var err error
	if slices.Contains(rows, "load") && slices.Contains(b.targets, "hatchel") {
		if r.load, err = b.measureLoad(ctx); err != nil {
			b.fail("row load: %v", err)
		}
	}
	if slices.Contains(rows, "start") {
		if r.start, err = b.measureStart(ctx); err != nil {
			b.fail("row start: %v", err)
		}
	}
	return r, ctx.Err()
}

func reportFailures(failures []string) error {
	if len(failures) > 0 {
		return fmt.Errorf("%d failures", len(failures))
	}
	return nil
}
