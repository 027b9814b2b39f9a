package mcp

import (
	"context"
	"strconv"

	"hatchel/hcl/jsonscan"
)

// CompleteRequest is one completion/complete. Its slices alias memory that is reused once it has been answered.
type CompleteRequest struct {
	Kind     string // "prompt", "resource" or "tool", which is an extension of ours
	Name     string // of the prompt or tool, or the URI or template of the resource
	Argument string
	Value    string // as typed so far
	Context  []byte // the arguments that are filled in already, an object with texts as encoded JSON, or nil
	Caller   *Caller
}

// Completion continues a value. No more than 100 Values are sent.
type Completion struct {
	Values []string
	Total  int  // how many there are, 0 when unknown
	More   bool // there are more than Values
}

// mostValues is how many values the protocol allows in one completion.
const mostValues = 100

// complete appends the result of completion/complete.
func (s *Server) complete(ctx context.Context, dst []byte, m *message, q query) ([]byte, *Error) {
	req, bad := m.completion()
	if bad != nil {
		return dst, bad
	}
	req.Caller = q.caller
	c, err := s.handler.Complete(ctx, req)
	if err != nil {
		return dst, s.refused(ctx, m, err)
	}
	return q.end(c.append(begin(dst, q.caller.Revision))), nil
}

// completion reads what is to be completed.
func (m *message) completion() (*CompleteRequest, *Error) {
	req := &CompleteRequest{}
	kind, ok := jsonscan.LookupText(m.ref, "type")
	name := "name"
	switch {
	case !ok:
		return nil, errorf(CodeInvalidParams, "params.ref must be an object with a type, which is ref/prompt or ref/resource")
	case kind == "ref/prompt":
		req.Kind = "prompt"
	case kind == "ref/tool":
		req.Kind = "tool"
	case kind == "ref/resource":
		req.Kind, name = "resource", "uri"
	default:
		return nil, errorf(CodeInvalidParams, "params.ref.type must be ref/prompt or ref/resource, and is %q", jsonscan.Excerpt(kind))
	}
	if req.Name, ok = jsonscan.LookupText(m.ref, name); !ok {
		return nil, errorf(CodeInvalidParams, "params.ref.%s must be a string", name)
	}
	if req.Argument, ok = jsonscan.LookupText(m.argument, "name"); !ok {
		return nil, errorf(CodeInvalidParams, "params.argument must be an object with a name, a string")
	}
	if req.Value, ok = jsonscan.LookupText(m.argument, "value"); !ok {
		return nil, errorf(CodeInvalidParams, "params.argument.value must be a string")
	}
	if m.context == nil || string(m.context) == "null" {
		return req, nil
	}
	if m.context[0] != '{' {
		return nil, errorf(CodeInvalidParams, "params.context must be an object")
	}
	if known, given := jsonscan.Lookup(m.context, "arguments"); given {
		if !holdsTexts(known) {
			return nil, errorf(CodeInvalidParams, "params.context.arguments must be an object of strings")
		}
		req.Context = known
	}
	return req, nil
}

// append appends the members of the result.
func (c *Completion) append(dst []byte) []byte {
	values := c.Values[:min(len(c.Values), mostValues)]
	dst = append(dst, `"completion":{"values":[`...)
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonscan.AppendString(dst, v)
	}
	dst = append(dst, ']')
	if c.Total > 0 {
		dst = strconv.AppendInt(append(dst, `,"total":`...), int64(c.Total), 10)
	}
	return append(strconv.AppendBool(append(dst, `,"hasMore":`...), c.More || len(values) < len(c.Values)), '}')
}
