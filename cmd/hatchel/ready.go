package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hatchel/cmd/hatchel/console"
	"hatchel/runtime/edge/server"
)

// readyTimeout is how long a server has to answer. It asks its connections for a second.
const readyTimeout = 5 * time.Second

func readyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "ready [URL]",
		Short: "Ask a server whether it is ready",
		Long: `Ask the server at URL, by default http://127.0.0.1:8080, whether it is ready. A
server is ready when it serves a configuration and can record calls. The exit code is
0 if the server is ready, and 1 if not, or if it does not answer within 5 seconds. Use
the command as the health check of a container, or in a script that waits for a server.

The command also prints what is served, if the server is on this machine and has no
auth block, or if the environment variable HATCHEL_KEY holds the API key or token of a
caller who may see it.`,
		Example: `  hatchel ready
  hatchel ready https://tools.example.com`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			address := "http://127.0.0.1:8080"
			if len(args) > 0 {
				address = args[0]
			}
			client, err := newClient("ready", address)
			if err != nil {
				return err
			}
			defer client.Close()
			ctx, cancel := context.WithTimeout(cmd.Context(), readyTimeout)
			defer cancel()
			r, err := client.Readiness(ctx)
			if err != nil {
				return failf("%s", err)
			}
			if !r.Ready {
				return failf("%s is not ready: %s", address, whyNotReady(r))
			}
			fmt.Fprintln(cmd.OutOrStdout(), describeReady(r))
			return nil
		},
	}
}

// describeReady returns what a server that is ready serves, as far as it is known.
func describeReady(r server.Readiness) string {
	if r.Revision == "" {
		return "ready"
	}
	line := console.ServedLine(r.Tools, r.Prompts, r.Resources, r.Skills, r.Revision, r.Stale)
	return "ready: " + strings.TrimPrefix(line, "nothing, ") // the callers of the health block see no counts
}

func whyNotReady(r server.Readiness) string {
	switch {
	case r.Stopping:
		return "it was told to stop"
	case r.Audit == nil || r.Audit.OK:
		return "it was told to stop, has not loaded a configuration, or cannot write its audit log"
	}
	return "its audit log cannot be written: " + r.Audit.Error
}
