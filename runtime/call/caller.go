package call

import (
	"context"

	"hatchel/hcl/value"
	"hatchel/runtime/elicit"
	"hatchel/runtime/mcp"
)

// anonymous is an unknown caller. It is never changed.
var anonymous = map[string]any{
	"subject": nil, "groups": []any{}, "claims": map[string]any{}, "scopes": []any{}, "headers": map[string]any{},
	"client": map[string]any{}, "capabilities": []any{},
}

// CallerRoot returns what expressions read as `caller`. The claims of a token, and what the client
// says of itself, are decoded when an expression reads them.
func CallerRoot(c *mcp.Caller) map[string]any {
	if c == nil || len(c.ClientInfo) == 0 && len(c.Capabilities) <= len("{}") && c.Subject == "" && c.Identity == nil {
		return anonymous
	}
	m := map[string]any{
		"subject": nil, "groups": anonymous["groups"], "claims": anonymous["claims"],
		"scopes": anonymous["scopes"], "headers": anonymous["headers"],
		"client": (*clientInfo)(c), "capabilities": (*elicit.Capabilities)(c),
	}
	if c.Subject != "" {
		m["subject"] = c.Subject
	}
	if c.Identity != nil {
		addIdentity(m, c.Identity)
	}
	return m
}

func addIdentity(m map[string]any, i *mcp.Identity) {
	m["groups"], m["scopes"] = toAnyList(i.Groups), toAnyList(i.Scopes)
	if len(i.Claims) > 0 {
		m["claims"] = claims(i.Claims)
	}
	headers := make(map[string]any, len(i.Headers))
	for name, text := range i.Headers {
		headers[name] = text
	}
	m["headers"] = headers
}

func toAnyList(list []string) []any {
	out := make([]any, len(list))
	for i, text := range list {
		out[i] = text
	}
	return out
}

// claims are those of a token. Their syntax was checked with the signature.
type claims []byte

// AppendJSON implements value.Deferred.
func (c claims) AppendJSON(dst []byte) []byte { return append(dst, c...) }

// Value implements value.Deferred.
func (c claims) Value() (any, error) { return value.Decode(c) }

// clientInfo is what a client says of itself. The protocol has checked its syntax.
type clientInfo mcp.Caller

// AppendJSON implements value.Deferred.
func (c *clientInfo) AppendJSON(dst []byte) []byte {
	if len(c.ClientInfo) == 0 {
		return append(dst, "{}"...)
	}
	return append(dst, c.ClientInfo...)
}

// Value implements value.Deferred.
func (c *clientInfo) Value() (any, error) {
	if len(c.ClientInfo) == 0 {
		return map[string]any{}, nil
	}
	return value.Decode(c.ClientInfo)
}

// requestClient is the client that has made a request, as backends know it.
type requestClient struct{ *mcp.CallRequest }

// Log implements adapters.Client.
func (c requestClient) Log(level, logger string, data []byte) {
	c.CallRequest.Log(levels[level], logger, data)
}

var levels = map[string]mcp.Level{
	"debug": mcp.LevelDebug, "info": mcp.LevelInfo, "notice": mcp.LevelNotice, "warning": mcp.LevelWarning,
	"error": mcp.LevelError, "critical": mcp.LevelCritical, "alert": mcp.LevelAlert, "emergency": mcp.LevelEmergency,
}

// checkClient rejects a caller without the required scopes and a client without the required
// capabilities. It lets the call ask any other client: while the call waits where the client can be
// asked then, otherwise by pausing.
func (c *call) checkClient(req *mcp.CallRequest) (err error) {
	o := c.operation
	if err := o.CheckScopes(req.Caller); err != nil {
		return err
	}
	for _, name := range o.RequiredCapabilities {
		if !elicit.HasCapability(req.Caller, name) {
			return elicit.CapabilityError(req.Caller, name)
		}
	}
	if !o.AsksClient {
		if req.State != "" {
			return mcp.InvalidState()
		}
		return nil
	}
	c.elicitation, err = elicit.New(c, c.action.Client, o.Writer, req)
	c.action.Client = c.elicitation
	return err
}

// BeginAsking implements elicit.Call.
func (c *call) BeginAsking(questions []mcp.Question) (ctx context.Context, end func()) {
	c.audit.addQuestions(questions)
	c.pin()
	resume := c.pauseTimeout()
	ctx, cancel := context.WithCancelCause(c.frame.Context)
	unhook := context.AfterFunc(c.timing.stopCtx, func() { cancel(context.Cause(c.timing.stopCtx)) })
	return ctx, func() {
		unhook()
		cancel(nil)
		resume()
	}
}
