package mcp

import (
	"bytes"
	"context"
	"strconv"
	"time"

	"hatchel/hcl/jsonscan"
)

// Document is the result of a prompt or a resource.
type Document struct {
	Members   Appender   // the members of the result as encoded JSON, without braces
	Meta      Appender   // _meta, an object, or nil
	Questions *Questions // instead of Members: as in Outcome

	// For resources and modern callers.
	TTL     time.Duration // how long a client may cache the result
	Private bool          // the result depends on the caller
}

// callTool appends the result of tools/call.
func (s *Server) callTool(ctx context.Context, dst []byte, m *Message, rc RequestContext) ([]byte, *Error) {
	o, _, err := handle(ctx, s, m, rc, s.handler.CallTool)
	switch {
	case err != nil:
		return dst, err
	case o.Questions != nil && rc.Client != nil:
		return dst, rc.Client.Suspend(ctx)
	}
	return o.appendResult(dst, rc.Caller.Revision, rc.Info), nil
}

// appendDocument appends the result of prompts/get or resources/read.
func (s *Server) appendDocument(
	ctx context.Context, dst []byte, m *Message, rc RequestContext,
	method func(context.Context, *CallRequest) (Document, error),
) ([]byte, *Error) {
	d, req, err := handle(ctx, s, m, rc, method)
	switch {
	case err != nil:
		return dst, err
	case d.Questions != nil && rc.Client != nil:
		return dst, rc.Client.Suspend(ctx)
	case d.Questions != nil:
		return d.Questions.appendResult(dst, rc.Info), nil
	}
	dst = d.Members.AppendJSON(beginResult(dst, rc.Caller.Revision))
	if rc.Caller.Revision.Modern() && string(m.Method) == "resources/read" {
		ttl, private := d.TTL, d.Private
		if req.Answers != nil || req.State != "" { // the result depends on more than the request
			ttl, private = 0, true
		}
		dst = appendCacheHints(dst, ttl, private)
	}
	return rc.Info.endResultWith(dst, rc.Caller.Revision, d.Meta), nil
}

