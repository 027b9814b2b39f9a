package runtime

import (
	"context"
	"net"
	"net/http"

	"hatchel/hcl"
	"hatchel/runtime/endpoint"
	"hatchel/runtime/limit"
	"hatchel/runtime/mcp"
	"hatchel/runtime/metrics"
	"hatchel/runtime/probe"
	"hatchel/runtime/served"
	"hatchel/runtime/store"
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
	if c.g.Console = decl; decl == nil || decl.Listen == "" {
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
func (h *Host) Console() *hcl.Console { return h.Current().Console }

// ConsoleAddr returns the address of the listener that the console has of its own; nil for none.
func (h *Host) ConsoleAddr() net.Addr {
	if pages := h.Current().pages; pages != nil {
		return pages.Addr()
	}
	return nil
}

// Names returns the names under which the server is served.
func (h *Host) Names() mcp.Names { return served.NamesOf(h.Current().Config) }

// ServerState is what the console shows of the systems that the server depends on, and of what is in its memory.
type ServerState struct {
	*metrics.Sample
	Health   []probe.ConnectionHealth // of Sample.Connections, in their order
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
	s.Health, s.Webhooks = g.Probes.Health(ctx), h.build.State.WebhookHealth(ctx, g.Config)
	reading, cancel := context.WithTimeout(ctx, store.PingTimeout)
	defer cancel()
	s.Limits, s.InUse = h.build.caches.limiter.Usage(reading, g.Config)
	switch decl := g.Config.State; {
	case decl != nil && decl.Postgres != "":
		s.Engine = "PostgreSQL"
	case h.build.State.Current() != nil:
		s.Engine = "SQLite"
	}
	for i := range s.Webhooks {
		s.Webhooks[i].Error = g.Env.Scrubber.Text(s.Webhooks[i].Error)
	}
	return s
}
