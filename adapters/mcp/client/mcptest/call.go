package mcptest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
)

// Call is one tools/call. Its methods may be called while its handler runs.
type Call struct {
	Name      string
	Arguments json.RawMessage
	Meta      map[string]json.RawMessage
	Header    http.Header                // of the request; nil over pipes
	Responses map[string]json.RawMessage // the answers to the questions of Required
	State     string
	Modern    bool // the client speaks 2026-07-28
	Context   context.Context

	server  *Server
	session *session
	send    func([]byte) error
}

// call carries a tools/call out.
func (s *Server) call(
	ctx context.Context, f *frame, in *session, header http.Header, modern bool, send func([]byte) error,
) (any, *Error) {
	var params struct {
		Name           string
		Arguments      json.RawMessage
		Meta           map[string]json.RawMessage `json:"_meta"`
		InputResponses map[string]json.RawMessage
		RequestState   string
	}
	if err := json.Unmarshal(f.Params, &params); err != nil {
		return nil, &Error{Code: -32602, Message: err.Error()}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &Call{
		Name: params.Name, Arguments: params.Arguments, Meta: params.Meta, Header: header, Modern: modern, Context: ctx,
		Responses: params.InputResponses, State: params.RequestState, server: s, session: in, send: send,
	}
	s.mu.Lock()
	s.calls = append(s.calls, c)
	h := s.handlers[c.Name]
	if in != nil {
		in.cancels[string(f.ID)] = cancel
		defer func() {
			s.mu.Lock()
			delete(in.cancels, string(f.ID))
			s.mu.Unlock()
		}()
	}
	s.mu.Unlock()
	if h == nil {
		h = func(c *Call) (any, error) { return Text("%s", c.Arguments), nil }
	}
	result, err := h(c)
	if err != nil {
		problem := &Error{Code: -32603, Message: err.Error()}
		errors.As(err, &problem)
		return nil, problem
	}
	if members, ok := result.(map[string]any); ok && modern && members["resultType"] == nil {
		members["resultType"] = "complete"
	}
	return result, nil
}

// Progress sends a progress, if the client has asked for it.
func (c *Call) Progress(progress, total float64, message string) {
	if token := c.Meta["progressToken"]; token != nil {
		c.Notify("notifications/progress", map[string]any{
			"progressToken": token, "progress": progress, "total": total, "message": message,
		})
	}
}

// Log sends a log message.
func (c *Call) Log(level, text string) {
	c.Notify("notifications/message", map[string]any{"level": level, "logger": "mcptest", "data": text})
}

// Notify sends a notification on the stream of the call.
func (c *Call) Notify(method string, params any) error { return c.send(notification(method, params)) }

// Send sends a message as it is on the stream of the call.
func (c *Call) Send(message []byte) error { return c.send(message) }

// Ask asks a client up to 2025-11-25 and returns the result of its answer; nil if it answered with an error.
func (c *Call) Ask(q Question) (json.RawMessage, error) {
	if c.session == nil {
		return nil, errors.New("a client without a session cannot be asked")
	}
	id := c.server.nextID("ask-")
	answer := make(chan json.RawMessage, 1)
	c.server.mu.Lock()
	c.session.pending[id] = answer
	c.server.mu.Unlock()
	text := encode(map[string]any{"jsonrpc": "2.0", "id": id, "method": q.Method, "params": q.Params})
	if err := c.send(text); err != nil {
		return nil, err
	}
	select {
	case result := <-answer:
		return result, nil
	case <-c.Context.Done():
		return nil, c.Context.Err()
	}
}
