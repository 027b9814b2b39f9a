package mcp

import (
	"context"
	"crypto/rand"
	"errors"

	"hatchel/hcl/jsonscan"
)

// query is who asks and the way back.
type query struct {
	caller *Caller
	wire   wire
	info   *Info // the server as it was when the request came in
}

// answer appends the reply to a request of either era that needs no more than the request itself, which is every one but initialize,
// what changes a session, and subscriptions/listen. The error it returns is part of the reply already; it is there for the transport to choose a
// status. Whatever goes wrong behind the Handler, or while a result is encoded, ends here.
func (s *Server) answer(ctx context.Context, dst []byte, m *message, q query) (out []byte, failed *Error) {
	start := len(dst)
	defer func() {
		if p := recover(); p != nil {
			failed = s.internal(ctx, m, panicked(p))
			out = failed.append(dst[:start], m.id)
		}
	}()
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
		return s.callTool(ctx, dst, m, q)
	case "tools/list":
		return s.list(ctx, dst, m, q, Tools)
	case "prompts/list":
		return s.list(ctx, dst, m, q, Prompts)
	case "prompts/get":
		return s.getPrompt(ctx, dst, m, q)
	case "resources/list":
		return s.list(ctx, dst, m, q, Resources)
	case "resources/templates/list":
		return s.list(ctx, dst, m, q, Templates)
	case "resources/read":
		return s.readResource(ctx, dst, m, q)
	case "completion/complete":
		return s.complete(ctx, dst, m, q)
	case "tasks/get", "tasks/update", "tasks/cancel":
		if modern {
			return s.task(ctx, dst, m, q)
		}
	case "server/discover":
		if modern {
			return append(q.info.discovered(dst), q.info.tail...), nil
		}
	case "ping":
		if !modern {
			return append(dst, "{}"...), nil
		}
	}
	return dst, methodNotFound(m.method)
}

// takesTime reports whether a request may have to wait for something: those that are answered from memory need no goroutine of their own, and
// nothing to keep their stream alive.
func takesTime(method []byte) bool {
	switch string(method) {
	case "tools/call", "prompts/get", "resources/read", "completion/complete", "tasks/get", "tasks/update", "tasks/cancel",
		"resources/subscribe", "resources/unsubscribe":
		return true
	}
	return false
}

// begin opens a result in the form of its era.
func begin(dst []byte, r Revision) []byte {
	if r.Modern() {
		return append(dst, `{"resultType":"complete",`...)
	}
	return append(dst, '{')
}

// end closes a result that has no metadata of its own. Every modern one names the server.
func (q *query) end(dst []byte) []byte {
	if q.caller.Revision.Modern() {
		return append(dst, q.info.tail...)
	}
	return append(dst, '}')
}

// refused returns the error of the protocol that a failure behind the Handler becomes.
func (s *Server) refused(ctx context.Context, m *message, err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return s.internal(ctx, m, err)
}

// internal accounts for an error that the caller must not see, and returns the one it gets instead.
func (s *Server) internal(ctx context.Context, m *message, err error) *Error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return errorf(CodeInternalError, "Cancelled")
	}
	id := rand.Text()[:12]
	_, subject := m.subject()
	name, _ := jsonscan.Text(subject)
	s.options.Logger.ErrorContext(ctx, "request failed", "correlation_id", id, "method", string(m.method), "name", name, "error", err)
	return &Error{
		Code:    CodeInternalError,
		Message: "Internal error",
		Data:    append(jsonscan.AppendString([]byte(`{"correlationId":`), id), '}'),
	}
}
