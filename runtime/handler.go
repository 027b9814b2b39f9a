package runtime

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/runtime/audit"
	"hatchel/runtime/auth"
	"hatchel/runtime/call"
	"hatchel/runtime/elicit"
	"hatchel/runtime/failure"
	"hatchel/runtime/mcp"
	"hatchel/runtime/state"
	"hatchel/runtime/task"
)

// A Host is a mcp.Handler. It serves each request from the generation that is current when the
// request begins.

// Info returns how the server introduces itself in a toolset; nil for an unknown toolset.
func (h *Host) Info(toolset string) *mcp.Info { return h.current.Load().view(toolset).info }

// List returns a list without what the caller may not call. In a toolset that was removed it is
// empty.
func (h *Host) List(ctx context.Context, caller *mcp.Caller, of mcp.Listing) *mcp.List {
	g := h.current.Load()
	if !g.isAuthenticated(caller) {
		return g.emptyView.lists[of].Load()
	}
	return g.view(caller.Toolset).listFor(ctx, caller, of)
}

// CallTool serves one tools/call.
func (h *Host) CallTool(ctx context.Context, req *mcp.CallRequest) (mcp.Outcome, error) {
	g, err := h.admit(ctx, req.Caller)
	if err != nil {
		return mcp.Outcome{}, err
	}
	defer g.leave()
	p := g.view(req.Caller.Toolset).tools[req.Name]
	if p == nil {
		return mcp.Outcome{}, g.recordUnknown(ctx, "tool", req)
	}
	if p.MayWait() {
		req.KeepAlive()
	}
	return p.Run(ctx, req)
}

// GetPrompt serves one prompts/get.
func (h *Host) GetPrompt(ctx context.Context, req *mcp.CallRequest) (mcp.Document, error) {
	g, err := h.admit(ctx, req.Caller)
	if err != nil {
		return mcp.Document{}, err
	}
	defer g.leave()
	return g.Prompt(ctx, req)
}

// Prompt serves one prompts/get from this generation.
func (g *Generation) Prompt(ctx context.Context, req *mcp.CallRequest) (mcp.Document, error) {
	p := g.view(req.Caller.Toolset).prompts[req.Name]
	if p == nil {
		return mcp.Document{}, g.recordUnknown(ctx, "prompt", req)
	}
	return p.Get(ctx, req)
}

// ReadResource serves one resources/read.
func (h *Host) ReadResource(ctx context.Context, req *mcp.CallRequest) (mcp.Document, error) {
	g, err := h.admit(ctx, req.Caller)
	if err != nil {
		return mcp.Document{}, err
	}
	defer g.leave()
	return g.Read(ctx, req)
}

// Read serves one resources/read from this generation.
func (g *Generation) Read(ctx context.Context, req *mcp.CallRequest) (mcp.Document, error) {
	r, variables := g.view(req.Caller.Toolset).resource(req.Name)
	if r == nil {
		return mcp.Document{}, g.recordUnknown(ctx, "resource", req)
	}
	return r.Read(ctx, req, variables)
}

// Complete serves one completion/complete.
func (h *Host) Complete(ctx context.Context, req *mcp.CompleteRequest) (mcp.Completion, error) {
	g, err := h.admit(ctx, req.Caller)
	if err != nil {
		return mcp.Completion{}, err
	}
	defer g.leave()
	o, err := g.view(req.Caller.Toolset).completable(req)
	if err != nil {
		return mcp.Completion{}, err
	}
	return o.Complete(ctx, req, func(decl *hcl.Completion) *call.Completion { return g.completions[decl] })
}

// Task serves one tasks/get, tasks/update or tasks/cancel.
func (h *Host) Task(ctx context.Context, req *mcp.TaskRequest) (mcp.Appender, error) {
	g, err := h.admit(ctx, req.Caller)
	if err != nil {
		return nil, err
	}
	defer g.leave()
	tasks := h.build.State.tasks
	for ctx.Err() == nil { // until the task did not change while it was handled
		t, err := tasks.Find(ctx, req.ID, req.Caller)
		if err != nil {
			return nil, failure.Unavailable(err)
		}
		done := true
		switch req.Method {
		case "tasks/get":
			return mcp.Raw(t.AppendMembers(nil, true)), nil
		case "tasks/update":
			t.RefreshToken(req.Caller)
			done, err = g.answerTask(ctx, t, req)
			err = g.answerError(err)
		case "tasks/cancel":
			wasFinal := t.IsFinal()
			if done, err = tasks.Cancel(ctx, t, task.ByClient); done && err == nil && !wasFinal {
				g.recordTaskCancelled(ctx, t, req.Caller)
			}
		}
		if done || err != nil {
			return nil, failure.Unavailable(err)
		}
	}
	return nil, context.Cause(ctx)
}

