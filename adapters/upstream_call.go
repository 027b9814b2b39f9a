package adapters

import (
	"slices"
	"sync"
)

// MaxHops is how many servers of this kind a call may pass on its way to a tool. One that comes from more is not sent
// on, because servers that name each other would call each other without end.
const MaxHops = 4

// HopsMember is the member of the _meta of a request that says how many servers of this kind it has passed.
const HopsMember = "hatchel/hops"

// UpstreamCall is a tool of another MCP server that a call has called, as the audit log has it.
type UpstreamCall struct {
	Connection string `json:"connection"`
	Tool       string `json:"tool"`       // by its name at the server
	Protocol   string `json:"protocol"`   // the revision of the session
	Definition string `json:"definition"` // the digest of the pinned definition
	Calls      int    `json:"calls"`      // how often it was called
}

// UpstreamCalls records the tools of other MCP servers that a call has called, with those of the tools that it calls.
// The zero value is that of a call that has called none. It is safe for concurrent use, and nil records nothing.
type UpstreamCalls struct {
	mu    sync.Mutex
	calls []UpstreamCall // in the order of the first of each; guarded by mu
}

// Add records a call. Its number of calls is added.
func (u *UpstreamCalls) Add(c UpstreamCall) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := range u.calls {
		same := u.calls[i]
		if same.Calls = c.Calls; same == c {
			u.calls[i].Calls += c.Calls
			return
		}
	}
	u.calls = append(u.calls, c)
}

// List returns what was recorded; nil for nothing.
func (u *UpstreamCalls) List() []UpstreamCall {
	if u == nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.calls)
}
