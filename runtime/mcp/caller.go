package mcp

import (
	"bytes"
	"net/http"

	"hatchel/hcl/jsonscan"
)

// Caller is who is asking. It is read-only.
type Caller struct {
	Revision     Revision    // the revision of this request or of its session
	Toolset      string      // the part of the server that was addressed; empty for all of it
	Identity     *Identity   // who it is; nil when nobody has asked
	Subject      string      // that of Identity; empty when nobody has asked
	Session      string      // the id of a session over HTTP, otherwise empty
	ClientInfo   []byte      // what the client says it is, as encoded JSON, or nil
	Capabilities []byte      // what the client says it can do, as encoded JSON, or nil
	Remote       string      // the address of the peer, empty on a pair of streams
	Header       http.Header // of the HTTP request, nil on a pair of streams

	logLevel Level
}

// Owner is what sessions, tasks and states are bound to: [Identity.Owner], or the Subject where nothing else is known.
func (c *Caller) Owner() string {
	if c.Identity == nil {
		return c.Subject
	}
	return c.Identity.Owner()
}

// kept is the caller without memory that is reused, and without the request that it came with.
func (c *Caller) kept() *Caller {
	return &Caller{
		Revision: c.Revision, Toolset: c.Toolset, Identity: c.Identity.Kept(), Subject: c.Subject,
		ClientInfo: bytes.Clone(c.ClientInfo), Capabilities: bytes.Clone(c.Capabilities),
	}
}

// Same reports whether the two read alike for a call, but for what comes with each request.
func (c *Caller) Same(d *Caller) bool {
	return c.Revision == d.Revision && c.Toolset == d.Toolset && c.Subject == d.Subject && c.Identity.same(d.Identity) &&
		bytes.Equal(c.ClientInfo, d.ClientInfo) && bytes.Equal(c.Capabilities, d.Capabilities)
}

// known sets who it is.
func (c *Caller) known(i *Identity) {
	if c.Identity = i; i != nil {
		c.Subject = i.Subject
	}
}

// Can reports whether the client says that it can do something: the names are those of nested members of its capabilities, as in
// Can("elicitation", "url").
func (c *Caller) Can(capability ...string) bool {
	if c.Capabilities == nil {
		return false
	}
	v, ok := jsonscan.Lookup(c.Capabilities, capability...)
	return ok && string(v) != "null" && string(v) != "false"
}