// Tasks returns the tasks that the state has, of all callers.
func (h *Host) Tasks() *task.Registry { return h.build.State.tasks }

// CancelTask cancels a task of any caller, for an operator.
func (h *Host) CancelTask(ctx context.Context, id string, operator *mcp.Caller) error {
	g, err := h.admit(ctx, operator)
	if err != nil {
		return err
	}
	defer g.leave()
	for ctx.Err() == nil { // until the task did not change while it was handled
		t, err := h.build.State.tasks.FindAny(ctx, id)
		if err != nil || t == nil || t.IsFinal() {
			return err
		}
		done, err := h.build.State.tasks.Cancel(ctx, t, task.ByOperator)
		if done && err == nil {
			g.recordTaskCancelled(ctx, t, operator)
		}
		if done || err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// recordTaskCancelled records that a caller has cancelled a task.
func (g *Generation) recordTaskCancelled(ctx context.Context, t *task.Task, caller *mcp.Caller) {
	if g.audit == nil {
		return
	}
	r := g.env.AuditRecord(audit.EventRequest, caller, nil)
	r.Outcome, r.Kind, r.Name, r.Task, r.Message = audit.Cancelled, "tool", t.Tool, t.ID(), t.Message
	g.record(ctx, r)
}

// RecordSessionEnd records that an operator has ended the session of a client.
func (h *Host) RecordSessionEnd(ctx context.Context, session *mcp.SessionInfo, operator *mcp.Caller) {
	h.withAuditLog(func(g *Generation) {
		r := g.env.AuditRecord(audit.EventRequest, operator, nil)
		r.Outcome, r.Kind, r.Name = audit.Cancelled, "session", session.Name
		r.Message = "An operator has ended the session"
		if session.Owner != nil {
			r.Message += " of " + session.Owner.Subject
		}
		g.record(ctx, r)
	})
}

// answerTask gives answers of its client to a task. It reports false when the task was changed in
// the meantime.
func (g *Generation) answerTask(ctx context.Context, t *task.Task, req *mcp.TaskRequest) (bool, error) {
	answers, err := elicit.DecodeAnswers(req.Answers, req.Reserve)
	if err != nil {
		return true, err
	}
	sent, pending := t.MatchAnswers(answers)
	if len(sent) == 0 {
		return true, nil
	}
	p, ok := g.programs[t.Tool]
	if !ok || p.Decl.Digest != t.Digest {
		const text = "The tool was changed while the task waited for an answer. Call the tool again."
		t.Fail(&mcp.Error{Code: mcp.CodeInternalError, Message: text})
		return g.build.State.tasks.Save(ctx, t)
	}
	return p.AnswerTask(ctx, t, req, sent, pending)
}

// answerError returns why answers were not accepted, as the client reads it.
func (g *Generation) answerError(err error) error {
	var f *adapters.Fault
	switch {
	case errors.Is(err, state.ErrFull):
		return task.ErrFull
	case errors.As(err, &f):
		return &mcp.Error{Code: mcp.CodeInvalidParams, Message: g.env.Scrubber.Text(f.Message)}
	}
	return err
}

// Authenticator returns what authenticates callers now; nil without authentication.
func (h *Host) Authenticator() *auth.Authenticator { return h.current.Load().authenticator }

// Certificates returns the certificates of TLS; nil when the configuration has none.
func (h *Host) Certificates() *auth.Certificates { return h.current.Load().certificates }

// TLSConfig returns a configuration that takes the certificates from the configuration that is current when a
// connection begins; nil when the one that is current now has no tls block.
func (h *Host) TLSConfig() *tls.Config {
	if h.Certificates() == nil {
		return nil
	}
	return h.tls
}

var errNoTLS = errors.New("the configuration has no certificates any more")

// newTLSConfig returns the only configuration of all connections, which has the keys that resume their sessions.
func (h *Host) newTLSConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			if now := h.Certificates(); now != nil {
				return now.Config(), nil
			}
			return nil, errNoTLS // a reload has removed them since the connection began
		},
	}
}

