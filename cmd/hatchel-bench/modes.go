package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"hatchel/cmd/hatchel-bench/crowd"
)

// modes are what this program does besides measuring rows: `hatchel-bench load`.
var modes = map[string]func(context.Context, []string) error{
	"load": runLoad,
	"soak": runSoak,
}

// runLoad prints what many listeners and steady calls do to a server. It fails when anything went wrong.
func runLoad(ctx context.Context, args []string) error {
	s := crowd.Strain{Say: progress}
	flags := flag.NewFlagSet("load", flag.ExitOnError)
	flags.IntVar(&s.Listeners, "listeners", 2000, "open event streams")
	flags.IntVar(&s.Rate, "rate", 500, "calls a second")
	flags.DurationVar(&s.For, "for", time.Minute, "how long calls and changes go on")
	flags.StringVar(&s.Binary, "hatchel", "", "a hatchel binary instead of one built from ./cmd/hatchel")
	flags.Parse(args)
	var err error
	if s.Folder, err = os.MkdirTemp("", "hatchel-load-"); err != nil {
		return err
	}
	defer os.RemoveAll(s.Folder)
	if s.Binary == "" {
		if s.Binary, err = crowd.Build(ctx, s.Folder, false); err != nil {
			return err
		}
	}
	r, err := crowd.Load(ctx, s)
	if err != nil {
		return err
	}
	r.Write(os.Stdout)
	return faulty(r.Faults)
}

// runSoak has everything happen at once for a while. It fails when anything went wrong.
func runSoak(ctx context.Context, args []string) error {
	s := crowd.Endurance{Say: progress}
	flags := flag.NewFlagSet("soak", flag.ExitOnError)
	flags.DurationVar(&s.For, "for", 5*time.Minute, "how long")
	flags.StringVar(&s.Served, "serve", "examples/conformance", "the `folder` whose tools, prompts and resources are used")
	flags.StringVar(&s.Binary, "hatchel", "", "a hatchel binary instead of one built from ./cmd/hatchel")
	flags.BoolVar(&s.Race, "race", true, "with the race detector; without it, memory is judged")
	keep := flags.Bool("keep", false, "keep the folder with the server's log")
	flags.Parse(args)
	var err error
	if s.Folder, err = os.MkdirTemp("", "hatchel-soak-"); err != nil {
		return err
	}
	if *keep {
		progress("the log is in %s", s.Folder)
	} else {
		defer os.RemoveAll(s.Folder)
	}
	if s.Binary == "" {
		if s.Binary, err = crowd.Build(ctx, s.Folder, s.Race); err != nil {
			return err
		}
	}
	r, err := crowd.Soak(ctx, s)
	if err != nil {
		return err
	}
	r.Write(os.Stdout)
	return faulty(r.Faults)
}

func faulty(faults []string) error {
	if len(faults) > 0 {
		return fmt.Errorf("%d things went wrong", len(faults))
	}
	return nil
}
