package main

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"hatchel/hcl"
)

// validation are the flags of validate.
type validation struct {
	loading
	connect bool
	asJSON  bool
}

func validateCommand() *cobra.Command {
	v := new(validation)
	cmd := folderArg(&cobra.Command{
		Use:   "validate [DIR]",
		Short: "Check a folder the way serve loads it",
		Long: `Check a folder exactly the way serve loads it, and print every mistake with its place and what to write instead.

With --connect every connection is opened, and every SQL statement is prepared by its database, which also finds tables and columns
that do not exist. Nothing is executed, but that MySQL and MariaDB may compute a query that reads no table.`,
		RunE: func(cmd *cobra.Command, args []string) error { return v.run(cmd, folderOf(args)) },
	})
	v.flags(cmd)
	cmd.Flags().BoolVar(&v.connect, "connect", false, "ask the real databases and services, too")
	cmd.Flags().BoolVar(&v.asJSON, "json", false, "print the result as JSON")
	return cmd
}

func (v *validation) run(cmd *cobra.Command, path string) error {
	o, err := v.open(cmd.Context(), path, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	var declared offer
	var off []string
	if g := o.generation; g != nil {
		defer g.Close()
		declared = offer{len(g.Config.Tools), len(g.Config.Prompts), len(g.Config.Resources)}
		off = g.Config.DisabledWebhooks()
		if v.connect {
			done := spin(cmd.ErrOrStderr(), "asking the connections")
			o.found(slices.Concat(g.Probe(cmd.Context()), probeState(cmd.Context(), g.Config.State), probeAudit(cmd.Context(), g.Config.Audit)))
			done()
		}
	}
	if v.asJSON {
		err = o.printJSON(cmd, declared, off)
	} else {
		err = o.print(cmd.OutOrStdout())
	}
	switch {
	case err != nil:
		return failf("the result cannot be written: %s", reason(err))
	case o.diags.HasErrors() && v.asJSON:
		return &failure{code: checkFailed}
	case o.diags.HasErrors():
		return failf("%s has %s", inWords(path), counted(o.diags))
	case v.asJSON:
		return nil
	case len(o.diags) > 0:
		fmt.Fprintln(cmd.OutOrStdout())
	}
	if g := o.generation; g != nil && len(g.Config.Sources) == 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "%s: no .hcl file is here, so there is nothing to check\n", inWords(path))
		return nil
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s: %s, %s\n", inWords(path), declared, counted(o.diags))
	for _, name := range off {
		fmt.Fprintf(cmd.OutOrStdout(), "webhook %q is off, because its url is null: it is told nothing\n", name)
	}
	return nil
}

func (o *opened) printJSON(cmd *cobra.Command, declared offer, off []string) error {
	diags := o.diags
	if diags == nil {
		diags = hcl.Diagnostics{}
	}
	errors, warnings := diags.Counts()
	out := json.NewEncoder(cmd.OutOrStdout())
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(struct {
		Valid       bool            `json:"valid"`
		Tools       int             `json:"tools"`
		Prompts     int             `json:"prompts"`
		Resources   int             `json:"resources"`
		Off         []string        `json:"webhooks_off,omitempty"`
		Errors      int             `json:"errors"`
		Warnings    int             `json:"warnings"`
		Diagnostics hcl.Diagnostics `json:"diagnostics"`
	}{!diags.HasErrors(), declared.tools, declared.prompts, declared.resources, off, errors, warnings, diags})
}