// isAuthenticated reports whether the generation may serve a request as far as that depends on who
// makes it: a caller over HTTP has a credential that is valid in this configuration, and a caller
// on stdio has started the process.
func (g *Generation) isAuthenticated(c *mcp.Caller) bool {
	return c.Header == nil || g.authenticator.StillValid(c.Identity)
}

// stillKnown is isAuthenticated, also for the caller of a call that has become a task in the
// meantime.
func (g *Generation) stillKnown(c *mcp.Caller) bool {
	if i := c.Identity; c.Header == nil && i != nil && i.Grant != "" {
		return g.authenticator.StillValid(i)
	}
	return g.isAuthenticated(c)
}

// admit is pin for the request of a caller. A request that was admitted must leave.
func (h *Host) admit(ctx context.Context, c *mcp.Caller) (*Generation, error) {
	g := h.pin()
	switch {
	case g == nil:
		return nil, mcp.ErrClosing
	case !g.isAuthenticated(c):
		g.leave()
		return nil, h.refuseUnauthorized(ctx, c)
	}
	return g, nil
}

// refuseUnauthorized records that the credentials of a caller are no longer valid, and returns the
// error that says so.
func (h *Host) refuseUnauthorized(ctx context.Context, c *mcp.Caller) error {
	err := mcp.Unauthorized()
	h.RecordRefusal(ctx, Refusal{Status: http.StatusUnauthorized, Reason: err.Message, Caller: c})
	return err
}

// SubscribeResource subscribes the notifier to the document at a URI. A caller who may not read it may not
// subscribe. Every Follow that returned nil is undone by one Unfollow.
func (h *Host) SubscribeResource(ctx context.Context, caller *mcp.Caller, uri string) error {
	g, err := h.admit(ctx, caller)
	if err != nil {
		return err
	}
	r, variables := g.view(caller.Toolset).resource(uri)
	if r == nil {
		err = mcp.Unknown("resource", uri)
	} else {
		err = r.CheckSubscribe(ctx, caller, uri, variables)
	}
	g.leave()
	if err != nil {
		return err
	}
	return h.subscriptions.Subscribe(ctx, caller, uri)
}

// UnsubscribeResource undoes one Follow.
func (h *Host) UnsubscribeResource(toolset, uri string) { h.subscriptions.Unsubscribe(toolset, uri) }

// MayNotify reports whether a caller who is subscribed to a document may still be.
func (h *Host) MayNotify(caller *mcp.Caller, uri string) bool {
	g := h.pin()
	if g == nil {
		return false
	}
	defer g.leave()
	r, variables := g.view(caller.Toolset).resource(uri)
	return r != nil && g.isAuthenticated(caller) && r.MaySubscribe(h.subscriptions.Context(), caller, variables)
}

// resourcesChanged notifies of the subscribed documents that differ between two generations.
func (h *Host) resourcesChanged(last, next *Generation) {
	h.subscriptions.OnReload(func(uri string, toolsets map[string]int) (*call.Resource, bool) {
		before, _ := last.fullView.resource(uri)
		after, _ := next.fullView.resource(uri)
		differs := (before == nil) != (after == nil) || after != nil &&
			(before.Decl.Digest != after.Decl.Digest || before.Rules.Digest() != after.Rules.Digest())
		for toolset := range toolsets {
			before, _ := last.view(toolset).resource(uri)
			after, _ := next.view(toolset).resource(uri)
			differs = differs || (before == nil) != (after == nil)
		}
		return after, differs
	})
}

// subscribedServer implements subscribe.Server.
type subscribedServer struct{ *Host }

// Resource implements subscribe.Server.
func (s subscribedServer) Resource(uri string) (*call.Resource, map[string]string, func(), error) {
	g := s.pin()
	if g == nil {
		return nil, nil, nil, mcp.ErrClosing
	}
	r, variables := g.fullView.resource(uri)
	return r, variables, g.leave, nil
}

// NotifyUpdated implements subscribe.Server.
func (s subscribedServer) NotifyUpdated(uri string) {
	s.notify(func(n Notifier) { n.ResourceUpdated(uri) })
}

// LogReadFailure implements subscribe.Server.
func (s subscribedServer) LogReadFailure(uri string, err error) {
	scrubber := s.Current().env.Scrubber
	s.build.Log.Warn("subscribed resource not readable",
		"uri", scrubber.Text(uri), "error", scrubber.Text(err.Error()))
}
