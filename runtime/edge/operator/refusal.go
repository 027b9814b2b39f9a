package operator

import (
	"cmp"
	"context"
	"log/slog"
	"net"

	"hatchel/hcl/jsonscan"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/served"
	"hatchel/runtime/observe/event"
	"hatchel/runtime/observe/metrics"
)

// AuditUnavailable reports whether no call can be made, because none can be recorded.
func (o *Operator) AuditUnavailable(ctx context.Context) bool {
	g, release := o.server.Pin()
	if g == nil {
		return false
	}
	defer release()
	health := g.AuditHealth(ctx)
	return health != nil && !health.OK
}

// withAuditLog calls do with the current generation, unless that records nothing or the server has
// stopped.
func (o *Operator) withAuditLog(do func(*served.Served)) {
	g, release := o.server.Pin()
	if g == nil {
		return
	}
	defer release()
	if g.Audit != nil {
		do(g)
	}
}

// Refusal is a request over HTTP that was refused before there was a call, because of its
// credentials.
type Refusal struct {
	Status int         // of the response
	Reason string      // a sentence without anything that the request has sent
	Path   string      // of the request
	Caller *mcp.Caller // what is known of the caller; nil for nothing
	Key    string      // the name of the key or issuer that was tried; empty for none
}

// RecordRefusal logs that a request was refused, at most once a second for each address, and records
// it where requests are recorded.
func (o *Operator) RecordRefusal(ctx context.Context, refusal Refusal) {
	refusal.Caller = cmp.Or(refusal.Caller, new(mcp.Caller))
	o.logRefusal(refusal)
	o.server.Configuration().Metrics.RefusedRequest()
	o.countRefusal(ctx, &refusal)
	o.withAuditLog(func(g *served.Served) {
		r := g.Env.AuditRecord(audit.EventRequest, refusal.Caller, nil)
		r.Outcome, r.Status = audit.Refused, refusal.Status
		r.URI, r.Message = g.Env.Scrubber.Text(refusal.Path), g.Env.Scrubber.Text(refusal.Reason)
		r.Caller.Key = cmp.Or(r.Caller.Key, refusal.Key)
		g.Record(ctx, r)
	})
}

func (o *Operator) logRefusal(r Refusal) {
	scrubber := o.server.Configuration().Env.Scrubber
	address, _, err := net.SplitHostPort(r.Caller.Remote)
	if err != nil {
		address = r.Caller.Remote
	}
	o.refusals.Add(address, slog.Int("status", r.Status), slog.String("path", jsonscan.Excerpt(scrubber.Text(r.Path))),
		slog.String("reason", scrubber.Text(r.Reason)), slog.String("subject", r.Caller.Subject),
		slog.String("key", r.Key), slog.String("remote", r.Caller.Remote))
}

// countRefusal counts a request without valid credentials, for an event a second.
func (o *Operator) countRefusal(ctx context.Context, r *Refusal) {
	env := o.server.Configuration().Env
	env.Refusals.Add(ctx, env.Events, event.Refusal{
		Reason: metrics.RefusedByCredential, Message: r.Reason, Subject: r.Caller.Subject, Owner: r.Caller.Owner(),
	})
}
