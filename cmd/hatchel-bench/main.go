// Command hatchel-bench measures hatchel beside a bare program that does only the work (the floor)
// and a server written by hand with the official SDK, and prints a table of ratios. All of them do
// the same work in one run, in alternating rounds, their replies are checked, and what is compared
// is the CPU time that the operating system accounts to the server process. A row that misses its
// bound is printed as missed; only a run that could not measure what was asked for ends with status
// 1.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

func main() {
	if len(os.Args) > 1 && children[os.Args[1]] != nil {
		if err := runChild(os.Args[1], os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := chosen(os.Args[1:])(ctx)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// chosen is what this program is to do.
func chosen(args []string) func(context.Context) error {
	if len(args) > 0 && modes[args[0]] != nil {
		return func(ctx context.Context) error { return modes[args[0]](ctx, args[1:]) }
	}
	return func(ctx context.Context) error { return run(ctx, args) }
}

func rowNames() []string {
	names := []string{"load", "start"}
	for _, row := range callRows {
		names = append(names, row.name)
	}
	return names
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("hatchel-bench", flag.ExitOnError)
	rows := flags.String("rows", strings.Join(rowNames(), ","), "the rows to measure, separated by commas")
	targets := flags.String("targets", strings.Join(targetNames, ","), "the servers to measure, separated by commas")
	binary := flags.String("hatchel", "", "a hatchel binary to measure instead of one built from ./cmd/hatchel")
	b := &bench{}
	flags.BoolVar(&b.quick, "quick", false, "few short rounds, and only the connections that are judged")
	flags.StringVar(&b.profile, "profile", "", "a `folder` for CPU profiles of hatchel, taken with perf")
	asJSON := flags.Bool("json", false, "print the figures as JSON")
	flags.Parse(args)

	chosen := strings.Split(*rows, ",")
	for _, name := range chosen {
		if !slices.Contains(rowNames(), name) {
			return fmt.Errorf("there is no row %q; the rows are %s", name, strings.Join(rowNames(), ", "))
		}
	}
	for _, name := range strings.Split(*targets, ",") {
		if !slices.Contains(targetNames, name) {
			return fmt.Errorf("there is no target %q; the targets are %s", name, strings.Join(targetNames, ", "))
		}
		b.targets = append(b.targets, name)
	}
	if err := b.prepare(ctx, *binary); err != nil {
		return err
	}
	defer os.RemoveAll(b.folder)
	r, err := b.measure(ctx, chosen)
	if err != nil {
		return err
	}
	if *asJSON {
		out := json.NewEncoder(os.Stdout)
		out.SetIndent("", "  ")
		if err := out.Encode(r); err != nil {
			return err
		}
	} else {
		r.write(os.Stdout)
	}
	return r.complete()
}

// prepare makes the temporary folder and builds hatchel.
func (b *bench) prepare(ctx context.Context, binary string) error {
	var err error
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.profile != "" {
		if err := os.MkdirAll(b.profile, 0o755); err != nil {
			return err
		}
	}
	if b.folder, err = os.MkdirTemp("", "hatchel-bench-"); err != nil {
		return err
	}
	switch {
	case !slices.Contains(b.targets, "hatchel"):
	case binary != "":
		b.hatchel = binary
	default:
		built := filepath.Join(b.folder, "hatchel")
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", built,
			"./cmd/hatchel").CombinedOutput(); err != nil {
			progress("building ./cmd/hatchel: %v: %s", err, out)
		} else {
			b.hatchel = built
		}
	}
	return nil
}

func (b *bench) measure(ctx context.Context, chosen []string) (*results, error) {
	r := &results{Machine: fmt.Sprintf("%s, %s/%s, %d cores", runtime.Version(), runtime.GOOS, runtime.GOARCH,
		runtime.NumCPU())}
	for _, row := range callRows {
		if !slices.Contains(chosen, row.name) {
			continue
		}
		cells, err := b.measureRow(ctx, row)
		if err != nil {
			return nil, fmt.Errorf("row %s: %w", row.name, err)
		}
		r.Cells = append(r.Cells, cells...)
	}
	if slices.Contains(chosen, "load") && slices.Contains(b.targets, "hatchel") {
		f := b.measureLoad(ctx)
		r.Load = &f
		progress("load: %+v", f)
	}
	if slices.Contains(chosen, "start") {
		f := b.measureStart(ctx)
		r.Start = &f
		progress("start: %+v", f)
	}
	return r, ctx.Err()
}

// complete tells whether every server could be measured.
func (r *results) complete() error {
	for _, c := range r.Cells {
		for name, f := range c.Targets {
			if f.Error != "" {
				return fmt.Errorf("row %s: %s: %s", c.Row, name, f.Error)
			}
		}
	}
	if r.Load != nil && r.Load.Error != "" {
		return fmt.Errorf("row load: %s", r.Load.Error)
	}
	if r.Start != nil && r.Start.Error != "" {
		return fmt.Errorf("row start: %s", r.Start.Error)
	}
	return nil
}
