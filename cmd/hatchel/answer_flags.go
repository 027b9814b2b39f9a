package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hatchel/cmd/hatchel/console"
	"hatchel/hcl"
	"hatchel/runtime/call"
	"hatchel/runtime/stage/approval"
)

// answerFlags is the flag of commands whose calls may ask questions.
type answerFlags struct{ answers []string }

func (a *answerFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&a.answers, "answer", nil,
		"answer to a question, `KEY=JSON`, KEY=decline or KEY=cancel; may be repeated")
}

// prompter returns what answers the questions of an operation, and checks the values of --answer.
func (a *answerFlags) prompter(cmd *cobra.Command, op *hcl.Operation) (*prompter, error) {
	p, err := newPrompter(op, a.answers, newTerminal(cmd))
	if err != nil {
		return nil, misusef("%s", err)
	}
	return p, nil
}

// newTerminal returns the terminal of a command, or nil when its input or its standard error is not
// one.
func newTerminal(cmd *cobra.Command) *promptTerminal {
	if in := cmd.InOrStdin(); console.IsTerminal(in) && console.IsTerminal(cmd.ErrOrStderr()) {
		return newPromptTerminal(in, cmd.ErrOrStderr())
	}
	return nil
}

// approveFlag is the flag of commands whose calls may need an approval. Their user operates the
// server.
type approveFlag struct{ approve bool }

func (a *approveFlag) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.approve, "approve", false,
		"approve the call in advance; on a terminal the approval is asked for otherwise")
}

// withApprover makes calls with the context ask for approvals on the terminal, which may be nil,
// unless --approve is set. Clear removes other output from the terminal.
func (a *approveFlag) withApprover(ctx context.Context, t *promptTerminal, clear func()) context.Context {
	return call.WithApprover(ctx, func(ctx context.Context, r *approval.Request) (bool, approval.Decision, error) {
		rules, effect := strings.Join(r.Rules, ", "), approval.EscapeText(r.Message)+"\n"+approval.EscapeText(r.Effect)
		approved := a.approve
		if !approved {
			if t == nil {
				return false, approval.Decision{}, fmt.Errorf("%s requires an approval (%s), and there is no terminal "+
					"to ask on: approve in advance with --approve. Nothing was done\n%s", r.Tool, rules, effect)
			}
			clear()
			var err error
			if approved, err = t.AskApproval(ctx, r.Tool, rules, effect); err != nil {
				return false, approval.Decision{}, err
			}
		}
		d := approval.Decision{By: localUser(), At: time.Now()}
		if !approved {
			d.Reason = "the user of the command did not approve it"
		}
		return approved, d, nil
	})
}
