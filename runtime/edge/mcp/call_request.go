package mcp

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"sync"

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

	// Via is the tool that was asked to make the call, whose request held this one; empty for a call of a tool by its
	// own name. A Handler sets it with Name and Arguments.
	Via string

	// The answers to earlier Questions, from modern callers.
	Answers []byte // inputResponses, an object as encoded JSON, or nil
	State   string // that came with the questions; also of a call that was suspended

	// NoWait is for a caller who does not wait for an operator. A call that needs their approval is answered with
	// Outcome.Approval, and is carried out when it is made again after that approval. A step that calls a tool waits.
	NoWait bool

	message *Message
	token   []byte // progressToken, or nil
	wire    Wire
	decoded decodedMemory
	client  LegacyClient // nil for modern callers

	levelOnce sync.Once
	level     int // of the messages that the client receives; set by levelOnce

	mu       sync.Mutex
	reported bool    // progress has been reported; guarded by mu
	progress float64 // that was reported last; guarded by mu
	over     bool    // the Handler has returned; guarded by mu
}

// Wire is the connection to the caller of a request.
type Wire interface {
	// Notify sends a message that belongs to the request before its reply. The frame may be reused
	// afterwards.
	Notify(frame []byte)

	// StartKeepAlive schedules keep-alives for a reply that takes long, once.
	StartKeepAlive()
}

// maxArgumentDepth is the depth of arguments that a client sends as a string.
const maxArgumentDepth = 64

// newCallRequest reads the common params of tools/call, prompts/get and resources/read.
func newCallRequest(m *Message, rc RequestContext) (*CallRequest, *Error) {
	name, invalid := m.subjectName()
	if invalid != nil {
		return nil, invalid
	}
	req := &CallRequest{
		Name: name, Arguments: m.arguments, Caller: rc.Caller, message: m, token: m.progressToken, wire: rc.Wire,
		client: rc.Client, decoded: decodedMemory{of: rc.Memory},
	}
	switch {
	case m.arguments == nil || string(m.arguments) == "null":
		req.Arguments = []byte("{}")
	case !IsObject(m.arguments):
		if req.Arguments, invalid = req.argumentsInText(rc.Info); invalid != nil {
			return nil, invalid
		}
	}
	if IsObject(m.meta) {
		req.Meta = m.meta
	}
	if problem := checkID(m.progressToken); problem != "" {
		return nil, InvalidParams("params._meta.progressToken %s", problem)
	}
	if rc.Caller.Revision.Modern() {
		return req, req.readAnswers(m)
	}
	return req, nil
}

// argumentsInText returns the arguments of a client that sends them as a string, where the server accepts that.
func (r *CallRequest) argumentsInText(i *Info) ([]byte, *Error) {
	arguments := r.message.arguments
	if arguments[0] != '"' {
		return nil, InvalidParams("params.arguments must be an object")
	}
	if err := r.Reserve(2 * int64(len(arguments))); err != nil {
		return nil, ErrNoMemory
	}
	text, _ := jsonscan.Text(arguments)
	switch {
	case jsonscan.FirstByte(text, maxArgumentDepth) != '{':
		return nil, InvalidParams("params.arguments must be an object")
	case i == nil || !i.coerces:
		return nil, InvalidParams("params.arguments must be an object. Send it as JSON, without the quotes")
	}
	return bytes.TrimSpace([]byte(text)), nil
}

// readAnswers reads the answers of a modern caller to earlier questions.
func (r *CallRequest) readAnswers(m *Message) (invalid *Error) {
	if m.inputResponses != nil && !IsObject(m.inputResponses) {
		return InvalidParams("params.inputResponses must be an object")
	}
	r.Answers = m.inputResponses
	if m.requestState != nil {
		if r.State, invalid = StringParam("requestState", m.requestState); invalid != nil {
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
	if text, ok := jsonscan.Text(r.message.ID); ok {
		return text
	}
	return string(r.message.ID)
}

// KeepAlive has keep-alives sent while the call takes long. A Handler that may wait in a tools/call must call it
// before; the other requests have keep-alives anyway.
func (r *CallRequest) KeepAlive() {
	if r.wire != nil {
		r.wire.StartKeepAlive()
	}
}

// WantsProgress reports whether the caller has asked for progress.
func (r *CallRequest) WantsProgress() bool { return r.token != nil }

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
	b := BorrowBuffer()
	defer b.Release()
	b.B = append(b.B, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`...)
	b.B = append(b.B, r.token...)
	b.B = strconv.AppendFloat(append(b.B, `,"progress":`...), progress, 'f', -1, 64)
	if total > 0 && !math.IsInf(total, 0) {
		b.B = strconv.AppendFloat(append(b.B, `,"total":`...), total, 'f', -1, 64)
	}
	b.B = append(AppendMember(b.B, "message", message), "}}"...)
	r.wire.Notify(b.B)
}

// Log sends a log message to the client if it asked for messages of this level of RFC 5424. The data
// is encoded JSON.
func (r *CallRequest) Log(level, logger string, data []byte) {
	r.levelOnce.Do(func() {
		if r.level = r.Caller.logLevel; r.client != nil {
			r.level = r.client.LogLevel()
		}
	})
	if r.level == 0 || slices.Index(LogLevels, level) < r.level {
		return
	}
	b := BorrowBuffer()
	defer b.Release()
	b.B = append(b.B, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":`...)
	b.B = jsonscan.AppendString(b.B, level)
	b.B = append(append(AppendMember(b.B, "logger", logger), `,"data":`...), data...)
	b.B = append(b.B, "}}"...)
	r.Send(b.B)
}

func (r *CallRequest) end() {
	r.mu.Lock()
	r.over = true
	r.mu.Unlock()
}

// LogLevels are the levels of RFC 5424, least severe first. The first name is that of no level.
var LogLevels = []string{"", "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// ParseLogLevel returns the index in LogLevels of the level that a scanned value names, or 0.
func ParseLogLevel(value []byte) int {
	name, _ := jsonscan.Text(value)
	return max(0, slices.Index(LogLevels, name))
}
