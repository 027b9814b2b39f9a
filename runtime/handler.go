package runtime

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/runtime/call"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/edge/auth"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/operator"
	"hatchel/runtime/stage/elicit"
	"hatchel/runtime/stage/failure"
	"hatchel/runtime/stage/task"
)

// A Host is a mcp.Handler. It serves each request from the generation that is current when the
// request begins.

// Info returns how the server introduces itself in a toolset; nil for an unknown toolset.
func (h *Host) Info(toolset string) *mcp.Info { return h.current.Load().Views.Of(toolset).Info }

// List returns a list without what the caller may not call. In a toolset that was removed it is
// empty.
func (h *Host) List(ctx context.Context, caller *mcp.Caller, of mcp.Listing) *mcp.List {
	g := h.current.Load()
	if !g.IsAuthenticated(caller) {
		return g.Views.Empty.List(of)
	}
	return g.Views.Of(caller.Toolset).ListFor(ctx, caller, of)
}

// CallTool serves one tools/call.
func (h *Host) CallTool(ctx context.Context, req *mcp.CallRequest) (mcp.Outcome, error) {
	g, err := h.admit(ctx, req.Caller)
	if err != nil {
		return mcp.Outcome{}, err
	}
	defer g.leave()
	view := g.Views.Of(req.Caller.Toolset)
	p := view.Program(req)
	if p == nil {
		return mcp.Outcome{}, g.RecordUnknown(ctx, "tool", req)
	}
	if p.MayWait() {
		req.KeepAlive()
	}
	out, err := p.Run(ctx, req)
	return view.Answer(req, out, err)
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

// ReadResource serves one resources/read.
func (h *Host) ReadResource(ctx context.Context, req *mcp.CallRequest) (mcp.Document, error) {
	g, err := h.admit(ctx, req.Caller)
	if err != nil {
		return mcp.Document{}, err
	}
	defer g.leave()
	return g.Read(ctx, req)
}

// Skill serves one skills/get.
func (h *Host) Skill(ctx context.Context, caller *mcp.Caller, uri string) (mcp.Skill, error) {
	g, err := h.admit(ctx, caller)
	if err != nil {
		return mcp.Skill{}, err
	}
	defer g.leave()
	return g.Views.Of(caller.Toolset).Skill(ctx, caller, uri)
}

// Directory serves one resources/directory/read.
func (h *Host) Directory(ctx context.Context, caller *mcp.Caller, uri string) (*mcp.List, error) {
	g, err := h.admit(ctx, caller)
	if err != nil {
		return nil, err
	}
	defer g.leave()
	return g.Views.Of(caller.Toolset).Directory(ctx, caller, uri)
}

// Complete serves one completion/complete.
func (h *Host) Complete(ctx context.Context, req *mcp.CompleteRequest) (mcp.Completion, error) {
	g, err := h.admit(ctx, req.Caller)
	if err != nil {
		return mcp.Completion{}, err
	}
	defer g.leave()
	o, err := g.Views.Of(req.Caller.Toolset).Completable(req)
	if err != nil {
		return mcp.Completion{}, err
	}
	return o.Complete(ctx, req, func(decl *hcl.Completion) *call.Completion { return g.Completions[decl] })
}

// Task serves one tasks/get, tasks/update or tasks/cancel.
func (h *Host) Task(ctx context.Context, req *mcp.TaskRequest) (mcp.Appender, error) {
	g, err := h.admit(ctx, req.Caller)
	if err != nil {
		return nil, err
	}
	defer g.leave()
	tasks := h.build.State.Tasks
	for ctx.Err() == nil { // until the task did not change while it was handled
		t, err := tasks.Find(ctx, req.ID, req.Caller)
		if err != nil {
			return nil, failure.Unavailable(err)
		}
		done := true
		switch req.Method {
		case "tasks/get":
			return mcp.Raw(g.shownTask(ctx, t, req.Caller).AppendMembers(nil, true)), nil
		case "tasks/update":
			t.RefreshToken(req.Caller)
			done, err = g.answerTask(ctx, t, req)
			err = g.answerError(err)
		case "tasks/cancel":
			wasFinal := t.IsFinal()
			if done, err = h.build.State.CancelTask(ctx, t, task.ByClient); done && err == nil && !wasFinal {
				operator.RecordTaskCancelled(ctx, g.Served, t, req.Caller)
			}
		}
		if done || err != nil {
			return nil, failure.Unavailable(err)
		}
	}
	return nil, context.Cause(ctx)
}

// shownTask returns a task as its caller may see it now. Masks of a tool that is served no more cannot be asked.
func (g *Generation) shownTask(ctx context.Context, t *task.Task, caller *mcp.Caller) *task.Task {
	if len(t.Lifted) == 0 {
		return t
	}
	if p, ok := g.Programs[t.Tool]; ok {
		return p.ShownTask(ctx, t, caller)
	}
	shown := *t
	shown.Fail(&mcp.Error{Code: mcp.CodeInternalError, Message: "The call was carried out. Its result is not shown, " +
		"because the tool is not served any more, and masks apply to it."})
	return &shown
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
	p, ok := g.Programs[t.Tool]
	if !ok || p.Decl.Digest != t.Digest {
		const text = "The tool was changed while the task waited for an answer. Call the tool again."
		t.Fail(&mcp.Error{Code: mcp.CodeInternalError, Message: text})
		return g.build.State.Tasks.Save(ctx, t)
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
		return &mcp.Error{Code: mcp.CodeInvalidParams, Message: g.Env.Scrubber.Text(f.Message)}
	}
	return err
}

// Authenticator returns what authenticates callers now; nil without authentication.
func (h *Host) Authenticator() *auth.Authenticator { return h.current.Load().Authenticator }

// Certificates returns the certificates of TLS; nil when the configuration has none.
func (h *Host) Certificates() *auth.Certificates { return h.current.Load().Certificates }

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
func newTLSConfig(certificates func() *auth.Certificates) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			if now := certificates(); now != nil {
				return now.Config(), nil
			}
			return nil, errNoTLS // a reload has removed them since the connection began
		},
	}
}

