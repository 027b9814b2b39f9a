package mcp

import (
	"bytes"
	"net/http"

	"hatchel/hcl/jsonscan"
)

// Caller describes the client of a request. It is read-only.
type Caller struct {
	Revision     Revision    // of the request or of its session
	Toolset      string      // that the request addresses; "" for the whole server
	Identity     *Identity   // of the authenticated caller, or nil
	Subject      string      // of Identity, or ""
	Session      string      // the id of the HTTP session, or ""
	ClientInfo   []byte      // as the client sent it, encoded JSON, or nil
	Capabilities []byte      // as the client sent them, encoded JSON, or nil
	Remote       string      // the network address of the client; "" on a pair of streams
	Header       http.Header // of the HTTP request; nil on a pair of streams

	logLevel Level
}

// Owner returns what sessions, tasks and states are bound to: [Identity.Owner], or Subject if there
// is no Identity.
func (c *Caller) Owner() string {
	if c.Identity == nil {
		return c.Subject
	}
	return c.Identity.Owner()
}

// Snapshot returns a copy of c that may be kept after the request: without the slices of the
// request, its header and its token. If last, the snapshot of an earlier request, is the same as c,
// Snapshot returns last.
func (c *Caller) Snapshot(last *Caller) *Caller {
	if last != nil && last.same(c) {
		return last
	}
	return &Caller{
		Revision: c.Revision, Toolset: c.Toolset, Identity: c.Identity.WithoutToken(), Subject: c.Subject,
		ClientInfo: bytes.Clone(c.ClientInfo), Capabilities: bytes.Clone(c.Capabilities),
	}
}

// same reports whether c and d differ only in what each request brings along: session, address and
// header.
func (c *Caller) same(d *Caller) bool {
	return c.Revision == d.Revision && c.Toolset == d.Toolset && c.Subject == d.Subject &&
		c.Identity.same(d.Identity) &&
		bytes.Equal(c.ClientInfo, d.ClientInfo) && bytes.Equal(c.Capabilities, d.Capabilities)
}

func (c *Caller) setIdentity(i *Identity) {
	if c.Identity = i; i != nil {
		c.Subject = i.Subject
	}
}

// Can reports whether the client declares a capability. The arguments are the names of nested
// members, as in Can("elicitation", "url").
func (c *Caller) Can(capability ...string) bool {
	if c.Capabilities == nil {
		return false
	}
	v, ok := jsonscan.Lookup(c.Capabilities, capability...)
	return ok && string(v) != "null" && string(v) != "false"
}
