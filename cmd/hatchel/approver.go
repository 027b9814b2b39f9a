package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hatchel/runtime"
	"hatchel/runtime/approval"
)

// approving is the flag of commands that do what somebody must agree to. Who runs them operates the server.
type approving struct{ beforehand bool }

func (a *approving) approveFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.beforehand, "approve", false, "agree beforehand to what needs an approval; on a terminal it is asked otherwise")
}

// approver has the calls that are made with the context ask who is at the terminal, unless they have agreed beforehand; a nil form is that of nobody. Clear takes away what else is shown there.
func (a *approving) approver(ctx context.Context, f *form, clear func()) context.Context {
	return runtime.WithApprover(ctx, func(ctx context.Context, r *approval.Request) (bool, approval.Decision, error) {
		decision := func() approval.Decision {
			return approval.Decision{By: "os:" + userName(), At: time.Now()}
		}
		switch {
		case a.beforehand:
			return true, decision(), nil
		case f == nil:
			return false, approval.Decision{}, fmt.Errorf("%s needs an approval (%s), and there is no terminal to ask at: agree beforehand with --approve. Nothing was done\n%s\n%s", r.Tool, strings.Join(r.Rules, ", "), approval.Legible(r.Message), approval.Legible(r.Effect))
		}
		clear()
		yes, err := f.approve(ctx, r)
		d := decision()
		if !yes {
			d.Reason = "who called it has not agreed"
		}
		return yes, d, err
	})
}

// approve shows what is to be agreed to, and what it would do. Whatever is no yes is a no.
func (f *form) approve(ctx context.Context, r *approval.Request) (bool, error) {
	fmt.Fprintf(f.out, "\n%s needs an approval (%s)\n%s\n\n%s\n\nApprove? [y/N] ", r.Tool, strings.Join(r.Rules, ", "), approval.Legible(r.Message), approval.Legible(r.Effect))
	line, err := f.line(ctx)
	if errors.Is(err, errNoAnswer) {
		return false, nil
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes", err
}
