package runtime

import (
	"context"
	"log/slog"

	"hatchel/runtime/approval"
)

// What waits for an approval while another configuration of its tool is served can be done no more: it ends at once, and what was asked for is void. Of several processes each ends what it
// has asked for itself: another may still serve the configuration for which it counts, and there the same call, if it waits, asks afresh.

// Why an approval is void, for who would decide about it.
const (
	whyChanged = "the configuration of the tool was changed, and what was asked for can be done no more"
	whyRemoved = "the tool was removed"
)

// seal marks the approvals that this process asks for, for calls of this tool as it is configured.
func (p *Program) seal() string {
	return purposeOf("seal", p.generation.build.State.tasks.owner, p.decl.Name, p.sealed).String()
}

// successor is the tool as it is served now; nil when it is not.
func (p *Program) successor() *Program {
	if current := p.generation.build.current; current != nil {
		return current().programs[p.decl.Name]
	}
	return p
}

// overtaken is why a call does nothing that does not stand any more.
func (p *Program) overtaken() error {
	switch now := p.successor(); {
	case now == nil:
		return refusal("This tool was removed while the call waited for an approval; nothing was done.")
	case now.sealed != p.sealed:
		return refusal("The configuration of this tool was changed while the call waited for an approval; nothing was done. Call again: what it does now must be approved afresh.")
	}
	return errOvertaken
}

// ending is what becomes of the approvals of this process for calls of the tool when another one takes its place; false where nothing does, because they count there, too.
func (p *Program) ending(now *Program) (approval.Ending, bool) {
	switch {
	case len(p.approvals) == 0, now == p, now != nil && now.sealed == p.sealed:
		return approval.Ending{}, false
	case now == nil:
		return approval.Ending{Seal: p.seal(), Why: whyRemoved}, true
	}
	return approval.Ending{Seal: p.seal(), Why: whyChanged}, true
}

// void ends what a call has waited for, if it counts no more, and this process has asked for it.
func (p *Program) void(c *call, book *approval.Book, a *approval.Approval) {
	ending, ends := p.ending(p.successor())
	if !ends || a.Seal != ending.Seal {
		return
	}
	ctx := context.WithoutCancel(c.frame.Context)
	if _, err := book.Void(ctx, a, ending.Why); err != nil {
		p.generation.stays(ctx, err)
	}
}

// overtake ends what was asked for under a generation whose place this one takes, and counts no more.
func (g *Generation) overtake(last *Generation) {
	tools := map[string]approval.Ending{}
	for name, p := range last.programs {
		if ending, ends := p.ending(g.programs[name]); ends {
			tools[name] = ending
		}
	}
	if len(tools) == 0 || g.build.State.inUse() == nil {
		return
	}
	book, err := g.build.State.approvals(g.ctx)
	ended := 0
	if err == nil {
		ended, err = book.VoidAll(g.ctx, tools)
	}
	if err != nil && g.ctx.Err() == nil {
		g.stays(g.ctx, err)
	}
	if ended > 0 {
		g.log().LogAttrs(g.ctx, slog.LevelInfo, "approvals are void, because the configuration of their tools was changed", slog.Int("approvals", ended))
	}
}

// stays says that approvals cannot be ended that count no more.
func (g *Generation) stays(ctx context.Context, err error) {
	g.log().LogAttrs(ctx, slog.LevelWarn, "approvals that count no more stay pending until their time has passed", slog.String("error", g.scrubber.sentence(err.Error())))
}
