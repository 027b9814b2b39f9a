package operator

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"hatchel/hcl"
	"hatchel/runtime/call"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/served"
	"hatchel/runtime/observe/event"
)

// ErrNoEvents is returned where the configuration lets nobody follow events.
var ErrNoEvents = errors.New("the configuration of this server has no events block")

// HasEvents reports whether the configuration lets anybody follow events.
func (o *Operator) HasEvents() bool { return o.server.Configuration().Config.Events != nil }

// Listen returns a listener for a caller. Operator says whether the caller operates the server; they see everything
// where no rule says who does. The error is ErrNoEvents, a ForbiddenError, one of [event.Ring.Listen], or one of the
// protocol.
func (o *Operator) Listen(
	ctx context.Context, c *mcp.Caller, operator bool, q event.Query,
) (*event.Listener, error) {
	v := &eventViewer{server: o.server, caller: c.Snapshot(nil), operator: operator, own: q.Own, ctx: ctx}
	return o.listen(v, c, q)
}

// ListenInConsole is Listen for the console, which needs no events block.
func (o *Operator) ListenInConsole(
	ctx context.Context, c *mcp.Caller, operator bool, q event.Query,
) (*event.Listener, error) {
	v := &eventViewer{server: o.server, caller: c.Snapshot(nil), operator: operator, own: q.Own, ctx: ctx}
	v.inConsole = true
	return o.listen(v, c, q)
}

func (o *Operator) listen(v *eventViewer, c *mcp.Caller, q event.Query) (*event.Listener, error) {
	g, release, err := o.server.Admit(v.ctx, c)
	if err != nil {
		return nil, err
	}
	v.header = c.Header != nil
	err = v.checkIn(g)
	release()
	if err != nil {
		return nil, err
	}
	return o.events.Listen(q, v)
}

// eventViewer implements event.Viewer for a caller.
type eventViewer struct {
	server   Server
	caller   *mcp.Caller
	header   bool // the caller is one over HTTP
	operator bool
	own      bool // sees what the caller has called, and nothing else
	// inConsole says that the caller looks at the console, which shows calls also without an events block.
	inConsole bool
	ctx       context.Context
}

// Owner implements event.Viewer.
func (v *eventViewer) Owner() string { return v.caller.Owner() }

// Sees implements event.Viewer.
func (v *eventViewer) Sees(operation, name string) bool {
	if v.own {
		return false
	}
	g, release := v.server.Pin()
	if g == nil {
		return false
	}
	defer release()
	return v.seesIn(g, operation, name)
}

// Check implements event.Viewer.
func (v *eventViewer) Check() error {
	g, release := v.server.Pin()
	if g == nil {
		return mcp.ErrClosing
	}
	defer release()
	return v.checkIn(g)
}

// checkIn returns why the caller may not follow the events of a generation; nil if they may.
func (v *eventViewer) checkIn(g *served.Served) error {
	switch {
	case g.Config.Events == nil && (!v.inConsole || g.Console == nil):
		return ErrNoEvents
	case v.header && !g.Authenticator.StillValid(v.caller.Identity):
		return mcp.Unauthorized()
	case v.own && v.Owner() == "":
		return newForbiddenError("Without a credential, the calls of this caller cannot be told from those of others")
	case v.own || v.seesAny(g):
		return nil
	case v.Owner() == "":
		return newForbiddenError("This caller may not follow the events of this server")
	}
	return newForbiddenError("This caller may follow the events of their own calls only. Add own=true")
}

// seesAny reports whether the caller sees anything that others do.
func (v *eventViewer) seesAny(g *served.Served) bool {
	sees := func(o *call.Operation) bool { return v.seesIn(g, o.Kind, o.Decl.Name) }
	return v.seesIn(g, "", "") || slices.ContainsFunc(g.Operations, sees)
}

// seesIn reports whether the caller may follow the events about an operation in a generation. Those about one that
// does not exist any more are for those who may follow the events of the server itself.
func (v *eventViewer) seesIn(g *served.Served, operation, name string) bool {
	decl := g.Config.Events
	if decl == nil || decl.Allow == nil {
		return v.operator
	}
	frame := hcl.NewFrame(v.ctx, g.Env.Dir, g.Env.Now)
	frame.Caller, frame.Tool = call.CallerRoot(v.caller), g.ToolRoot(operation, name)
	may, err := decl.Allow.Eval(frame, nil)
	if err != nil {
		const text = "events.allow failed, caller does not see these events"
		g.Env.LogFailure(v.ctx, slog.LevelError, text, err, "subject", v.caller.Subject, "tool", name)
	}
	return may && err == nil
}

// HoldEvents makes the server record events until release is called, whether or not anybody listens.
func (o *Operator) HoldEvents() (release func()) { return o.events.Hold() }
