package mcp

import "context"

// readResource appends the result of resources/read.
func (s *Server) readResource(ctx context.Context, dst []byte, m *message, q query) ([]byte, *Error) {
	req, bad := newCallRequest(m, q)
	if bad != nil {
		return dst, bad
	}
	d, err := s.resource(ctx, req)
	if err != nil {
		return dst, s.refused(ctx, m, err)
	}
	if d.Questions != nil {
		return d.Questions.appendResult(dst, q.info), nil
	}
	dst = d.Members.AppendJSON(begin(dst, q.caller.Revision))
	if q.caller.Revision.Modern() {
		ttl, private := d.TTL, d.Private
		if req.Answers != nil || req.State != "" { // what depends on answers does not depend on the request alone
			ttl, private = 0, true
		}
		dst = appendCaching(dst, ttl, private)
	}
	return q.end(dst), nil
}

// resource has the Handler read a document. The request is over then, even if it panics.
func (s *Server) resource(ctx context.Context, req *CallRequest) (Document, error) {
	defer req.end()
	return s.handler.ReadResource(ctx, req)
}
