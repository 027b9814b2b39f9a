package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"hatchel/cmd/hatchel/console"
	"hatchel/internal/printable"
	"hatchel/runtime"
	"hatchel/runtime/edge/mcp"
)

// readFlags are the flags of read.
type readFlags struct {
	requestFlags
	callerFlags
	serverFlag
}

func readCommand() *cobra.Command {
	f := new(readFlags)
	cmd := &cobra.Command{
		Use:   "read [DIR] URI",
		Short: "Read a resource",
		Long: `Read a resource of a configuration directory and print its contents: text as it is,
binary data as raw bytes. The URI is that of a resource or of a file of a skill,
or matches the template of a resource.

` + callerHelp + serverHelp,
		Args:              oneArg("read requires the URI of a resource"),
		RunE:              func(cmd *cobra.Command, args []string) error { return readResource(cmd, f, args[0]) },
		ValidArgsFunction: f.completions(&f.dir, resourceCompletions),
	}
	f.requestFlags.register(cmd, "resources/read")
	f.callerFlags.register(cmd)
	f.registerServer(cmd)
	return leadingDir(cmd, moreThan(1))
}

func resourceCompletions(g *runtime.Generation) (uris []string) {
	for _, r := range g.Config.Resources {
		if r.Template == nil {
			uris = append(uris, cobra.CompletionWithDesc(r.URI, console.FirstLine(r.Description)))
		}
	}
	for _, s := range g.Config.Skills {
		uris = append(uris, cobra.CompletionWithDesc(s.URI, console.FirstLine(s.Description)))
	}
	return uris
}

func readResource(cmd *cobra.Command, f *readFlags, uri string) error {
	if f.server != "" {
		return f.readServer(cmd, uri)
	}
	caller, err := f.Caller()
	if err != nil {
		return err
	}
	f.audits = commandAudits(cmd)
	g, err := f.mustCompile(cmd.Context(), f.dir, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer g.Close()
	stop := console.ShowSpinner(cmd.ErrOrStderr(), "reading "+uri)
	ctx := f.withApprover(cmd.Context(), newTerminal(cmd), stop)
	d, err := g.Read(ctx, &mcp.CallRequest{Name: uri, Caller: caller})
	stop()
	if err != nil {
		f.printCause(cmd.ErrOrStderr(), err.Error())
		return protocolFailure(err)
	}
	return printContents(cmd.OutOrStdout(), documentJSON(d), f.asJSON)
}

// printContents prints the result of a request for a resource.
func printContents(out io.Writer, result []byte, asJSON bool) error {
	if asJSON {
		fmt.Fprintf(out, "%s\n", printable.EscapeJSON(result))
		return nil
	}
	var document struct {
		Contents []struct {
			Text string
			Blob []byte
		}
	}
	if err := json.Unmarshal(result, &document); err != nil {
		return failf("the result cannot be decoded: %s", err)
	}
	for _, c := range document.Contents {
		to := out
		if c.Blob == nil {
			c.Blob, to = []byte(c.Text), console.ForTerminal(out)
		}
		if _, err := to.Write(c.Blob); err != nil {
			return failf("the resource cannot be written: %s", reason(err))
		}
	}
	return nil
}

// documentJSON encodes a document as the result of a request.
func documentJSON(d mcp.Document) []byte { return append(d.Members.AppendJSON([]byte{'{'}), '}') }
