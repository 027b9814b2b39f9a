package main

import (
	"context"
	"flag"
	"os"
	"time"

	"hatchel/cmd/hatchel-bench/process"
	"hatchel/cmd/hatchel-bench/soak"
)

// modes are the subcommands: `hatchel-bench load`.
var modes = map[string]func(context.Context, []string) error{
	"load": runLoad,
	"soak": runSoak,
}

// runLoad prints how a server behaves under many listeners and steady calls.
func runLoad(ctx context.Context, args []string) error {
	o := &soak.Options{Logf: progress}
	flags := flag.NewFlagSet("load", flag.ExitOnError)
	flags.IntVar(&o.Listeners, "listeners", 2000, "number of subscribed clients")
	flags.IntVar(&o.Rate, "rate", 500, "calls per second")
	flags.DurationVar(&o.Duration, "for", time.Minute, "duration of calls and changes")
	return runMode(ctx, soak.Load, o, flags, args)
}

// runSoak lets all clients and authors act at once for a while.
func runSoak(ctx context.Context, args []string) error {
	o := &soak.Options{Logf: progress, Served: "examples/conformance"}
	flags := flag.NewFlagSet("soak", flag.ExitOnError)
	flags.DurationVar(&o.Duration, "for", 5*time.Minute, "duration")
	flags.BoolVar(&o.Race, "race", true, "build with the race detector; memory is judged only without it")
	return runMode(ctx, soak.Soak, o, flags, args)
}

// runMode parses the flags, runs one of the tests in a temporary folder, and prints its report. It
// returns an error if anything went wrong.
func runMode(ctx context.Context, test func(context.Context, soak.Options) (*soak.Report, error), o *soak.Options,
	flags *flag.FlagSet, args []string) (err error) {
	flags.StringVar(&o.Binary, "hatchel", "", "hatchel binary to use instead of one built from this module")
	keep := flags.Bool("keep", false, "keep the folder with the log of the server")
	flags.Parse(args)
	if o.Folder, err = os.MkdirTemp("", "hatchel-"+flags.Name()+"-"); err != nil {
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
	report, err := test(ctx, *o)
	if err != nil {
		return err
	}
	report.Write(os.Stdout)
	return reportFailures(report.Failures())
}
