package mcp

import (
	"context"
	"net/http"
)

// Handler is what the protocol needs from the server behind it. Its methods are called by many goroutines at once.
type Handler interface {
	// Info describes the server as of this moment. It is never nil.
	Info() *Info

	// Tools returns the tools that caller may see, as an immutable snapshot. It is never nil.
	Tools(ctx context.Context, caller *Caller) *List

	// CallTool serves one call. The context ends when the caller cancels, goes away, or the server gives up draining.
	//
	// An [*Error] reaches the caller as it is; any other error, and a panic, is logged and reaches the caller as an internal error
	// with a correlation id. What a model should read is not an error but an Outcome with IsError. After CallTool has returned, only
	// the Appenders of its Outcome may still refer to req and to what it holds.
	CallTool(ctx context.Context, req *CallRequest) (Outcome, error)
}

// Caller is who is asking. It is read-only.
type Caller struct {
	Revision     Revision    // the revision of this request or of its session
	Session      string      // the id of a session over HTTP, otherwise empty
	ClientInfo   []byte      // what the client says it is, as encoded JSON, or nil
	Capabilities []byte      // what the client says it can do, as encoded JSON, or nil
	Remote       string      // the address of the peer, empty on a pair of streams
	Header       http.Header // of the HTTP request, nil on a pair of streams

	logLevel Level
}
