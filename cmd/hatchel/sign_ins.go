package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"hatchel/cmd/hatchel/console"
	"hatchel/internal/cut"
	"hatchel/internal/printable"
	"hatchel/runtime/durable/grant"
	"hatchel/runtime/edge/server"
	"hatchel/runtime/stage/approval"
)

// signInsFlags are the flags of the subcommands of sign-ins.
type signInsFlags struct {
	stateFlags
	filter grant.Filter
}

// signInSource is where sign-ins are listed and ended: the state store, or a server. Its errors are
// grant.ErrNotFound, or texts for the user.
type signInSource interface {
	ListSignIns(ctx context.Context, q grant.Query) (signIns []*grant.SignIn, next string, err error)
	// EndSignIn ends a sign-in and returns what it was.
	EndSignIn(ctx context.Context, id string) (*grant.SignIn, error)
	Close()
}

func signInsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sign-ins",
		Short: "List and end sign-ins of people",
		Long: `List and end the sign-ins that people have made with their clients, as the sign_in block
allows them. A sign-in that ends takes the client's tokens with it: all processes of a
server refuse them within a second, and the client asks the person to sign in again.

Sign-ins are in the state of the server, where hatchel approvals finds approvals, too.
They are sealed: with key in the state block, the command needs that secret.

With --server a server lists and ends them over HTTP: callers in the group admin see the
sign-ins of everybody, others their own.
` + keyHelp,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return misusef("sign-ins requires a subcommand: list or revoke")
		},
	}
	f := new(signInsFlags)
	cmd.AddCommand(f.listCommand(), f.revokeCommand())
	f.register(cmd)
	cmd.PersistentFlags().AddFlagSet(cmd.Flags())
	return cmd
}

func (f *signInsFlags) register(cmd *cobra.Command) {
	f.stateFlags.register(cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.filter.Subject, "subject", "", "only sign-ins of the person `SUBJECT`, which may contain *")
	fs.StringVar(&f.filter.Client, "client", "", "only sign-ins with the `CLIENT`: its id, name or host, which may "+
		"contain *")
}

func (f *signInsFlags) listCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list [DIR]",
		Short: "List sign-ins, the latest first",
		Example: `  hatchel sign-ins list --subject ann
  hatchel sign-ins list --server https://tools.example.com --client claude.ai`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.withSource(cmd, f.list) },
	}
	return leadingDir(cmd, moreThan(0))
}

func (f *signInsFlags) revokeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke [ID...]",
		Short: "End sign-ins by their IDs, or all of a person or client",
		Long: `End sign-ins: those with an ID of hatchel sign-ins list, or with --subject and --client
those of a person, with a client, or of a person with a client.

The exit code is 1 when there is no sign-in with an ID, or none that the flags select.`,
		Example: `  hatchel sign-ins revoke TZWSKHPXUKMDNVVIQAXQ7GTDW6
  hatchel sign-ins revoke --subject ann`,
		Args:              f.checkRevoke,
		ValidArgsFunction: f.completeIDs,
		RunE: func(cmd *cobra.Command, ids []string) error {
			return f.withSource(cmd, func(cmd *cobra.Command, source signInSource) error {
				return f.revoke(cmd, source, ids)
			})
		},
	}
}

func (f *signInsFlags) checkRevoke(_ *cobra.Command, ids []string) error {
	selects := f.filter != grant.Filter{}
	switch {
	case len(ids) == 0 && !selects:
		return misusef("revoke requires the IDs of sign-ins, as hatchel sign-ins list prints them, or --subject or " +
			"--client")
	case len(ids) > 0 && selects:
		return misusef("revoke accepts the IDs of sign-ins, or --subject and --client, not both")
	}
	return nil
}

// withSource opens the source that the flags name for the duration of do.
func (f *signInsFlags) withSource(cmd *cobra.Command, do func(*cobra.Command, signInSource) error) error {
	source, err := f.open(cmd)
	if err != nil {
		return err
	}
	defer source.Close()
	return do(cmd, source)
}

func (f *signInsFlags) open(cmd *cobra.Command) (signInSource, error) {
	if f.server == "" {
		return f.openLocal(cmd)
	}
	if err := checkServerAlone(cmd); err != nil {
		return nil, err
	}
	return f.newClient(cmd, f.server)
}

// listSignIns returns all sign-ins that a filter selects.
func (f *signInsFlags) listSignIns(ctx context.Context, source signInSource) (all []*grant.SignIn, err error) {
	q := grant.Query{Filter: f.filter, Limit: server.SignInPageSize}
	for {
		page, next, err := source.ListSignIns(ctx, q)
		if err != nil {
			return nil, f.failure("", err)
		}
		all = append(all, page...)
		if q.After = next; next == "" {
			return all, nil
		}
	}
}

