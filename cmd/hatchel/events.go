package main

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"hatchel/internal/backoff"
	"hatchel/runtime/edge/server"
)

// eventsFlags are the flags of events.
type eventsFlags struct {
	signInFlags
	server, types, tool, caller, outcome, since string
	follow, asJSON, own                         bool
}

func eventsCommand() *cobra.Command {
	f := new(eventsFlags)
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Print the events of a server: calls, approvals, reloads, refusals",
		Long: `Print the events of a server whose configuration has an events block: by default
the latest 100 that the server has kept. With --follow, events are printed as they
happen. When the connection is lost, the command connects again and continues after
the last event. hatchel docs event-types lists the events.

The events block of the server says who may see which events. Every caller may see the
events of their own calls, with --own.

` + keyHelp,
		Example: `  hatchel events --follow --outcome failed,refused
  hatchel events --server https://tools.example.com --since 5m --tool 'invoice_*' --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.server, "server", "http://127.0.0.1:8080", "`URL` of the server")
	f.register(cmd)
	fs.BoolVar(&f.follow, "follow", false, "print events as they happen, until interrupted")
	fs.BoolVar(&f.asJSON, "json", false, "print JSON, one event a line")
	fs.StringVar(&f.types, "types", "", "only events of these `TYPES`, separated by commas")
	fs.StringVar(&f.tool, "tool", "", "only events about tools of this `NAME`; * matches any characters")
	fs.StringVar(&f.caller, "caller", "", "only events about calls of this `SUBJECT`")
	fs.StringVar(&f.outcome, "outcome", "", "only events with these `OUTCOMES`, separated by commas")
	fs.StringVar(&f.since, "since", "", "start at a `TIME`, an event id, or a duration before now, such as 5m")
	fs.BoolVar(&f.own, "own", false, "only events about your own calls")
	return cmd
}

// noEvents is printed in place of events.
const noEvents = "hatchel: the server has kept no such events. It keeps events while somebody listens, and for " +
	"5 minutes after that: --follow listens"

// reconnectBackoff is how often a lost connection is made again.
var reconnectBackoff = backoff.Policy{First: time.Second}

func (f *eventsFlags) run(cmd *cobra.Command) error {
	client, err := f.newClient(cmd, f.server)
	if err != nil {
		return err
	}
	defer client.Close()
	query, out, printed := f.query(), cmd.OutOrStdout(), false
	each := func(line []byte) error {
		id, err := eventID(line)
		if err != nil {
			return err
		}
		printed = true
		query.Set("since", id)
		query.Del("replay")
		if f.asJSON {
			_, err = out.Write(append(line, '\n'))
			return err
		}
		return printEvent(out, line)
	}
	for attempt := range reconnectBackoff.Attempts(cmd.Context()) {
		err := client.Events(cmd.Context(), query, each)
		switch {
		case err == nil && !printed && !f.follow:
			_, err = fmt.Fprintln(cmd.ErrOrStderr(), noEvents)
			return err
		case err == nil || f.follow && cmd.Context().Err() != nil:
			return nil
		case !f.follow || !errors.Is(err, server.ErrStreamEnded) || err != server.ErrStreamEnded && attempt == 1:
			return failf("%s", err)
		}
	}
	return nil
}

// query returns the parameters of GET /events.
func (f *eventsFlags) query() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{
		"types": f.types, "tool": f.tool, "caller": f.caller, "outcome": f.outcome, "since": f.since,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.own {
		q.Set("own", "true")
	}
	if !f.follow {
		q.Set("follow", "false")
		if f.since == "" {
			q.Set("replay", "100")
		}
	}
	return q
}
