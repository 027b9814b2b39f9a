package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/spf13/cobra"

	"hatchel/runtime"
	"hatchel/runtime/mcp"
)

// reading are the flags of read.
type reading struct {
	loading
	approving
	dir    string
	asJSON bool
}

func readCommand() *cobra.Command {
	r := new(reading)
	cmd := &cobra.Command{
		Use:   "read [-C DIR] URI",
		Short: "Read one resource of a folder",
		Long:  "Read one resource of a folder, by its URI or by one that fits its template, and print what it holds: a text as it is, data as raw bytes.",
		Args:  one("read takes the URI of a resource"),
		RunE:  func(cmd *cobra.Command, args []string) error { return r.run(cmd, args[0]) },
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return r.complete(cmd, args), cobra.ShellCompDirectiveNoFileComp
		},
	}
	r.flags(cmd)
	cmd.Flags().StringVarP(&r.dir, "dir", "C", ".", "`folder` of the resource")
	r.approveFlag(cmd)
	cmd.Flags().BoolVar(&r.asJSON, "json", false, "print the result of resources/read as JSON")
	cmd.MarkFlagDirname("dir")
	return cmd
}

// one is for commands that take one word.
func one(otherwise string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return errors.New(otherwise)
		}
		return nil
	}
}

func (r *reading) complete(cmd *cobra.Command, args []string) (uris []string) {
	if len(args) > 0 {
		return nil
	}
	r.completing(cmd, r.dir, func(g *runtime.Generation) {
		for _, res := range g.Config.Resources {
			if res.Template == nil {
				uris = append(uris, cobra.CompletionWithDesc(res.URI, firstLine(res.Description)))
			}
		}
	})
	return uris
}

func (r *reading) run(cmd *cobra.Command, uri string) error {
	r.audits = audits(cmd)
	g, err := r.ready(cmd.Context(), r.dir, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer g.Close()
	done := sync.OnceFunc(spin(cmd.ErrOrStderr(), "reading "+uri))
	d, err := g.Read(r.approver(cmd.Context(), formOf(cmd), done), &mcp.CallRequest{Name: uri, Caller: &mcp.Caller{Revision: mcp.Revision20260728}})
	done()
	if err != nil {
		return refused(err)
	}
	result := resultOf(d)
	if r.asJSON {
		fmt.Fprintf(cmd.OutOrStdout(), "%s\n", result)
		return nil
	}
	var held struct {
		Contents []struct {
			Text string
			Blob []byte
		}
	}
	if err := json.Unmarshal(result, &held); err != nil {
		return failf("the answer cannot be read: %s", err)
	}
	for _, c := range held.Contents {
		if c.Blob == nil {
			c.Blob = []byte(c.Text)
		}
		if _, err := cmd.OutOrStdout().Write(c.Blob); err != nil {
			return failf("what was read cannot be written: %s", reason(err))
		}
	}
	return nil
}

// resultOf is a document as a client gets it.
func resultOf(d mcp.Document) []byte { return append(d.Members.AppendJSON([]byte{'{'}), '}') }