// admit is pin for the request of a caller. A request that was admitted must leave.
func (h *Host) admit(ctx context.Context, c *mcp.Caller) (*Generation, error) {
	g := h.pin()
	switch {
	case g == nil:
		return nil, mcp.ErrClosing
	case !g.IsAuthenticated(c):
		g.leave()
		err := mcp.Unauthorized()
		h.operator.RecordRefusal(ctx, operator.Refusal{Status: http.StatusUnauthorized, Reason: err.Message, Caller: c})
		return nil, err
	}
	return g, nil
}

// SubscribeResource subscribes the notifier to the document at a URI. A caller who may not read it may not
// subscribe. Every Follow that returned nil is undone by one Unfollow.
func (h *Host) SubscribeResource(ctx context.Context, caller *mcp.Caller, uri string) error {
	g, err := h.admit(ctx, caller)
	if err != nil {
		return err
	}
	r, variables := g.Views.Of(caller.Toolset).Resource(uri)
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
func (h *Host) UnsubscribeResource(caller *mcp.Caller, uri string) {
	h.subscriptions.Unsubscribe(caller, uri)
}

// MayNotify reports whether a caller who is subscribed to a document may still be.
func (h *Host) MayNotify(caller *mcp.Caller, uri string) bool {
	g := h.pin()
	if g == nil {
		return false
	}
	defer g.leave()
	r, variables := g.Views.Of(caller.Toolset).Resource(uri)
	return r != nil && g.IsAuthenticated(caller) && r.MaySubscribe(h.subscriptions.Context(), caller, variables)
}

// subscribedServer implements subscribe.Server.
type subscribedServer struct{ *Host }

// Resource implements subscribe.Server.
func (s subscribedServer) Resource(uri string) (*call.Resource, map[string]string, func(), error) {
	g := s.pin()
	if g == nil {
		return nil, nil, nil, mcp.ErrClosing
	}
	r, variables := g.Views.Full.Resource(uri)
	return r, variables, g.leave, nil
}

// NotifyUpdated implements subscribe.Server.
func (s subscribedServer) NotifyUpdated(uri string, of func(*mcp.Caller) bool) {
	s.clients.notify(func(n Notifier) { n.ResourceUpdated(uri, of) })
}

// LogReadFailure implements subscribe.Server.
func (s subscribedServer) LogReadFailure(uri string, err error) {
	scrubber := s.Current().Env.Scrubber
	s.build.Log.Warn("subscribed resource not readable",
		"uri", scrubber.Text(uri), "error", scrubber.Text(err.Error()))
}
