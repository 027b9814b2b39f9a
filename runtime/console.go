package runtime

import (
	"net"
	"net/http"

	"hatchel/hcl"
	"hatchel/runtime/edge/endpoint"
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
	if c.g.Console = decl; c.isForAuthor() {
		decl.Try = hcl.TryCall
	}
	if decl == nil || decl.Listen == "" {
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

// isForAuthor reports whether there is a console that no block declares, without authentication: whoever signs in works
// on this machine, where they may call every tool.
func (c *compiler) isForAuthor() bool {
	return c.g.Console != nil && c.g.Config.Console == nil && c.g.Config.Auth == nil
}

// serve serves the console at a listener from now on; a nil Console serves nothing.
func (c *Console) serve(pages *endpoint.Listener, o endpoint.Options) {
	if c != nil {
		c.Serve(pages, o)
	}
}

// SetConsoleHandler sets what serves the requests to the listener of the console.
func (h *Host) SetConsoleHandler(handler http.Handler) {
	if h.build.Console != nil {
		h.build.Console.SetHandler(handler)
	}
}

// ConsoleAddr returns the address of the listener that the console has of its own; nil for none.
func (h *Host) ConsoleAddr() net.Addr {
	if pages := h.Current().pages; pages != nil {
		return pages.Addr()
	}
	return nil
}
