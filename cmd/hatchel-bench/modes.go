package main

import (
	"context"
	"flag"
	"os"
	"time"

	"hatchel/cmd/hatchel-bench/process"
	"hatchel/cmd/hatchel-bench/soak"
)

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
