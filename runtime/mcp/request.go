package mcp

import (
	"math"
	"strconv"
	"sync"
	"time"

	"hatchel/hcl/jsonscan"
)

// CallRequest is one tools/call, prompts/get or resources/read. Made without a server, it has nobody to report progress or log messages to, and nobody
// to ask. Its slices alias memory that is reused once the call has been answered.
type CallRequest struct {
	Name      string  // of the tool or prompt, or the URI of the resource
	Arguments []byte  // an object, checked for syntax, duplicate keys, UTF-8 and nesting, and nothing else
	Meta      []byte  // params._meta, an object, or nil
	Caller    *Caller // never nil

	// Of a modern caller that was asked questions before: inputResponses, an object as encoded JSON or nil, and the state that came with the questions.
	Answers []byte
	State   string

	token []byte // progressToken, or nil
	wire  wire

	mu   sync.Mutex
	last float64 // the progress last reported, if any was; guarded by mu
	told bool    // progress has been reported; guarded by mu
	over bool    // the Handler has returned; guarded by mu
}

// wire is the way back to the caller of a request.
type wire interface {
	// notify sends a message that belongs to the request, ahead of its reply. The frame may be reused on return.
	notify(frame []byte)

	// asked returns the questions to the caller, or nil when it cannot be asked.
	asked() *inquiries

	// away reports whether the caller has been gone for so long that it is not waited for any more.
	away() bool

	// detach lets go of the connection, if the caller can come back for what the request has yet to say, and reports whether it has.
	detach(retry time.Duration) bool
}

// newCallRequest reads what tools/call, prompts/get and resources/read have in common.
func newCallRequest(m *message, q query) (*CallRequest, *Error) {
	name, bad := m.about()
	if bad != nil {
		return nil, bad
	}
	req := &CallRequest{Name: name, Arguments: m.arguments, Caller: q.caller, token: m.progressToken, wire: q.wire}
	switch {
	case m.arguments == nil || string(m.arguments) == "null":
		req.Arguments = []byte("{}")
	case m.arguments[0] != '{':
		return nil, errorf(CodeInvalidParams, "params.arguments must be an object")
	}
	if m.meta != nil && m.meta[0] == '{' {
		req.Meta = m.meta
	}
	if why := unfitID(m.progressToken); why != "" {
		return nil, errorf(CodeInvalidParams, "params._meta.progressToken %s", why)
	}
	if q.caller.Revision.Modern() {
		return req, m.answers(req)
	}
	return req, nil
}

// say sends a message to the caller, and reports whether it was in time.
func (r *CallRequest) say(frame []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.wire.notify(frame)
	}
	return !r.over
}

// Progress tells the caller how far the call has come, if it asked to be told. A progress that is not greater than the one before
// is dropped, as is everything after the Handler has returned. A total that is not positive and an empty message are left out.
func (r *CallRequest) Progress(progress, total float64, message string) {
	if r.token == nil || math.IsNaN(progress) || math.IsInf(progress, 0) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || r.told && progress <= r.last {
		return
	}
	r.told, r.last = true, progress
	b := borrow()
	defer b.release()
	b.b = append(append(b.b, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`...), r.token...)
	b.b = strconv.AppendFloat(append(b.b, `,"progress":`...), progress, 'f', -1, 64)
	if total > 0 && !math.IsInf(total, 0) {
		b.b = strconv.AppendFloat(append(b.b, `,"total":`...), total, 'f', -1, 64)
	}
	b.b = append(appendMember(b.b, "message", message), "}}"...)
	r.wire.notify(b.b)
}

// Log sends data, encoded JSON, to the log of the client, if the client wants messages of this level.
func (r *CallRequest) Log(level Level, logger string, data []byte) {
	if r.Caller.logLevel == 0 || level < r.Caller.logLevel {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	b := borrow()
	defer b.release()
	b.b = jsonscan.AppendString(append(b.b, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":`...), level.String())
	b.b = append(append(appendMember(b.b, "logger", logger), `,"data":`...), data...)
	b.b = append(b.b, "}}"...)
	r.wire.notify(b.b)
}

// Detach lets go of the connection that the call came on, so that a long wait holds none, and asks the caller to come back for the rest after
// retry. It reports whether it has: only callers over HTTP/1.1 of revisions that know of this can.
func (r *CallRequest) Detach(retry time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wire != nil && !r.over && r.wire.detach(retry)
}

func (r *CallRequest) end() {
	r.mu.Lock()
	r.over = true
	r.mu.Unlock()
}
