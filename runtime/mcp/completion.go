package mcp

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"hatchel/hcl/jsonscan"
)

// CompleteRequest is one completion/complete. Its slices alias memory that is reused after the
// reply.
type CompleteRequest struct {
	Kind     string // "prompt", "resource", or "tool", which is an extension of this server
	Name     string // of the prompt or tool, or the URI or template of the resource
	Argument string
	Value    string // that the user has typed so far
	Context  []byte // the arguments that are known already: an object of strings as encoded JSON, or nil
	Caller   *Caller
}

// Completion is a list of possible values. At most 100 Values are sent.
type Completion struct {
	Values []string
	Total  int  // how many there are; 0 if unknown
	More   bool // there are more than Values
}

// maxCompletionValues is the maximum that the protocol allows.
const maxCompletionValues = 100

// complete appends the result of completion/complete.
func (s *Server) complete(ctx context.Context, dst []byte, m *message, rc requestContext) ([]byte, *Error) {
	req, invalid := m.completeRequest()
	if invalid != nil {
		return dst, invalid
	}
	req.Caller = rc.caller
	c, err := s.handler.Complete(ctx, req)
	if err != nil {
		return dst, s.protocolError(ctx, m, err)
	}
	return rc.info.endResult(c.appendMembers(beginResult(dst, rc.caller.Revision)), rc.caller.Revision), nil
}

func (m *message) completeRequest() (*CompleteRequest, *Error) {
	req := &CompleteRequest{}
	kind, ok := jsonscan.LookupText(m.params, "ref", "type")
	name := "name"
	switch {
	case !ok:
		return nil, invalidParams("params.ref must be an object with a type, which is ref/prompt or ref/resource")
	case kind == "ref/prompt":
		req.Kind = "prompt"
	case kind == "ref/tool":
		req.Kind = "tool"
	case kind == "ref/resource":
		req.Kind, name = "resource", "uri"
	default:
		return nil, invalidParams("params.ref.type must be ref/prompt or ref/resource, got %q",
			jsonscan.Excerpt(kind))
	}
	if req.Name, ok = jsonscan.LookupText(m.params, "ref", name); !ok {
		return nil, invalidParams("params.ref.%s must be a string", name)
	}
	if req.Argument, ok = jsonscan.LookupText(m.params, "argument", "name"); !ok {
		return nil, invalidParams("params.argument must be an object with a name, a string")
	}
	if req.Value, ok = jsonscan.LookupText(m.params, "argument", "value"); !ok {
		return nil, invalidParams("params.argument.value must be a string")
	}
	if known := m.param("context"); known != nil && string(known) != "null" && !isObject(known) {
		return nil, invalidParams("params.context must be an object")
	}
	if arguments, ok := jsonscan.Lookup(m.params, "context", "arguments"); ok {
		if !isObjectOfStrings(arguments) {
			return nil, invalidParams("params.context.arguments must be an object of strings")
		}
		req.Context = arguments
	}
	return req, nil
}

// isObjectOfStrings reports whether a scanned value is an object whose values are strings.
func isObjectOfStrings(value []byte) bool {
	var members map[string]*string // nil is null
	err := json.Unmarshal(value, &members)
	return err == nil && members != nil && !slices.Contains(slices.Collect(maps.Values(members)), nil)
}

// appendMembers appends the members of the result.
func (c *Completion) appendMembers(dst []byte) []byte {
	values := c.Values[:min(len(c.Values), maxCompletionValues)]
	dst = AppendStrings(append(dst, `"completion":{"values":`...), values)
	if c.Total > 0 {
		dst = strconv.AppendInt(append(dst, `,"total":`...), int64(c.Total), 10)
	}
	more := c.More || len(values) < len(c.Values)
	return append(strconv.AppendBool(append(dst, `,"hasMore":`...), more), '}')
}
