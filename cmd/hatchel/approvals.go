package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"hatchel/runtime/approval"
	"hatchel/runtime/server"
)

// approvalsFlags are the flags of the subcommands of approvals.
type approvalsFlags struct {
	loadFlags
	dir    string
	state  string
	server string
	asJSON bool
}

// approvalRow is an approval as a source shows it.
type approvalRow struct {
	ID     string          `json:"id"`
	Status approval.Status `json:"status"`
	approval.Request
	Decision *approval.Decision `json:"decision"`
}

func decodeRow(text []byte) (*approvalRow, error) {
	a := new(approvalRow)
	if err := json.Unmarshal(approval.EscapeJSON(text), a); err != nil || a.ID == "" {
		return nil, errors.New("the approval cannot be decoded")
	}
	return a, nil
}

// approvalSource is where approvals are read and decided: the state store, or a server. Approvals are
// JSON, as a server shows them. Errors are those of package approval, or those of this package.
type approvalSource interface {
	ListApprovals(ctx context.Context, q approval.ListQuery) (approvals []json.RawMessage, next string, err error)
	FindApproval(ctx context.Context, id string) ([]byte, error)
	// DecideApproval returns an approval that is still pending when the decision takes effect after a
	// server has recorded it.
	DecideApproval(ctx context.Context, id string, approved bool, reason string) ([]byte, error)
	Close()
}

func approvalsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "approvals",
		Short: "List, approve and reject calls that require an approval",
		Long: `List, approve and reject calls that wait for the approval of an operator, as approval
blocks and policies require it.

Approvals are in the state of the server: where the state block of the configuration
says, in the file of --state, or in the default file. Whoever can write the state can
decide, as os:USER. A running server learns of a decision at once. With an audit
block a decision takes effect when the server has recorded it; when no server is
running, the next one to start does.

With --server the decision is made by a server over HTTP. The environment variable
HATCHEL_KEY holds the API key or token of the approver, and the approvals block of the
server says who may decide.`,
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

func (f *approvalsFlags) register(cmd *cobra.Command) {
	f.loadFlags.register(cmd)
	dirFlag(cmd, &f.dir)
	fs := cmd.Flags()
	fs.StringVar(&f.state, "state", "", "state `FILE` of the server, if it is served with --state")
	fs.StringVar(&f.server, "server", "", "`URL` of a server that decides, for example https://tools.example.com")
	fs.BoolVar(&f.asJSON, "json", false, "print JSON")
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
	return leadingDir(&cobra.Command{
		Use:               "show [DIR] ID",
		Short:             "Show who requests what, and its effect",
		Args:              oneArg("show requires the ID of an approval: see hatchel approvals list"),
		ValidArgsFunction: f.completeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.withSource(cmd, func(source approvalSource) error {
				text, err := source.FindApproval(cmd.Context(), args[0])
				if err != nil {
					return approvalFailure(args[0], err)
				}
				return f.printRow(cmd, text)
			})
		},
	}, moreThan(1))
}

func (f *approvalsFlags) decideCommand(verb string) *cobra.Command {
	reason := ""
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
			checked, err := server.CheckReason(reason)
			if err != nil {
				return misusef("--reason: %s", err)
			}
			return f.withSource(cmd, func(source approvalSource) error {
				text, err := source.DecideApproval(cmd.Context(), args[0], verb == "approve", checked)
				if err != nil {
					return approvalFailure(args[0], err)
				}
				return f.printDecision(cmd, text, verb)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "`TEXT` for the caller that explains the decision")
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
		return f.openLocal(cmd.Context(), cmd.ErrOrStderr())
	}
	for _, name := range []string{"dir", "state", "var", "var-file"} {
		if cmd.Flags().Changed(name) {
			return nil, misusef("--%s cannot be used with --server, which has its own configuration and state", name)
		}
	}
	return newRemoteApprovals(f.server)
}

// approvalFailure converts the error of a source to that of a command.
func approvalFailure(id string, err error) error {
	var decided *approval.DecidedError
	var exit *exitError
	switch {
	case errors.As(err, &exit):
		return err
	case errors.Is(err, approval.ErrNotFound) && !approval.IsID(id):
		return failf("%q is not the ID of an approval, which has 16 digits and letters: see hatchel approvals list",
			printable(id))
	case errors.Is(err, approval.ErrNotFound):
		return failf("there is no approval %s. Decided approvals are kept for 7 days, and expired ones for an hour",
			printable(id))
	case errors.As(err, &decided):
		return failf("nothing was decided about %s: %s", printable(id), printable(decided.Error()))
	}
	return failf("%s", printable(err.Error()))
}

// completeID completes the IDs of pending approvals.
func (f *approvalsFlags) completeID(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var words []string
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	f.withSource(cmd, func(source approvalSource) error {
		q := approval.ListQuery{Status: approval.Pending, Limit: server.ApprovalPageSize}
		texts, _, err := source.ListApprovals(cmd.Context(), q)
		for _, text := range texts {
			if a, err := decodeRow(text); err == nil {
				words = append(words, a.ID+"\t"+printable(a.Tool+": "+joinLines(a.Message)))
			}
		}
		return err
	})
	return words, cobra.ShellCompDirectiveNoFileComp
}
