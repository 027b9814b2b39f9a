package call

import (
	"context"
	"strings"
	"time"

	"hatchel/adapters"
	"hatchel/runtime/stage/approval"
	"hatchel/runtime/stage/failure"
)

// pendingApprovals lists the calls of the caller that wait for an approval. It is the backend of hcl.PendingApprovals.
type pendingApprovals struct {
	env     *Environment
	console string // the address of the console's approvals; empty for none
}

// PendingApprovals returns the action of hcl.PendingApprovals. Console is the address of the approvals in the console,
// empty for none.
func PendingApprovals(env *Environment, console string) adapters.Action {
	return &pendingApprovals{env, console}
}

// Do implements adapters.Action.
func (p *pendingApprovals) Do(ctx context.Context, call *adapters.Call) (any, error) {
	key, subject, _ := strings.Cut(call.Owner, "\n") // as mcp.Identity.Owner joins them
	list, err := p.env.State.Approvals().OfCaller(ctx, approval.Requester{Subject: subject, Key: key})
	if err != nil {
		return nil, failure.Unavailable(err)
	}
	calls := make([]any, len(list))
	for i, a := range list {
		one := map[string]any{
			"id": a.ID, "tool": a.Tool, "title": a.Title, "message": a.Message, "state": string(a.Status),
			"requested": a.RequestedAt.UTC().Format(time.RFC3339), "expires": a.Expires().UTC().Format(time.RFC3339),
		}
		if p.console != "" {
			one["console"] = p.console + "/" + a.ID
		}
		calls[i] = one
	}
	return map[string]any{"calls": calls}, nil
}

// Plan implements adapters.Planner.
func (p *pendingApprovals) Plan(*adapters.Call) ([]adapters.Effect, error) {
	return adapters.PlanEffects("approvals", "", "reads which calls of the caller wait for approval"), nil
}
