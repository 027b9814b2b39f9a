// Package operator has what people who operate a server see and do, as the configuration that is served allows: they
// decide approvals, cancel tasks and follow events. It records what they do, and which requests were refused.
package operator

import (
	"context"
	"log/slog"

	"hatchel/runtime/durable/audit"
	"hatchel/runtime/durable/callstore"
	"hatchel/runtime/durable/store"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/served"
	"hatchel/runtime/observe/event"
	"hatchel/runtime/observe/logging"
	"hatchel/runtime/observe/recent"
	"hatchel/runtime/stage/task"
)

// Server is the server that is operated.
type Server interface {
	// Admit returns what is served for a request of a caller, and what releases it. The error is one of the protocol.
	Admit(ctx context.Context, c *mcp.Caller) (*served.Served, func(), error)
	// Pin is Admit for what is no request; nil when the server is closed.
	Pin() (*served.Served, func())
	// Configuration returns what is served now, or was served last. It may end at any time.
	Configuration() *served.Served
}

// Operator has what operators see and do. Make one with New. Its methods may be called concurrently.
type Operator struct {
	State *store.State

	server    Server
	events    *event.Ring
	calls     Calls
	refusals  logging.Limited
	published decidedApprovals
}

// Calls is where the calls are kept that the console shows.
type Calls struct {
	Recent func() *recent.Log // those of this process
	Stored *callstore.Store   // those of other processes and of earlier ones
}

// New returns the Operator of a server.
func New(s Server, state *store.State, events *event.Ring, calls Calls, log *slog.Logger) *Operator {
	return &Operator{
		State: state, server: s, events: events, calls: calls,
		refusals: logging.Limited{Log: log, Text: "request refused"},
	}
}

// Flush writes the lines of requests that were refused and are not written yet.
func (o *Operator) Flush() { o.refusals.Flush() }

// MaySeeHealth reports whether the health block allows a caller to see the health of the server. Nobody
// may without the block, or while its rule cannot be evaluated.
func (o *Operator) MaySeeHealth(ctx context.Context, c *mcp.Caller) bool {
	g, release := o.server.Pin()
	if g == nil {
		return false
	}
	defer release()
	block := g.Config.Server.Health
	if block == nil {
		return false
	}
	return g.Allows(ctx, block.Allow, c, "health.allow failed, caller may not see the health")
}

// AllowsConsole reports whether the rule allow of the console, which must have one, allows a caller.
func (o *Operator) AllowsConsole(ctx context.Context, c *mcp.Caller) bool {
	g, release := o.server.Pin()
	if g == nil {
		return false
	}
	defer release()
	return g.Console != nil && g.Console.Allow != nil && g.IsAuthenticated(c) &&
		g.Allows(ctx, g.Console.Allow, c, "console.allow failed, caller may not look")
}

// MayScrape reports whether the rule of the metrics block, which must have one, allows a caller.
func (o *Operator) MayScrape(ctx context.Context, c *mcp.Caller) bool {
	g, release := o.server.Pin()
	if g == nil {
		return false
	}
	defer release()
	decl := g.Config.Telemetry.Metrics
	const text = "metrics.allow failed, caller may not read the metrics"
	return decl != nil && decl.Allow != nil && g.Allows(ctx, decl.Allow, c, text)
}

// CancelTask cancels a task of any caller, for an operator.
func (o *Operator) CancelTask(ctx context.Context, id string, operator *mcp.Caller) error {
	g, release, err := o.server.Admit(ctx, operator)
	if err != nil {
		return err
	}
	defer release()
	for ctx.Err() == nil { // until the task did not change while it was handled
		t, err := o.State.Tasks.FindAny(ctx, id)
		if err != nil || t == nil || t.IsFinal() {
			return err
		}
		done, err := o.State.CancelTask(ctx, t, task.ByOperator)
		if done && err == nil {
			RecordTaskCancelled(ctx, g, t, operator)
		}
		if done || err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// RecordTaskCancelled records that a caller has cancelled a task.
func RecordTaskCancelled(ctx context.Context, g *served.Served, t *task.Task, caller *mcp.Caller) {
	if g.Audit == nil {
		return
	}
	r := g.Env.AuditRecord(audit.EventRequest, caller, nil)
	r.Outcome, r.Kind, r.Name, r.Task, r.Message = audit.Cancelled, "tool", t.Tool, t.ID(), t.Message
	g.Record(ctx, r)
}

// RecordSessionEnd records that an operator has ended the session of a client.
func (o *Operator) RecordSessionEnd(ctx context.Context, session *mcp.SessionInfo, operator *mcp.Caller) {
	o.withAuditLog(func(g *served.Served) {
		r := g.Env.AuditRecord(audit.EventRequest, operator, nil)
		r.Outcome, r.Kind, r.Name = audit.Cancelled, "session", session.Name
		r.Message = "An operator has ended the session"
		if session.Owner != nil {
			r.Message += " of " + session.Owner.Subject
		}
		g.Record(ctx, r)
	})
}
