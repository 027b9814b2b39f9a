package runtime

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"time"

	"hatchel/hcl"
	"hatchel/runtime/digest"
	"hatchel/runtime/endpoint"
	"hatchel/runtime/limit"
	"hatchel/runtime/mcp"
	"hatchel/runtime/metrics"
	"hatchel/runtime/state"
	"hatchel/runtime/webhook"
)

// Console is where a process serves the console if a configuration wants that.
type Console struct {
	endpoint.Endpoint      // the listener, if the console has one of its own
	Always            bool // serve a console also without a block
}

// openConsole decides whether there is a console, and opens its listener if one is declared.
func (c *compiler) openConsole() {
	decl, console := c.g.Config.Console, c.build.Console
	if console == nil {
		return
	}
	if decl == nil && console.Always {
		decl = hcl.NewConsole()
	}
	if c.g.console = decl; decl == nil || decl.Listen == "" {
		return
	}
	listener, err := console.Open(c.ctx, decl.Listen)
	if err != nil {
		c.report("Console not available", "The console cannot be served at "+decl.Listen+": "+err.Error()+".",
			decl.Range)
		return
	}
	c.g.pages = listener
	c.g.cleanups.add(func() error { return console.Discard(listener) })
}

// serveConsole serves the console where a generation wants it from now on.
func (h *Host) serveConsole(next *Generation) {
	if console := h.build.Console; console != nil {
		console.Serve(next.pages, endpoint.Options{Name: "console", TLS: h.TLSConfig, Log: h.build.Log})
	}
}

// SetConsoleHandler sets what serves the requests to the listener of the console.
func (h *Host) SetConsoleHandler(handler http.Handler) {
	if h.build.Console != nil {
		h.build.Console.SetHandler(handler)
	}
}

// Console returns the block of the console; nil for no console.
func (h *Host) Console() *hcl.Console { return h.Current().console }

// ConsoleAddr returns the address of the listener that the console has of its own; nil for none.
func (h *Host) ConsoleAddr() net.Addr {
	if pages := h.Current().pages; pages != nil {
		return pages.Addr()
	}
	return nil
}

// Names returns the names under which the server is served.
func (h *Host) Names() mcp.Names { return namesOf(h.Current().Config) }

func namesOf(c *hcl.Config) mcp.Names {
	names := mcp.Names{Hosts: c.Server.Hosts}
	if c.Server.CORS != nil {
		names.Origins = c.Server.CORS.Origins
	}
	return names
}

// Title returns the title of the server, or its name.
func (h *Host) Title() string {
	server := h.Current().Config.Server
	return cmp.Or(server.Title, server.Name)
}

// AllowsConsole reports whether the rule allow of the console, which must have one, allows a caller.
func (h *Host) AllowsConsole(ctx context.Context, c *mcp.Caller) bool {
	g := h.pin()
	if g == nil {
		return false
	}
	defer g.leave()
	return g.console != nil && g.console.Allow != nil && g.isAuthenticated(c) &&
		g.allows(ctx, g.console.Allow, c, "console.allow failed, caller may not look")
}

// Admit returns the current generation for a request of a caller, and what releases it. The error is one of the
// protocol.
func (h *Host) Admit(ctx context.Context, c *mcp.Caller) (*Generation, func(), error) {
	g, err := h.admit(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	return g, g.leave, nil
}

// ConsoleKey returns the key of the cookies of the console, which all processes with the state share. It is nil if no
// state is named and none can be created; then cookies end with the process.
func (h *Host) ConsoleKey(ctx context.Context) ([]byte, error) {
	opened, err := h.build.State.open(ctx)
	switch {
	case err == nil:
		return opened.key(ctx, "console")
	case h.build.State.mayBeMissing():
		return nil, nil
	}
	return nil, err
}

// kindSignedOut are the records of sessions of the console that people have ended.
const kindSignedOut = "console_signed_out"

// EndConsoleSession stores that a session has ended before its cookie expires.
func (h *Host) EndConsoleSession(ctx context.Context, id string, expires time.Time) error {
	opened, err := h.build.State.open(ctx)
	if err == nil {
		_, err = opened.Add(ctx, &state.Record{
			Kind: kindSignedOut, Name: id, Expires: expires.Add(state.MaxClockSkew), Priority: state.FollowUp,
			NoNotify: true,
		})
	}
	return err
}

// ConsoleSessionEnded reports whether EndConsoleSession was called for a session, in any process with the state. It
// reports false while the state is unavailable, because the console shows people why.
func (h *Host) ConsoleSessionEnded(ctx context.Context, id string) bool {
	opened := h.build.State.current()
	if opened == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, signedOutTimeout)
	defer cancel()
	r, err := opened.Record(ctx, kindSignedOut, id)
	return err == nil && r != nil
}

const signedOutTimeout = 500 * time.Millisecond

// consoleTicket is the use for which the tickets of the console are sealed.
var consoleTicket = digest.Of("console ticket")

// SealTicket returns a text that OpenTicket opens once, in any process with the state, until a moment.
func (h *Host) SealTicket(ctx context.Context, body []byte, until time.Time) (string, error) {
	opened, err := h.build.State.open(ctx)
	if err != nil {
		return "", err
	}
	return opened.sealer.Seal(ctx, body, consoleTicket, until)
}

// OpenTicket returns what was sealed in a ticket. The error of a ticket that is not valid is mcp.InvalidState.
func (h *Host) OpenTicket(ctx context.Context, ticket string) ([]byte, error) {
	opened, err := h.build.State.open(ctx)
	if err != nil {
		return nil, err
	}
	return opened.sealer.Open(ctx, ticket, consoleTicket)
}

// ToolEntry returns a tool as clients of both eras see it in a list.
func (g *Generation) ToolEntry(name string) (mcp.Entry, bool) {
	p, ok := g.programs[name]
	if !ok {
		return mcp.Entry{}, false
	}
	return toolEntry(p), true
}

// ServerState is what the console shows of the systems that the server depends on, and of what is in its memory.
type ServerState struct {
	*metrics.Sample
	Health   []ConnectionHealth // of Sample.Connections, in their order
	Webhooks []webhook.Health
	Engine   string // of the state store
	Limits   []limit.Usage
	InUse    int // limits, of which Limits has the most used ones
	Cached   int // results
	Bytes    int // of them
}

// ServerState asks the connections, as readiness does.
func (h *Host) ServerState(ctx context.Context) *ServerState {
	s := &ServerState{Sample: h.sampleMetrics(), Engine: "in memory"}
	s.Cached, s.Bytes = h.build.caches.results.Size()
	g := h.pin()
	if g == nil {
		return s
	}
	defer g.leave()
	s.Health, s.Webhooks = g.Health(ctx), h.build.State.webhookHealth(ctx, g.Config)
	reading, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	s.Limits, s.InUse = h.build.caches.limiter.Usage(reading, g.Config)
	switch decl := g.Config.State; {
	case decl != nil && decl.Postgres != "":
		s.Engine = "PostgreSQL"
	case h.build.State.current() != nil:
		s.Engine = "SQLite"
	}
	for i := range s.Webhooks {
		s.Webhooks[i].Error = g.env.Scrubber.Text(s.Webhooks[i].Error)
	}
	return s
}
