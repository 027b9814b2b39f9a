package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"hatchel/runtime/approval"
)

// reviewing are the flags of approvals.
type reviewing struct {
	loading
	dir    string
	state  string
	server string
	asJSON bool
}

// listed is an approval as it is read from the store or from a server.
type listed struct {
	ID     string          `json:"id"`
	Status approval.Status `json:"status"`
	approval.Request
	Decision *approval.Decision `json:"decision"`

	text json.RawMessage // as it came
}

// reviewed is where approvals are looked at and decided about. Errors are those of package approval, or of this one.
type reviewed interface {
	list(ctx context.Context, q approval.ListQuery) (list []*listed, next string, err error)
	find(ctx context.Context, id string) (*listed, error)
	decide(ctx context.Context, id string, approved bool, reason string) (*listed, error)
	close()
}

func approvalsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "approvals",
		Short: "Decide about calls that wait for somebody's approval",
		Long: `Decide about calls that wait for the approval of an operator, as approval blocks and policies with approve ask for it.

Approvals are kept with what else a server remembers: where the state block of the folder says, in the file of --state, or in the folder's own
place. Who may write there may decide, and is called os:USER. A server that runs hears of a decision at once. With --server a server is asked
over HTTP, and the key in HATCHEL_KEY says who decides; the approvals block of its configuration says who may.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return misusef("approvals takes a word more: list, show, approve or reject")
		},
	}
	r := new(reviewing)
	r.flags(cmd)
	cmd.AddCommand(r.listCommand(), r.showCommand(), r.decideCommand("approve"), r.decideCommand("reject"))
	return cmd
}

// flags are those of every command below approvals.
func (r *reviewing) flags(cmd *cobra.Command) {
	f := cmd.PersistentFlags()
	f.StringVarP(&r.dir, "dir", "C", ".", "`folder` of the server")
	f.StringVar(&r.state, "state", "", "`file` in which the server keeps what it remembers, when it is served with --state, too")
	f.StringVar(&r.server, "server", "", "`URL` of a server that is asked, as in https://tools.example.com")
	f.BoolVar(&r.asJSON, "json", false, "print JSON")
	f.StringArrayVar(&r.vars, "var", nil, "value of a variable of the folder, `name=value`; may be repeated")
	f.StringArrayVar(&r.varFiles, "var-file", nil, "`file` of lines name = value; may be repeated, --var wins")
}

func (r *reviewing) listCommand() *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List what waits for approval, the most urgent first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return r.with(cmd, func(at reviewed) error { return r.list(cmd, at, all) })
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "also what was decided within 7 days, or has expired or become void within an hour")
	return cmd
}

func (r *reviewing) showCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "show ID",
		Short:             "Show who asks for what, and what would be done",
		Args:              one("show takes the ID of an approval, which hatchel approvals list prints"),
		ValidArgsFunction: r.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.with(cmd, func(at reviewed) error {
				a, err := at.find(cmd.Context(), args[0])
				if err != nil {
					return r.undecided(args[0], err)
				}
				return r.print(cmd, a)
			})
		},
	}
}

func (r *reviewing) decideCommand(verb string) *cobra.Command {
	reason := ""
	cmd := &cobra.Command{
		Use:   verb + " ID",
		Short: sentenceOf(verb) + " what waits",
		Long: sentenceOf(verb) + ` a call that waits. The decision is final: a call that was approved may be made once, within five minutes after the decision at least.
Look at it before, with hatchel approvals show ID.

The exit code is 1 when it was decided already, when its time has passed, or when there is no such approval.`,
		Args:              one(verb + " takes the ID of one approval, which hatchel approvals list prints"),
		ValidArgsFunction: r.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !utf8.ValidString(reason) {
				return misusef("--reason is no text")
			}
			said, err := wellSaid(reason)
			if err != nil {
				return misusef("--reason: %s", err)
			}
			return r.with(cmd, func(at reviewed) error {
				a, err := at.decide(cmd.Context(), args[0], verb == "approve", said)
				if err != nil {
					return r.undecided(args[0], err)
				}
				return r.printDecided(cmd, a)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for who has asked: a `text`")
	return cmd
}

// with opens what the flags name, for as long as do needs it.
func (r *reviewing) with(cmd *cobra.Command, do func(reviewed) error) error {
	at, err := r.open(cmd)
	if err != nil {
		return err
	}
	defer at.close()
	return do(at)
}

func (r *reviewing) open(cmd *cobra.Command) (reviewed, error) {
	if r.server == "" {
		return r.openStore(cmd.Context(), cmd.ErrOrStderr())
	}
	for _, name := range []string{"dir", "state", "var", "var-file"} {
		if cmd.Flags().Changed(name) {
			return nil, misusef("--server asks a server, which knows its own folder and state: leave --%s out", name)
		}
	}
	return newRemote(r.server)
}

// undecided is why nothing was found or decided, for who has typed the ID.
func (r *reviewing) undecided(id string, err error) error {
	var decided *approval.AlreadyError
	var failed *failure
	switch {
	case errors.As(err, &failed):
		return err
	case errors.Is(err, approval.ErrUnknown) && !approval.IsID(id):
		return failf("%q is no ID of an approval: hatchel approvals list prints those, of 16 digits and letters", printable(id))
	case errors.Is(err, approval.ErrUnknown):
		return failf("there is no approval %s, or it is forgotten: decisions are kept for 7 days, and what nobody has decided for an hour", printable(id))
	case errors.As(err, &decided):
		return failf("nothing was decided about %s: %s", printable(id), printable(decided.Error()))
	}
	return failf("%s", printable(err.Error()))
}

// complete are the IDs of what waits.
func (r *reviewing) complete(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var words []string
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	r.with(cmd, func(at reviewed) error {
		list, _, err := at.list(cmd.Context(), approval.ListQuery{Status: approval.Pending, Limit: pageSize})
		for _, a := range list {
			words = append(words, a.ID+"\t"+printable(a.Tool+": "+strings.Join(strings.Fields(a.Message), " ")))
		}
		return err
	})
	return words, cobra.ShellCompDirectiveNoFileComp
}
