package mcp

import (
	"encoding/hex"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"hatchel/hcl/jsonscan"
)

// CallRequest is one tools/call, prompts/get or resources/read. Its slices alias memory that is
// reused after the reply. A CallRequest that was created without a server has no client: it drops
// progress and log messages, and its client cannot be asked.
type CallRequest struct {
	Name      string  // of the tool or prompt, or the URI of the resource
	Arguments []byte  // an object; its syntax, UTF-8, nesting and keys have been checked
	Meta      []byte  // params._meta, an object, or nil
	Caller    *Caller // never nil

	// The answers to earlier Questions, from modern callers.
	Answers []byte // inputResponses, an object as encoded JSON, or nil
	State   string // that came with the questions; also of a call that was suspended

	// NoWait is for a caller who does not wait for an operator. A call that needs their approval is answered with
	// Outcome.Approval, and is carried out when it is made again after that approval. A step that calls a tool waits.
	NoWait bool

	message *message
	token   []byte // progressToken, or nil
	wire    wire
	decoded decodedMemory
	peer    *peer // nil for modern callers

	continues bool // the call has waited for people in another process

	levelOnce sync.Once
	level     int // of the messages that the client receives; set by levelOnce

	mu       sync.Mutex
	reported bool            // progress has been reported; guarded by mu
	progress float64         // that was reported last; guarded by mu
	over     bool            // the Handler has returned; guarded by mu
	asked    []askedQuestion // before the call was suspended, and not answered; guarded by mu

	resumed []suspendedQuestion // of the process that the call was taken from; guarded by mu
	record  *callRecord         // while the call waits for people; guarded by mu
	from    *callRecord         // that the call was taken from, until it goes on; guarded by mu
}

// wire is the connection to the caller of a request.
type wire interface {
	// notify sends a message that belongs to the request before its reply. The frame may be reused
	// afterwards.
	notify(frame []byte)

	// clientRequests returns the requests to the client, or nil if it cannot be asked.
	clientRequests() *clientRequests

	// disconnected reports whether the client has been disconnected for too long to be waited for.
	disconnected() bool

	// detach closes the connection if the client can return for the rest of the stream. It reports
	// whether it has.
	detach(retry time.Duration) bool

	// suspending returns a channel that is closed when calls that wait for people are suspended; nil if
	// the client cannot return for this one to another process.
	suspending() <-chan struct{}

	// newCallRecord returns a record of the call, which is not stored yet; nil if the client cannot return
	// for the call to another process.
	newCallRecord() *callRecord

	// leave asks the client to return for the rest of the call to another process.
	leave()
}

// newCallRequest reads the common params of tools/call, prompts/get and resources/read.
func newCallRequest(m *message, rc requestContext) (*CallRequest, *Error) {
	name, invalid := m.subjectName()
	if invalid != nil {
		return nil, invalid
	}
	req := &CallRequest{
		Name: name, Arguments: m.arguments, Caller: rc.caller, message: m, token: m.progressToken, wire: rc.wire,
		peer: rc.peer, decoded: decodedMemory{of: rc.memory},
	}
	switch {
	case m.arguments == nil || string(m.arguments) == "null":
		req.Arguments = []byte("{}")
	case !isObject(m.arguments):
		return nil, invalidParams("params.arguments must be an object")
	}
	if isObject(m.meta) {
		req.Meta = m.meta
	}
	if problem := checkID(m.progressToken); problem != "" {
		return nil, invalidParams("params._meta.progressToken %s", problem)
	}
	if rc.caller.Revision.Modern() {
		return req, req.readAnswers(m)
	}
	return req, nil
}

// readAnswers reads the answers of a modern caller to earlier questions.
func (r *CallRequest) readAnswers(m *message) (invalid *Error) {
	if m.inputResponses != nil && !isObject(m.inputResponses) {
		return invalidParams("params.inputResponses must be an object")
	}
	r.Answers = m.inputResponses
	if m.requestState != nil {
		if r.State, invalid = stringParam("requestState", m.requestState); invalid != nil {
			return invalid
		}
		if r.State == "" { // treated as absent, it would start the call again and repeat its effects
			return InvalidState()
		}
	}
	return nil
}

// ID returns the id of the request as text; empty for one that has none, as where no client has sent it.
func (r *CallRequest) ID() string {
	if r.message == nil {
		return ""
	}
	if text, ok := jsonscan.Text(r.message.id); ok {
		return text
	}
	return string(r.message.id)
}

// SessionName returns what names the session of the request in logs and traces, which is not its id: that is a
// credential. It is empty for a request without one.
func (r *CallRequest) SessionName() string {
	if r.peer == nil || r.peer.session == nil {
		return ""
	}
	return r.peer.session.name.String()
}

// send sends a message to the caller. It reports false if the Handler has returned already.
func (r *CallRequest) send(frame []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.wire.notify(frame)
	}
	return !r.over
}

// AppendSession appends the name of the session that the request belongs to; nothing for none. It is not
// the id, which is a credential.
func (r *CallRequest) AppendSession(dst []byte) []byte {
	if r.peer == nil || r.peer.session == nil {
		return dst
	}
	return hex.AppendEncode(dst, r.peer.session.name[:])
}

// Progress reports the progress of the call, if the caller asked for it. A progress that is not
// greater than the previous one is dropped, and so is everything after the Handler has returned. A
// total that is not positive and an empty message are left out.
func (r *CallRequest) Progress(progress, total float64, message string) {
	if r.token == nil || math.IsNaN(progress) || math.IsInf(progress, 0) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || r.reported && progress <= r.progress {
		return
	}
	r.reported, r.progress = true, progress
	b := borrowBuffer()
	defer b.release()
	b.b = append(b.b, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`...)
	b.b = append(b.b, r.token...)
	b.b = strconv.AppendFloat(append(b.b, `,"progress":`...), progress, 'f', -1, 64)
	if total > 0 && !math.IsInf(total, 0) {
		b.b = strconv.AppendFloat(append(b.b, `,"total":`...), total, 'f', -1, 64)
	}
	b.b = append(AppendMember(b.b, "message", message), "}}"...)
	r.wire.notify(b.b)
}

// Log sends a log message to the client if it asked for messages of this level of RFC 5424. The data
// is encoded JSON.
func (r *CallRequest) Log(level, logger string, data []byte) {
	r.levelOnce.Do(func() {
		if r.level = r.Caller.logLevel; r.peer != nil {
			r.level = r.peer.level()
		}
	})
	if r.level == 0 || slices.Index(levelNames, level) < r.level {
		return
	}
	b := borrowBuffer()
	defer b.release()
	b.b = append(b.b, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":`...)
	b.b = jsonscan.AppendString(b.b, level)
	b.b = append(append(AppendMember(b.b, "logger", logger), `,"data":`...), data...)
	b.b = append(b.b, "}}"...)
	r.send(b.b)
}

// Detach closes the connection of the call, so that a long wait does not occupy it, and asks the
// client to return for the rest after retry. It reports whether it has: this needs HTTP/1.1 and a
// revision that supports it.
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

// levelNames are the levels of RFC 5424, least severe first. The first name is that of no level.
var levelNames = []string{"", "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// parseLevel returns the index in levelNames of the level that a scanned value names, or 0.
func parseLevel(value []byte) int {
	name, _ := jsonscan.Text(value)
	return max(0, slices.Index(levelNames, name))
}