// handle calls a method of the Handler and ends the request afterwards, also after a panic.
func handle[T any](
	ctx context.Context, s *Server, m *Message, rc RequestContext,
	method func(context.Context, *CallRequest) (T, error),
) (result T, req *CallRequest, failed *Error) {
	req, failed = newCallRequest(m, rc)
	if failed != nil {
		s.options.Logger.InfoContext(ctx, "call refused", "method", string(m.Method), "subject", rc.Caller.Subject,
			"outcome", "refused", "remote", rc.Caller.Remote, "message", failed.Message)
		if o := s.options.Observer; o != nil && o.Observes() {
			o.Answered(rc.Caller, string(m.Method), failed, 0)
		}
		return result, nil, failed
	}
	defer req.end()
	if rc.Client != nil {
		rc.Client.Begin(ctx, req)
	}
	result, err := method(ctx, req)
	if err != nil {
		failed = s.ProtocolError(ctx, m, err)
	}
	if failed != nil && rc.Client != nil {
		failed = rc.Client.Explain(failed)
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

// Outcome is the result of a tool call.
type Outcome struct {
	Content    Appender // an array of content blocks; nil means an empty array
	Structured Appender // structuredContent, or nil; omitted in revisions without it
	IsError    bool
	Meta       Appender // _meta, an object, or nil

	// Wrap says that Structured is wrapped as {"result": …} for revisions up to 2025-11-25, like
	// the output schema that they see.
	Wrap bool

	// Truncated says that a limit has cut the result, and how to get the rest; empty for a complete one. It is
	// a member of the wrapped form, because some clients give their model the structured content alone.
	Truncated string

	Questions *Questions // instead of all else: input that is required first, for modern callers; or after ErrSuspended

	// Task, instead of all else, is the members of the task that the call has become, as encoded
	// JSON without braces. It is only for callers that declare TasksExtension.
	Task Appender

	// Approval, instead of all else, is the ID of the pending approval that a call with NoWait needs.
	Approval string
}

// AppendResult appends the result of tools/call in revision r, without the metadata of a server.
func (o *Outcome) AppendResult(dst []byte, r Revision) []byte { return o.appendResult(dst, r, nil) }

func (o *Outcome) appendResult(dst []byte, r Revision, server *Info) []byte {
	switch {
	case o.Questions != nil:
		return o.Questions.appendResult(dst, server)
	case o.Task != nil:
		return server.endResult(o.Task.AppendJSON(append(dst, `{"resultType":"task",`...)), r)
	}
	modern := r.Modern()
	dst = append(beginResult(dst, r), `"content":`...)
	if o.Content != nil {
		dst = o.Content.AppendJSON(dst)
	} else {
		dst = append(dst, "[]"...)
	}
	if o.Structured != nil && r.hasStructuredContent() {
		wrap := o.Wrap && !modern
		dst = append(dst, `,"structuredContent":`...)
		if wrap {
			dst = append(dst, `{"result":`...)
		}
		dst = o.Structured.AppendJSON(dst)
		if wrap {
			dst = append(AppendMember(dst, "truncated", o.Truncated), '}')
		}
	}
	if o.IsError {
		dst = append(dst, `,"isError":true`...)
	}
	return server.endResultWith(dst, r, o.Meta)
}

// endResultWith is endResult for a result with metadata of its own, unless that is nil.
func (i *Info) endResultWith(dst []byte, r Revision, meta Appender) []byte {
	if meta == nil {
		return i.endResult(dst, r)
	}
	dst = meta.AppendJSON(append(dst, `,"_meta":`...))
	if r.Modern() && i != nil {
		dst = i.addToMeta(dst)
	}
	return append(dst, '}')
}

// addToMeta adds serverInfo to the metadata of an outcome, the object at the end of dst.
func (i *Info) addToMeta(dst []byte) []byte {
	dst, isObject := bytes.CutSuffix(dst, []byte{'}'})
	if !isObject {
		panic("the metadata of an outcome is not an object")
	}
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(i.appendServerInfo(dst), '}')
}

// TaskRequest is one request about a task. Its slices alias memory that is reused after the reply.
type TaskRequest struct {
	Method  string // "tasks/get", "tasks/update" or "tasks/cancel"
	ID      string
	Answers []byte // inputResponses of tasks/update: an object as encoded JSON
	Caller  *Caller

	decoded decodedMemory
}

// Reserve is that of a CallRequest.
func (r *TaskRequest) Reserve(n int64) error { return r.decoded.reserve(n) }

// Keep is that of a CallRequest.
func (r *TaskRequest) Keep() *Memory { return r.decoded.keep() }

// TasksExtension is the capability of clients that support tasks: Caller.Can("extensions",
// TasksExtension).
const TasksExtension = "io.modelcontextprotocol/tasks"

// AppsExtension is the capability of clients that show apps: Caller.Can("extensions", AppsExtension).
const AppsExtension = "io.modelcontextprotocol/ui"

// serveTask appends the result of tasks/get, tasks/update or tasks/cancel.
func (s *Server) serveTask(ctx context.Context, dst []byte, m *Message, rc RequestContext) ([]byte, *Error) {
	if !rc.Caller.Can("extensions", TasksExtension) {
		return dst, MissingCapability("extensions", TasksExtension)
	}
	id, invalid := m.subjectName()
	if invalid != nil {
		return dst, invalid
	}
	req := &TaskRequest{Method: string(m.Method), ID: id, Caller: rc.Caller, decoded: decodedMemory{of: rc.Memory}}
	if req.Method == "tasks/update" {
		if req.Answers = m.inputResponses; !IsObject(req.Answers) {
			return dst, InvalidParams("params.inputResponses must be an object")
		}
	}
	members, err := s.handler.Task(ctx, req)
	if err != nil {
		return dst, s.ProtocolError(ctx, m, err)
	}
	dst = append(dst, `{"resultType":"complete"`...)
	if members != nil {
		dst = members.AppendJSON(append(dst, ','))
	}
	return rc.Info.endResult(dst, rc.Caller.Revision), nil
}

// taskState returns the members of the object that tasks/get returns. A panic of the Handler is an
// error.
func (s *Server) taskState(ctx context.Context, caller *Caller, id string) (members []byte, err error) {
	defer recoverError(&err)
	state, err := s.handler.Task(ctx, &TaskRequest{Method: "tasks/get", ID: id, Caller: caller})
	if err != nil {
		return nil, err
	}
	return state.AppendJSON(nil), nil
}

// CompleteRequest is one completion/complete. Its slices alias memory that is reused after the
// reply.
type CompleteRequest struct {
	Kind     string // "prompt", "resource", or "tool", which is an extension of this server
	Name     string // of the prompt or tool, or the URI or template of the resource
	Argument string
	Value    string // that the user has typed so far
	Context  []byte // the arguments that are known already: an object of strings as encoded JSON, or nil
	Meta     []byte // params._meta as encoded JSON, or nil
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
func (s *Server) complete(ctx context.Context, dst []byte, m *Message, rc RequestContext) ([]byte, *Error) {
	req, invalid := m.completeRequest()
	if invalid != nil {
		return dst, invalid
	}
	req.Caller = rc.Caller
	c, err := s.handler.Complete(ctx, req)
	if err != nil {
		return dst, s.ProtocolError(ctx, m, err)
	}
	return rc.Info.endResult(c.appendMembers(beginResult(dst, rc.Caller.Revision)), rc.Caller.Revision), nil
}

func (m *Message) completeRequest() (*CompleteRequest, *Error) {
	req := &CompleteRequest{Meta: m.meta}
	kind, ok := jsonscan.LookupText(m.params, "ref", "type")
	name := "name"
	switch {
	case !ok:
		return nil, InvalidParams("params.ref must be an object with a type, which is ref/prompt or ref/resource")
	case kind == "ref/prompt":
		req.Kind = "prompt"
	case kind == "ref/tool":
		req.Kind = "tool"
	case kind == "ref/resource":
		req.Kind, name = "resource", "uri"
	default:
		return nil, InvalidParams("params.ref.type must be ref/prompt or ref/resource, got %q",
			jsonscan.Excerpt(kind))
	}
	if req.Name, ok = jsonscan.LookupText(m.params, "ref", name); !ok {
		return nil, InvalidParams("params.ref.%s must be a string", name)
	}
	if invalid := checkURI("params.ref."+name, req.Name); invalid != nil && name == "uri" {
		return nil, invalid
	}
	if req.Argument, ok = jsonscan.LookupText(m.params, "argument", "name"); !ok {
		return nil, InvalidParams("params.argument must be an object with a name, a string")
	}
	if req.Value, ok = jsonscan.LookupText(m.params, "argument", "value"); !ok {
		return nil, InvalidParams("params.argument.value must be a string")
	}
	if known := m.Param("context"); known != nil && string(known) != "null" && !IsObject(known) {
		return nil, InvalidParams("params.context must be an object")
	}
	if arguments, ok := jsonscan.Lookup(m.params, "context", "arguments"); ok {
		if !isObjectOfStrings(arguments) {
			return nil, InvalidParams("params.context.arguments must be an object of strings")
		}
		req.Context = arguments
	}
	return req, nil
}

// isObjectOfStrings reports whether a scanned value is an object whose values are strings.
func isObjectOfStrings(value []byte) bool {
	if !IsObject(value) {
		return false
	}
	texts := true
	err := jsonscan.Members(value, len(value), func(_, member []byte) bool {
		texts = member[0] == '"'
		return texts
	})
	return err == nil && texts
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
