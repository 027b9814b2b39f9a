package runtime

import (
	"context"
	"log/slog"

	"hatchel/runtime/approval"
	"hatchel/runtime/digest"
	"hatchel/runtime/failure"
)

// What waits for an approval while another configuration of its tool is served can be done no more: it ends at once, and what was asked for is void. Of several processes each ends what it
// has asked for itself: another may still serve the configuration for which it counts, and there the same call, if it waits, asks afresh.

// Why an approval is void, for who would decide about it.
const (
	reasonChanged = "the configuration of the tool was changed, and what was asked for can be done no more"
	reasonRemoved = "the tool was removed"
)

// approvalSeal marks the approvals that this process asks for, for calls of this tool as it is configured.
func (p *Program) approvalSeal() string {
	return digest.Of("seal", p.generation.build.State.tasks.owner, p.decl.Name, p.approvalDigest).String()
}

// currentProgram is the tool as it is served now; nil when it is not.
func (p *Program) currentProgram() *Program {
	if current := p.generation.build.current; current != nil {
		return current().programs[p.decl.Name]
	}
	return p
}

// supersededError is why a call does nothing that does not stand any more.
func (p *Program) supersededError() error {
	switch now := p.currentProgram(); {
	case now == nil:
		return failure.Refusal("This tool was removed while the call waited for an approval; nothing was done.")
	case now.approvalDigest != p.approvalDigest:
		return failure.Refusal("The configuration of this tool was changed while the call waited for an approval; nothing was done. Call again: what it does now must be approved afresh.")
	}
	return errSuperseded
}

// voidFilter is what becomes of the approvals of this process for calls of the tool when another one takes its place; false where nothing does, because they count there, too.
func (p *Program) voidFilter(now *Program) (approval.Ending, bool) {
	switch {
	case len(p.approvalRules) == 0, now == p, now != nil && now.approvalDigest == p.approvalDigest:
		return approval.Ending{}, false
	case now == nil:
		return approval.Ending{Seal: p.approvalSeal(), Why: reasonRemoved}, true
	}
	return approval.Ending{Seal: p.approvalSeal(), Why: reasonChanged}, true
}

// voidApproval ends what a call has waited for, if it counts no more, and this process has asked for it.
func (p *Program) voidApproval(c *call, book *approval.Book, a *approval.Approval) {
	ending, ends := p.voidFilter(p.currentProgram())
	if !ends || a.Seal != ending.Seal {
		return
	}
	ctx := context.WithoutCancel(c.frame.Context)
	if _, err := book.Void(ctx, a, ending.Why); err != nil {
		p.generation.logVoidFailure(ctx, err)
	}
}

// voidApprovals ends what was asked for under a generation whose place this one takes, and counts no more.
func (g *Generation) voidApprovals(last *Generation) {
	tools := map[string]approval.Ending{}
	for name, p := range last.programs {
		if ending, ends := p.voidFilter(g.programs[name]); ends {
			tools[name] = ending
		}
	}
	if len(tools) == 0 || g.build.State.current() == nil {
		return
	}
	book, err := g.build.State.approvals(g.ctx)
	ended := 0
	if err == nil {
		ended, err = book.VoidAll(g.ctx, tools)
	}
	if err != nil && g.ctx.Err() == nil {
		g.logVoidFailure(g.ctx, err)
	}
	if ended > 0 {
		g.log().LogAttrs(g.ctx, slog.LevelInfo, "approvals are void, because the configuration of their tools was changed", slog.Int("approvals", ended))
	}
}

// logVoidFailure says that approvals cannot be ended that count no more.
func (g *Generation) logVoidFailure(ctx context.Context, err error) {
	g.log().LogAttrs(ctx, slog.LevelWarn, "approvals that count no more stay pending until their time has passed", slog.String("error", g.scrubber.Text(err.Error())))
}
