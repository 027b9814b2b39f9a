package runtime

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"hatchel/runtime/audit"
	"hatchel/runtime/mcp"
)

// What is written down of requests that are no calls.

// recordRefusal writes down a request that was refused before there was a call, and returns why.
func (g *Generation) recordRefusal(ctx context.Context, kind string, req *mcp.CallRequest, why error) error {
	if g.audit == nil {
		return why
	}
	r := g.auditRecord(req.Caller, req.Meta)
	r.Time, r.ID, r.Kind, r.Outcome = time.Now(), rand.Text(), kind, audit.Refused
	if r.Name = g.scrubber.Text(req.Name); kind == "resource" {
		r.Name, r.URI = "", r.Name
	}
	var e *mcp.Error
	if errors.As(why, &e) {
		r.Message = g.scrubber.Text(e.Message)
	}
	if err := g.audit.Append(&r, false); err != nil {
		g.logAuditFailure(ctx, err)
	}
	return why
}

// Refusal is a request over HTTP that was refused, so that there was no call: for what it proves of its caller, or does not.
type Refusal struct {
	Status int         // that it was answered with
	Reason string      // a sentence, without what the request has sent
	Path   string      // that it was for
	Caller *mcp.Caller // what is known of who made it; nil for nothing
	Key    string      // the name of the key or issuer that was tried, where one was recognized
}

// withAuditLog lets do write to the audit log of the configuration that is served; where nothing is written down, or the server has stopped, it does nothing.
func (h *Host) withAuditLog(do func(*Generation)) {
	g := h.pin()
	if g == nil {
		return
	}
	defer g.leave()
	if g.audit != nil {
		do(g)
	}
}

// RecordRefusal writes down that a request was refused. It does nothing where nothing is written down.
func (h *Host) RecordRefusal(ctx context.Context, refusal Refusal) {
	h.withAuditLog(func(g *Generation) {
		caller := refusal.Caller
		if caller == nil {
			caller = &mcp.Caller{}
		}
		r := g.auditRecord(caller, nil)
		r.Time, r.ID, r.Event, r.Outcome = time.Now(), rand.Text(), audit.EventRequest, audit.Refused
		r.Status, r.URI, r.Message = refusal.Status, g.scrubber.Text(refusal.Path), g.scrubber.Text(refusal.Reason)
		if r.Caller.Key == "" {
			r.Caller.Key = refusal.Key
		}
		if err := g.audit.Append(&r, false); err != nil {
			g.logAuditFailure(ctx, err)
		}
	})
}

// recordTaskCancelled writes down that a client has cancelled a task.
func (h *Host) recordTaskCancelled(ctx context.Context, t *task, caller *mcp.Caller) {
	h.withAuditLog(func(g *Generation) {
		r := g.auditRecord(caller, nil)
		r.Time, r.ID, r.Event, r.Outcome = time.Now(), rand.Text(), audit.EventRequest, audit.Cancelled
		r.Kind, r.Name, r.Task, r.Message = "tool", t.Tool, t.row.Name, "The client has cancelled the task."
		if err := g.audit.Append(&r, false); err != nil {
			g.logAuditFailure(ctx, err)
		}
	})
}
