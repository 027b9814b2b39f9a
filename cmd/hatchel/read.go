package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"hatchel/cmd/hatchel/console"
	"hatchel/runtime"
	"hatchel/runtime/mcp"
)

func readCommand() *cobra.Command {
	f := new(requestFlags)
	cmd := &cobra.Command{
		Use:   "read [DIR] URI",
		Short: "Read a resource",
		Long: `Read a resource of a configuration directory and print its contents: text as it is,
binary data as raw bytes. The URI is that of a resource, or matches the template of
one.`,
		Args:              oneArg("read requires the URI of a resource"),
		RunE:              func(cmd *cobra.Command, args []string) error { return readResource(cmd, f, args[0]) },
		ValidArgsFunction: f.completions(&f.dir, resourceCompletions),
	}
	f.register(cmd, "resources/read")
	return leadingDir(cmd, moreThan(1))
}

func resourceCompletions(g *runtime.Generation) (uris []string) {
	for _, r := range g.Config.Resources {
		if r.Template == nil {
			uris = append(uris, cobra.CompletionWithDesc(r.URI, console.FirstLine(r.Description)))
		}
	}
	return uris
}

func readResource(cmd *cobra.Command, f *requestFlags, uri string) error {
	f.audits = commandAudits(cmd)
	g, err := f.mustCompile(cmd.Context(), f.dir, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer g.Close()
	stop := console.ShowSpinner(cmd.ErrOrStderr(), "reading "+uri)
	ctx := f.withApprover(cmd.Context(), newTerminal(cmd), stop)
	d, err := g.Read(ctx, &mcp.CallRequest{Name: uri, Caller: &mcp.Caller{Revision: mcp.Revision20260728}})
	stop()
	if err != nil {
		return protocolFailure(err)
	}
	out, result := cmd.OutOrStdout(), documentJSON(d)
	if f.asJSON {
		fmt.Fprintf(out, "%s\n", result)
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
		if c.Blob == nil {
			c.Blob = []byte(c.Text)
		}
		if _, err := out.Write(c.Blob); err != nil {
			return failf("the resource cannot be written: %s", reason(err))
		}
	}
	return nil
}

// documentJSON encodes a document as the result of a request.
func documentJSON(d mcp.Document) []byte { return append(d.Members.AppendJSON([]byte{'{'}), '}') }
