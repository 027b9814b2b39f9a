package mcp

import "context"

// callTool appends the result of tools/call.
func (s *Server) callTool(ctx context.Context, dst []byte, m *message, q query) ([]byte, *Error) {
	req, bad := newCallRequest(m, q)
	if bad != nil {
		return dst, bad
	}
	o, err := s.call(ctx, req)
	if err != nil {
		return dst, s.refused(ctx, m, err)
	}
	return o.appendResult(dst, q.caller.Revision, q.info), nil
}

// call has the Handler serve a call, which is over then, even if it panics.
func (s *Server) call(ctx context.Context, req *CallRequest) (Outcome, error) {
	defer req.end()
	return s.handler.CallTool(ctx, req)
}