// list prints the sign-ins that the flags select.
func (f *signInsFlags) list(cmd *cobra.Command, source signInSource) error {
	all, err := f.listSignIns(cmd.Context(), source)
	switch {
	case err != nil:
		return err
	case f.asJSON:
		return f.printJSON(cmd, all)
	case len(all) == 0:
		fmt.Fprintln(cmd.ErrOrStderr(), "hatchel: no sign-ins"+f.selection()+f.where())
		return nil
	}
	return printSignIns(cmd.OutOrStdout(), all, time.Now())
}

// revoke ends the sign-ins with these IDs, or those that the flags select. It ends all that it can before it reports
// that one is not there.
func (f *signInsFlags) revoke(cmd *cobra.Command, source signInSource, ids []string) error {
	ctx := cmd.Context()
	if len(ids) == 0 {
		all, err := f.listSignIns(ctx, source)
		if err != nil {
			return err
		}
		if len(all) == 0 {
			return failf("there is no sign-in%s%s", f.selection(), f.where())
		}
		for _, s := range all {
			ids = append(ids, s.ID)
		}
	}
	selected := f.filter != grant.Filter{}
	var ended []*grant.SignIn
	var failed error
	for _, id := range ids {
		s, err := source.EndSignIn(ctx, id)
		switch {
		case err == nil:
			ended = append(ended, s)
		case selected && errors.Is(err, grant.ErrNotFound): // it has ended since it was listed
		default:
			failed = cmp.Or(failed, f.failure(id, err))
		}
	}
	if f.asJSON {
		return errors.Join(f.printJSON(cmd, ended), failed)
	}
	for _, s := range ended {
		fmt.Fprintf(cmd.OutOrStdout(), "%s revoked: %s of %s\n", printable.Line(s.ID),
			printable.Line(s.Client.String()), printable.Line(s.Subject))
	}
	return failed
}

// printJSON prints sign-ins, without characters that reorder or hide text.
func (f *signInsFlags) printJSON(cmd *cobra.Command, all []*grant.SignIn) error {
	texts := make([]json.RawMessage, len(all))
	for i, s := range all {
		text, err := json.Marshal(s)
		if err != nil {
			return err
		}
		texts[i] = printable.EscapeJSON(text)
	}
	return printJSON(cmd.OutOrStdout(), texts)
}

// selection says which sign-ins the flags select, as a part of a sentence.
func (f *signInsFlags) selection() (text string) {
	if f.filter.Subject != "" {
		text += " of " + printable.Line(f.filter.Subject)
	}
	if f.filter.Client != "" {
		text += " with " + printable.Line(f.filter.Client)
	}
	return text
}

// where says which state was read, as a part of a sentence; empty for that of a server.
func (f *signInsFlags) where() string {
	if f.server != "" {
		return ""
	}
	return " in " + f.place.String()
}

// failure converts the error of a source to that of a command.
func (f *signInsFlags) failure(id string, err error) error {
	if errors.Is(err, grant.ErrNotFound) {
		return failf("there is no sign-in %s%s. It may have ended: see hatchel sign-ins list", printable.Line(id),
			f.where())
	}
	return failf("%s", printable.Line(err.Error()))
}

// printSignIns prints sign-ins, one a line.
func printSignIns(w io.Writer, all []*grant.SignIn, now time.Time) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "ID\tSUBJECT\tCLIENT\tSINCE\tLAST REFRESH\tEXPIRES")
	for _, s := range all {
		refreshed := "never"
		if !s.Refreshed.IsZero() {
			refreshed = relativeTime(s.Refreshed, now)
		}
		cells := []string{
			s.ID, s.Subject, s.Client.String(), relativeTime(s.Began, now), refreshed, relativeTime(s.Ends, now),
		}
		for i, c := range cells {
			cells[i] = cut.Runes(console.JoinLines(approval.EscapeText(c)), maxCell)
		}
		fmt.Fprintln(out, strings.Join(cells, "\t"))
	}
	return writeError(out.Flush())
}

// completeIDs completes the IDs of sign-ins.
func (f *signInsFlags) completeIDs(
	cmd *cobra.Command, args []string, _ string,
) (words []string, _ cobra.ShellCompDirective) {
	f.silent = true
	f.withSource(cmd, func(cmd *cobra.Command, source signInSource) error {
		all, err := f.listSignIns(cmd.Context(), source)
		for _, s := range all {
			if !slices.Contains(args, s.ID) {
				words = append(words, printable.Line(s.ID)+"\t"+printable.Line(s.Client.String()+" of "+s.Subject))
			}
		}
		return err
	})
	return words, cobra.ShellCompDirectiveNoFileComp
}
