package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"hatchel/cmd/hatchel/console"
	"hatchel/internal/printable"
	"hatchel/runtime/edge/server"
	"hatchel/runtime/stage/approval"
)

// approvalsFlags are the flags of the subcommands of approvals.
type approvalsFlags struct{ stateFlags }

func approvalsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "approvals",
		Short: "List, approve and reject calls that require an approval",
		Long: `List, approve and reject calls that wait for the approval of an operator, as approval
blocks and policies require it.

Approvals are in the state of the server: where the state block of the configuration
says, in the file of --state, or in the default file: of your user, or of the packaged
unit of systemd (/var/lib/hatchel/state.db). list names the state, and when it was last
changed; if there are two, every command says so. A user who can write the state
can decide, as os:USER. A running server learns of a decision at once. With an audit
block a decision takes effect when the server has recorded it; when no server is
running, the next one to start does.

With --server the decision is made by a server over HTTP, and its approvals block says
who may decide. ` + keyHelp,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return misusef("approvals requires a subcommand: list, show, approve or reject")
		},
	}
	f := new(approvalsFlags)
	cmd.AddCommand(f.listCommand(), f.showCommand(), f.decideCommand("approve"), f.decideCommand("reject"))
	f.register(cmd)
	cmd.PersistentFlags().AddFlagSet(cmd.Flags())
	return cmd
}

func (f *approvalsFlags) listCommand() *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use:   "list [DIR]",
		Short: "List pending approvals, the most urgent first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.withSource(cmd, func(source approvalSource) error { return f.list(cmd, source, all) })
		},
	}
	cmd.Flags().BoolVar(&all, "all", false,
		"also list approvals decided in the last 7 days, and those expired or voided in the last hour")
	return leadingDir(cmd, moreThan(0))
}

func (f *approvalsFlags) showCommand() *cobra.Command {
	again := false
	cmd := &cobra.Command{
		Use:               "show [DIR] ID",
		Short:             "Show who requests what, and its effect",
		Args:              oneArg("show requires the ID of an approval: see hatchel approvals list"),
		ValidArgsFunction: f.completeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.withSource(cmd, func(source approvalSource) error {
				find := source.FindApproval
				if again {
					find = source.LookAgain
				}
				text, err := find(cmd.Context(), args[0])
				if err != nil {
					return f.failure(args[0], err)
				}
				return f.print(cmd, text, func(a *approvalRow, out io.Writer) { a.Print(out, time.Now()) })
			})
		},
	}
	cmd.Flags().BoolVar(&again, "again", false, "read the state before the call again, where the call waits")
	return leadingDir(cmd, moreThan(1))
}

