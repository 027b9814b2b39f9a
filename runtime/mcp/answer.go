package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime/debug"
)

// query is who asks and the way back.
type query struct {
	caller *Caller
	wire   wire
}

// answer appends the reply to a request of either era that needs no more than the request itself, which is every one but initialize
// and subscriptions/listen. The error it returns is part of the reply already; it is there for the transport to choose a status.
func (s *Server) answer(ctx context.Context, dst []byte, m *message, q query) ([]byte, *Error) {
	start := len(dst)
	dst = append(append(append(dst, `{"jsonrpc":"2.0","id":`...), m.id...), `,"result":`...)
	dst, err := s.result(ctx, dst, m, q)
	if err != nil {
		return err.append(dst[:start], m.id), err
	}
	return append(dst, '}'), nil
}

func (s *Server) result(ctx context.Context, dst []byte, m *message, q query) ([]byte, *Error) {
	modern := q.caller.Revision.Modern()
	switch string(m.method) {
	case "tools/call":
		return s.call(ctx, dst, m, q)
	case "tools/list":
		return s.list(ctx, dst, m, q.caller, Tools)
	case "server/discover":
		if modern {
			return s.seal(s.handler.Info(q.caller.Toolset).discovered(dst), q.caller), nil
		}
	case "ping":
		if !modern {
			return append(dst, "{}"...), nil
		}
	}
	return dst, methodNotFound(m.method)
}

// seal ends the object of a modern result with the metadata that all of them carry.
func (s *Server) seal(dst []byte, c *Caller) []byte {
	return append(dst, s.handler.Info(c.Toolset).tail...)
}

func (s *Server) list(ctx context.Context, dst []byte, m *message, c *Caller, of Listing) ([]byte, *Error) {
	after := ""
	if m.cursor != nil && string(m.cursor) != "null" {
		cursor, ok := text(m.cursor)
		if ok {
			after, ok = cursorName(cursor)
		}
		if !ok {
			return dst, errorf(CodeInvalidParams, "cursor is not one that this server gave out")
		}
	}
	l := s.handler.List(ctx, c, of)
	if c.Revision.Modern() {
		dst = l.appendPage(append(dst, `{"resultType":"complete",`...), after, true)
		return s.seal(append(dst, l.caching...), c), nil
	}
	return append(l.appendPage(append(dst, '{'), after, false), '}'), nil
}

func (s *Server) call(ctx context.Context, dst []byte, m *message, q query) ([]byte, *Error) {
	name, ok := text(m.name)
	if !ok {
		return dst, errorf(CodeInvalidParams, "params.name must be a string")
	}
	req := &CallRequest{Name: name, Arguments: m.arguments, Caller: q.caller, token: m.progressToken, wire: q.wire}
	switch {
	case m.arguments == nil || string(m.arguments) == "null":
		req.Arguments = []byte("{}")
	case m.arguments[0] != '{':
		return dst, errorf(CodeInvalidParams, "params.arguments must be an object")
	}
	if m.meta != nil && m.meta[0] == '{' {
		req.Meta = m.meta
	}
	if t := m.progressToken; t != nil && t[0] != '"' && t[0] != '-' && (t[0] < '0' || t[0] > '9') {
		return dst, errorf(CodeInvalidParams, "params._meta.progressToken must be a string or a number")
	}
	return s.run(ctx, dst, req)
}

// run serves the call and appends its result. Whatever goes wrong behind the Handler, or while it encodes, ends here.
func (s *Server) run(ctx context.Context, dst []byte, req *CallRequest) (out []byte, failed *Error) {
	defer func() {
		if p := recover(); p != nil {
			req.end()
			out, failed = dst, s.internal(ctx, req, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	o, err := s.handler.CallTool(ctx, req)
	req.end()
	if err != nil {
		var e *Error
		if errors.As(err, &e) {
			return dst, e
		}
		return dst, s.internal(ctx, req, err)
	}
	return o.appendResult(dst, req.Caller.Revision, s.handler.Info(req.Caller.Toolset)), nil
}

// internal accounts for an error that the caller must not see, and returns the one it gets instead.
func (s *Server) internal(ctx context.Context, req *CallRequest, err error) *Error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return errorf(CodeInternalError, "Cancelled")
	}
	id := rand.Text()[:12]
	s.options.Logger.ErrorContext(ctx, "tools/call failed", "correlation_id", id, "tool", req.Name, "error", err)
	return &Error{
		Code:    CodeInternalError,
		Message: "Internal error",
		Data:    append(AppendString([]byte(`{"correlationId":`), id), '}'),
	}
}
