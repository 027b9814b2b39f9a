package runtime

import (
	"hatchel/hcl/value"
	"hatchel/runtime/mcp"
)

// anonymous is the caller of whom nothing is known. It is never changed.
var anonymous = map[string]any{"subject": nil, "groups": []any{}, "claims": map[string]any{}, "client": map[string]any{}, "capabilities": []any{}}

// callerOf is what the root `caller` reads of who asks. What a client says of itself is decoded when something looks.
func callerOf(c *mcp.Caller) map[string]any {
	if c == nil || len(c.ClientInfo) == 0 && len(c.Capabilities) <= len("{}") && c.Subject == "" {
		return anonymous
	}
	m := map[string]any{"subject": nil, "groups": anonymous["groups"], "claims": anonymous["claims"], "client": (*clientInfo)(c), "capabilities": (*capabilities)(c)}
	if c.Subject != "" {
		m["subject"] = c.Subject
	}
	return m
}

// clientInfo is what a client says of itself, which the protocol has checked for syntax.
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