func (f *approvalsFlags) decideCommand(verb string) *cobra.Command {
	reason, digest := "", ""
	title := strings.ToUpper(verb[:1]) + verb[1:]
	cmd := &cobra.Command{
		Use:   verb + " [DIR] ID",
		Short: title + " a pending call",
		Long: title + ` a pending call. The decision is final. An approved call may be made once, within at
least five minutes. Check it first with hatchel approvals show ID.

The exit code is 1 when it was decided before, has expired, or does not exist.`,
		Args:              oneArg(verb + " requires the ID of one approval: see hatchel approvals list"),
		ValidArgsFunction: f.completeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !utf8.ValidString(reason) {
				return misusef("--reason is not valid UTF-8")
			}
			checked, err := approval.CheckReason(reason)
			if err != nil {
				return misusef("--reason: %s", err)
			}
			return f.withSource(cmd, func(source approvalSource) error {
				text, err := source.DecideApproval(cmd.Context(), args[0], verb == "approve", checked, digest)
				if err != nil {
					return f.failure(args[0], err)
				}
				return f.print(cmd, text, func(a *approvalRow, out io.Writer) { a.PrintDecision(out, verb) })
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "`TEXT` for the caller that explains the decision")
	cmd.Flags().StringVar(&digest, "digest", "", "decide only about what approvals show has shown with this `DIGEST`")
	return leadingDir(cmd, moreThan(1))
}

// withSource opens the source that the flags name for the duration of do.
func (f *approvalsFlags) withSource(cmd *cobra.Command, do func(approvalSource) error) error {
	source, err := f.open(cmd)
	if err != nil {
		return err
	}
	defer source.Close()
	return do(source)
}

func (f *approvalsFlags) open(cmd *cobra.Command) (approvalSource, error) {
	if f.server == "" {
		return f.openLocal(cmd)
	}
	if err := checkServerAlone(cmd); err != nil {
		return nil, err
	}
	return f.newClient(cmd, f.server)
}

// checkServerAlone refuses flags of a local configuration and its state beside --server.
func checkServerAlone(cmd *cobra.Command) error {
	for _, name := range []string{"dir", "state", "var", "var-file"} {
		if cmd.Flags().Changed(name) {
			return misusef("--%s cannot be used with --server, which has its own configuration and state", name)
		}
	}
	return nil
}

func (f *approvalsFlags) openLocal(cmd *cobra.Command) (approvalSource, error) {
	store, cfg, err := f.openState(cmd)
	if err != nil {
		return nil, err
	}
	return newLocalApprovals(cmd.Context(), store, localUser(), isAudited(cfg)), nil
}

// list prints the pending approvals, or all.
func (f *approvalsFlags) list(cmd *cobra.Command, source approvalSource, all bool) error {
	status, none := approval.Pending, "no pending approvals"
	if all {
		status, none = "", "no approvals"
	}
	if f.server != "" {
		none += " that you may decide; another approver decides your own calls"
	} else {
		none += " in " + f.place.String()
	}
	texts, rows, err := listApprovals(cmd.Context(), source, status)
	switch {
	case err != nil:
		return f.failure("", err)
	case f.asJSON:
		return printJSON(cmd.OutOrStdout(), texts)
	case len(rows) == 0:
		fmt.Fprintln(cmd.ErrOrStderr(), "hatchel: "+none)
		return nil
	}
	if f.server == "" && f.place.Warning() == "" {
		fmt.Fprintln(cmd.ErrOrStderr(), "hatchel: "+f.place.String())
	}
	return printApprovals(cmd.OutOrStdout(), rows, all, time.Now())
}

// print prints an approval as JSON, or as text.
func (f *approvalsFlags) print(cmd *cobra.Command, text []byte, asText func(*approvalRow, io.Writer)) error {
	if f.asJSON {
		return printJSON(cmd.OutOrStdout(), json.RawMessage(printable.EscapeJSON(text)))
	}
	a, err := decodeApproval(text)
	if err != nil {
		return f.failure("", err)
	}
	asText(a, cmd.OutOrStdout())
	return nil
}

// failure converts the error of a source to that of a command.
func (f *approvalsFlags) failure(id string, err error) error {
	where := ""
	if f.server == "" {
		where = " in " + f.place.String()
	}
	var decided *approval.DecidedError
	switch {
	case errors.Is(err, approval.ErrNotFound) && !approval.IsID(id):
		return failf("%q is not the ID of an approval, which has 16 digits and letters: see hatchel approvals list",
			printable.Line(id))
	case errors.Is(err, approval.ErrNotFound):
		return failf("there is no approval %s%s. Decided approvals are kept for 7 days, and expired ones for an hour",
			printable.Line(id), where)
	case errors.As(err, &decided):
		return failf("nothing was decided about %s: %s", printable.Line(id), printable.Line(decided.Error()))
	}
	return failf("%s", printable.Line(err.Error()))
}

// completeID completes the IDs of pending approvals.
func (f *approvalsFlags) completeID(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var words []string
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	f.silent = true
	f.withSource(cmd, func(source approvalSource) error {
		q := approval.ListQuery{Status: approval.Pending, Limit: server.ApprovalPageSize}
		texts, _, err := source.ListApprovals(cmd.Context(), q)
		for _, text := range texts {
			if a, err := decodeApproval(text); err == nil {
				words = append(words, a.ID+"\t"+printable.Line(a.Tool+": "+console.JoinLines(a.Message)))
			}
		}
		return err
	})
	return words, cobra.ShellCompDirectiveNoFileComp
}
