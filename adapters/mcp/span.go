package mcp

import (
	"net/url"
	"strconv"

	"hatchel/adapters"
	"hatchel/adapters/mcp/client"
	"hatchel/internal/hostname"
)

// startSpan begins the span of one attempt. The server gets the trace context of the span in place of that of the call.
func (a *action) startSpan(r *request, session *client.Session) adapters.Span {
	if !r.call.Span.IsRecorded() {
		return adapters.Span{}
	}
	span := r.call.Span.Start("tools/call "+a.Call, adapters.SpanClient)
	span.SetText("mcp.method.name", "tools/call")
	span.SetText("gen_ai.tool.name", a.Call)
	span.SetText("mcp.protocol.version", session.Protocol())
	span.SetText("hatchel.connection", a.server.name)
	span.SetText("hatchel.definition", a.digest)
	if u, err := url.Parse(a.server.URL); err == nil {
		span.SetText("server.address", u.Hostname())
		if port, _ := strconv.Atoi(hostname.Port(u)); port != 0 {
			span.SetInt("server.port", port)
		}
	}
	return span
}
