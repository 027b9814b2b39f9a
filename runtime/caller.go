package runtime

import (
	"hatchel/hcl/value"
	"hatchel/runtime/mcp"
)

// anonymous is the caller of whom nothing is known. It is never changed.
var anonymous = map[string]any{"subject": nil, "groups": []any{}, "claims": map[string]any{}, "client": map[string]any{}}

// callerOf is what the root `caller` reads of who asks. What a client says of itself is decoded when something looks.
func callerOf(c *mcp.Caller) map[string]any {
	if c == nil || len(c.ClientInfo) == 0 {
		return anonymous
	}
	return map[string]any{"subject": nil, "groups": anonymous["groups"], "claims": anonymous["claims"], "client": clientInfo(c.ClientInfo)}
}

// clientInfo is encoded JSON that the protocol has checked for syntax.
type clientInfo []byte

func (c clientInfo) AppendJSON(dst []byte) []byte { return append(dst, c...) }
func (c clientInfo) Value() (any, error)          { return value.Decode(c) }
