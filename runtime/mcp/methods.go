package mcp

import (
	"context"
	"strconv"
	"time"
)

// Document is the result of a prompt or a resource.
type Document struct {
	Members   Appender   // the members of the result as encoded JSON, without braces
	Questions *Questions // instead of Members: input that is required first; for modern callers only

	// For resources and modern callers.
	TTL     time.Duration // how long a client may cache the result
	Private bool          // the result depends on the caller
}

// callTool appends the result of tools/call.
func (s *Server) callTool(ctx context.Context, dst []byte, m *message, rc requestContext) ([]byte, *Error) {
	o, _, err := handle(ctx, s, m, rc, s.handler.CallTool)
	if err != nil {
		return dst, err
	}
	return o.appendResult(dst, rc.caller.Revision, rc.info), nil
}

// appendDocument appends the result of prompts/get or resources/read.
func (s *Server) appendDocument(
	ctx context.Context, dst []byte, m *message, rc requestContext,
	method func(context.Context, *CallRequest) (Document, error),
) ([]byte, *Error) {
	d, req, err := handle(ctx, s, m, rc, method)
	switch {
	case err != nil:
		return dst, err
	case d.Questions != nil:
		return d.Questions.appendResult(dst, rc.info), nil
	}
	dst = d.Members.AppendJSON(beginResult(dst, rc.caller.Revision))
	if rc.caller.Revision.Modern() && string(m.method) == "resources/read" {
		ttl, private := d.TTL, d.Private
		if req.Answers != nil || req.State != "" { // the result depends on more than the request
			ttl, private = 0, true
		}
		dst = appendCacheHints(dst, ttl, private)
	}
	return rc.info.endResult(dst, rc.caller.Revision), nil
}

// handle calls a method of the Handler and ends the request afterwards, also after a panic.
func handle[T any](
	ctx context.Context, s *Server, m *message, rc requestContext,
	method func(context.Context, *CallRequest) (T, error),
) (result T, req *CallRequest, failed *Error) {
	req, failed = newCallRequest(m, rc)
	if failed != nil {
		return result, nil, failed
	}
	defer req.end()
	result, err := method(ctx, req)
	if err != nil {
		failed = s.protocolError(ctx, m, err)
	}
	return result, req, failed
}

// appendCacheHints appends the members that tell a modern client how long it may cache a result.
func appendCacheHints(dst []byte, ttl time.Duration, private bool) []byte {
	dst = strconv.AppendInt(append(dst, `,"ttlMs":`...), max(0, ttl.Milliseconds()), 10)
	if private {
		return append(dst, `,"cacheScope":"private"`...)
	}
	return append(dst, `,"cacheScope":"public"`...)
}
