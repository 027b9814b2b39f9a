package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"hatchel/cmd/hatchel-bench/soak"
)

// modes are the subcommands: `hatchel-bench load`.
var modes = map[string]func(context.Context, []string) error{
	"load": runLoad,
	"soak": runSoak,
}

// runLoad prints how a server behaves under many listeners and steady calls. It fails when anything
// went wrong.
func runLoad(ctx context.Context, args []string) error {
	o := soak.LoadOptions{Logf: progress}
	flags := flag.NewFlagSet("load", flag.ExitOnError)
	flags.IntVar(&o.Listeners, "listeners", 2000, "number of subscribed clients")
	flags.IntVar(&o.Rate, "rate", 500, "calls per second")
	flags.DurationVar(&o.Duration, "for", time.Minute, "duration of calls and changes")
	flags.StringVar(&o.Binary, "hatchel", "", "hatchel binary to use instead of one built from ./cmd/hatchel")
	flags.Parse(args)
	remove, err := prepareFolder(ctx, "load", &o.Folder, &o.Binary, false)
	if err != nil {
		return err
	}
	defer remove()
	r, err := soak.Load(ctx, o)
	if err != nil {
		return err
	}
	r.Write(os.Stdout)
	return failed(r.Failures)
}

// runSoak lets all clients and authors act at once for a while. It fails when anything went wrong.
func runSoak(ctx context.Context, args []string) error {
	o := soak.Options{Logf: progress}
	flags := flag.NewFlagSet("soak", flag.ExitOnError)
	flags.DurationVar(&o.Duration, "for", 5*time.Minute, "duration")
	flags.StringVar(&o.Served, "serve", "examples/conformance", "`folder` whose tools, prompts and resources are used")
	flags.StringVar(&o.Binary, "hatchel", "", "hatchel binary to use instead of one built from ./cmd/hatchel")
	flags.BoolVar(&o.Race, "race", true, "build with the race detector; memory is judged only without it")
	keep := flags.Bool("keep", false, "keep the folder with the log of the server")
	flags.Parse(args)
	remove, err := prepareFolder(ctx, "soak", &o.Folder, &o.Binary, o.Race)
	if err != nil {
		return err
	}
	if *keep {
		progress("the log is in %s", o.Folder)
	} else {
		defer remove()
	}
	r, err := soak.Soak(ctx, o)
	if err != nil {
		return err
	}
	r.Write(os.Stdout)
	return failed(r.Failures)
}

// prepareFolder makes a temporary folder, and builds hatchel in it unless a binary is given.
func prepareFolder(ctx context.Context, mode string, folder, binary *string, race bool) (remove func(), err error) {
	if *folder, err = os.MkdirTemp("", "hatchel-"+mode+"-"); err != nil {
		return nil, err
	}
	remove = func() { os.RemoveAll(*folder) }
	if *binary == "" {
		if *binary, err = soak.Build(ctx, *folder, race); err != nil {
			remove()
		}
	}
	return remove, err
}

func failed(failures []string) error {
	if len(failures) > 0 {
		return fmt.Errorf("%d failures", len(failures))
	}
	return nil
}
