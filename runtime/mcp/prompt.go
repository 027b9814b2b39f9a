package mcp

import "context"

// getPrompt appends the result of prompts/get.
func (s *Server) getPrompt(ctx context.Context, dst []byte, m *message, q query) ([]byte, *Error) {
	req, bad := newCallRequest(m, q)
	if bad != nil {
		return dst, bad
	}
	d, err := s.prompt(ctx, req)
	if err != nil {
		return dst, s.refused(ctx, m, err)
	}
	if d.Questions != nil {
		return d.Questions.appendResult(dst, q.info), nil
	}
	return q.end(d.Members.AppendJSON(begin(dst, q.caller.Revision))), nil
}

// prompt has the Handler write the messages of a prompt. The request is over then, even if it panics.
func (s *Server) prompt(ctx context.Context, req *CallRequest) (Document, error) {
	defer req.end()
	return s.handler.GetPrompt(ctx, req)
}
