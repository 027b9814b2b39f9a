package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"hatchel/hcl/jsonscan"
)

// RequestContext is the caller of a request and the connection to it.
type RequestContext struct {
	Caller *Caller
	Client LegacyClient // nil in the modern era
	Wire   Wire
	Info   *Info        // as of the start of the request
	Memory *Reservation // of the request; nil without a limit
	Rest   *[]byte      // set to what follows the reply of Reply and must not be changed; nil to have all in the reply
}

// Reply appends the reply to a request of either era. It serves every method except initialize and
// subscriptions/listen. An error is part of the reply already; it is returned for the transport to
// choose a status. Panics of the Handler and of its Appenders end here.
func (s *Server) Reply(ctx context.Context, dst []byte, m *Message, rc RequestContext) (out []byte, failed *Error) {
	start := len(dst)
	if o := s.options.Observer; o != nil && !isCall(m.Method) && o.Observes() {
		began := time.Now()
		defer func() { o.Answered(rc.Caller, string(m.Method), failed, time.Since(began)) }()
	}
	defer func() {
		if p := recover(); p != nil {
			failed = s.internalError(ctx, m, panicError(p))
			out = failed.AppendReply(dst[:start], m.ID)
			if rc.Rest != nil {
				*rc.Rest = nil
			}
		}
	}()
	dst, err := s.appendResult(ctx, m.BeginReply(dst), m, rc)
	switch {
	case err != nil:
		return err.AppendReply(dst[:start], m.ID), err
	case rc.Rest != nil && *rc.Rest != nil:
		return dst, nil
	}
	return append(dst, '}'), nil
}

// BeginReply opens the reply to a request with a result.
func (m *Message) BeginReply(dst []byte) []byte {
	return append(append(append(dst, `{"jsonrpc":"2.0","id":`...), m.ID...), `,"result":`...)
}

func (s *Server) appendResult(ctx context.Context, dst []byte, m *Message, rc RequestContext) ([]byte, *Error) {
	modern := rc.Caller.Revision.Modern()
	switch string(m.Method) {
	case "tools/call":
		return s.callTool(ctx, dst, m, rc)
	case "tools/list":
		return s.list(ctx, dst, m, rc, Tools)
	case "prompts/list":
		return s.list(ctx, dst, m, rc, Prompts)
	case "prompts/get":
		return s.appendDocument(ctx, dst, m, rc, s.handler.GetPrompt)
	case "resources/list":
		return s.list(ctx, dst, m, rc, Resources)
	case "resources/templates/list":
		return s.list(ctx, dst, m, rc, Templates)
	case "resources/read":
		return s.appendDocument(ctx, dst, m, rc, s.handler.ReadResource)
	case "resources/directory/read":
		return s.readDirectory(ctx, dst, m, rc)
	case "skills/list":
		return s.list(ctx, dst, m, rc, Skills)
	case "skills/get":
		return s.getSkill(ctx, dst, m, rc)
	case "completion/complete":
		return s.complete(ctx, dst, m, rc)
	case "tasks/get", "tasks/update", "tasks/cancel":
		if modern {
			return s.serveTask(ctx, dst, m, rc)
		}
	case "server/discover":
		if modern {
			return rc.Info.appendDiscoverResult(dst, s.Revisions()), nil
		}
	}
	if rc.Client != nil {
		if out, err, served := rc.Client.Serve(ctx, dst, m); served {
			return out, err
		}
	}
	return dst, Errorf(CodeMethodNotFound, "Method not found: %s", jsonscan.Excerpt(m.Method))
}

// isCall reports whether a request is one for the CallTool, GetPrompt or ReadResource of the Handler.
func isCall(method []byte) bool {
	switch string(method) {
	case "tools/call", "prompts/get", "resources/read":
		return true
	}
	return false
}

// HasKeepAlive reports whether keep-alives are scheduled before the Handler gets a request. For a tools/call it
// schedules them, with CallRequest.KeepAlive, because many tools have their result at once.
func HasKeepAlive(method []byte) bool { return mayBlock(method) && string(method) != "tools/call" }

// mayBlock reports whether a request may have to wait. The others are answered from memory and need
// neither a goroutine nor keep-alives.
func mayBlock(method []byte) bool {
	switch string(method) {
	case "tools/call", "prompts/get", "resources/read", "completion/complete",
		"tasks/get", "tasks/update", "tasks/cancel", "resources/subscribe", "resources/unsubscribe":
		return true
	}
	return false
}

// beginResult opens a result of the revision.
func beginResult(dst []byte, r Revision) []byte {
	if r.Modern() {
		return append(dst, `{"resultType":"complete",`...)
	}
	return append(dst, '{')
}

// ProtocolError returns the error that the client receives for an error of the Handler.
func (s *Server) ProtocolError(ctx context.Context, m *Message, err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return s.internalError(ctx, m, err)
}

// internalError logs an error that the client must not see and returns what it receives instead.
func (s *Server) internalError(ctx context.Context, m *Message, err error) *Error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return Errorf(CodeInternalError, "Cancelled")
	}
	id := rand.Text()[:12]
	_, subject := m.subject()
	name, _ := jsonscan.Text(subject)
	s.options.Logger.ErrorContext(ctx, "request failed",
		"correlation_id", id, "method", string(m.Method), "name", name, "error", err)
	return &Error{
		Code:    CodeInternalError,
		Message: "Internal error",
		Data:    append(jsonscan.AppendString([]byte(`{"correlationId":`), id), '}'),
	}
}
