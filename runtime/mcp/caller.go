package mcp

import "net/http"

// Caller is who is asking. It is read-only.
type Caller struct {
	Revision     Revision    // the revision of this request or of its session
	Toolset      string      // the part of the server that was addressed; empty for all of it
	Subject      string      // who it is, as what stands in front of the protocol has found out; empty when nobody has asked
	Session      string      // the id of a session over HTTP, otherwise empty
	ClientInfo   []byte      // what the client says it is, as encoded JSON, or nil
	Capabilities []byte      // what the client says it can do, as encoded JSON, or nil
	Remote       string      // the address of the peer, empty on a pair of streams
	Header       http.Header // of the HTTP request, nil on a pair of streams

	logLevel Level
}

// Can reports whether the client says that it can do something: the names are those of nested members of its capabilities, as in
// Can("elicitation", "url").
func (c *Caller) Can(capability ...string) bool {
	if c.Capabilities == nil {
		return false
	}
	v, ok := lookup(c.Capabilities, capability...)
	return ok && string(v) != "null" && string(v) != "false"
}
