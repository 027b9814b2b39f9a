package call

import (
	"sync"

	"hatchel/hcl/eval"
	"hatchel/hcl/value"
	"hatchel/internal/digest"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/elicit"
)

// anonymous is an unknown caller. It is never changed.
var anonymous = map[string]any{
	"subject": nil, "groups": []any{}, "claims": map[string]any{}, "scopes": []any{}, "headers": map[string]any{},
	"client": map[string]any{}, "capabilities": []any{},
}

// callerRoot is what expressions read as `caller`. Most calls read nothing of it.
type callerRoot struct {
	caller  *mcp.Caller
	once    sync.Once
	members map[string]any // set by once
}

// CallerRoot returns what expressions read as `caller`.
func CallerRoot(c *mcp.Caller) eval.Caller { return &callerRoot{caller: c} }

// CallerDigest returns a text that is the same for callers of whom expressions read the same, whichever tokens they
// have.
func CallerDigest(c *mcp.Caller) string {
	read, err := elicit.AppendFrozen(nil, stableClaims(callerMembers(c)))
	if err != nil { // of no caller whose token was accepted
		return digest.Of("caller", c.Owner(), err.Error()).String()
	}
	return digest.Of("caller", c.Owner(), string(read)).String()
}

// Members implements eval.Caller.
func (r *callerRoot) Members() map[string]any {
	r.once.Do(func() { r.members = callerMembers(r.caller) })
	return r.members
}

// callerMembers returns the members of `caller`. The claims of a token, and what the client says of itself, are decoded
// when an expression reads them.
func callerMembers(c *mcp.Caller) map[string]any {
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

// AppendJSON implements value.LazyJSON.
func (c claims) AppendJSON(dst []byte) []byte { return append(dst, c...) }

// Value implements value.LazyJSON.
func (c claims) Value() (any, error) { return value.Decode(c) }

// clientInfo is what a client says of itself. The protocol has checked its syntax.
type clientInfo mcp.Caller

// AppendJSON implements value.LazyJSON.
func (c *clientInfo) AppendJSON(dst []byte) []byte {
	if len(c.ClientInfo) == 0 {
		return append(dst, "{}"...)
	}
	return append(dst, c.ClientInfo...)
}

// Value implements value.LazyJSON.
func (c *clientInfo) Value() (any, error) {
	if len(c.ClientInfo) == 0 {
		return map[string]any{}, nil
	}
	return value.Decode(c.ClientInfo)
}
