package operator

import (
	"context"
	"slices"

	"hatchel/hcl"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/observe/recent"
	"hatchel/runtime/stage/approval"
)

// CallQuery says which of the kept calls somebody wants to see. The zero CallQuery wants all.
type CallQuery struct {
	ID     string // empty for all calls
	Tool   string // a name, or a pattern with * for any characters; empty for all calls
	Caller string // the subject; empty for all calls
}

func (q *CallQuery) matches(c *recent.Call) bool {
	return (q.ID == "" || c.ID == q.ID) && (q.Tool == "" || hcl.MatchesPattern(q.Tool, c.Tool)) &&
		(q.Caller == "" || c.Subject == q.Caller)
}

// RecentCalls returns the latest calls that a person in the console may see, the newest first: those whose events they
// may follow. It reports whether these are their own calls only. Operator says whether they operate the server. Those
// of other processes are left out while the state is not available, which the console says elsewhere.
func (o *Operator) RecentCalls(
	ctx context.Context, c *mcp.Caller, operator bool, q CallQuery,
) (calls []*recent.Call, own bool, err error) {
	g, release, err := o.server.Admit(ctx, c)
	if err != nil {
		return nil, false, err
	}
	defer release()
	v := &eventViewer{server: o.server, caller: c.Snapshot(nil), operator: operator, ctx: ctx, inConsole: true}
	own = !v.seesAny(g)
	owner, sees := v.Owner(), map[string]bool{}
	for _, call := range o.keptCalls(ctx) {
		if !q.matches(call) {
			continue
		}
		may, known := sees[call.Tool]
		if !known {
			may = !own && v.seesIn(g, "tool", call.Tool)
			sees[call.Tool] = may
		}
		if may || owner != "" && call.Owner == owner {
			calls = append(calls, call)
		}
	}
	return calls, own, nil
}

// keptCalls returns the calls of all processes, the newest first. A call that has paused and continued is one call.
func (o *Operator) keptCalls(ctx context.Context) (calls []*recent.Call) {
	stored, _ := o.calls.Stored.Calls(ctx)
	all := append(o.calls.Recent().Calls(), stored...)
	slices.SortStableFunc(all, func(a, b *recent.Call) int { return b.Began.Compare(a.Began) })
	places := map[string]int{}
	for _, c := range all {
		if at, ok := places[c.ID]; ok {
			calls[at] = calls[at].Continuing(c)
			continue
		}
		places[c.ID] = len(calls)
		calls = append(calls, c)
	}
	return calls
}

// DroppedCalls returns how many calls of this process other processes do not have, because they ended faster than they
// could be stored.
func (o *Operator) DroppedCalls() uint64 { return o.calls.Stored.Dropped() }

// IsPending reports whether an approval that a call has requested is not decided yet.
func (o *Operator) IsPending(ctx context.Context, id string) bool {
	opened := o.State.Current()
	if opened == nil {
		return false
	}
	a, err := opened.Approvals.Find(ctx, id)
	return err == nil && a != nil && a.Status == approval.Pending
}
