package client

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"hatchel/hcl/jsonscan"
)

// Transport is the way to a server: of NewHTTP or NewStdio.
type Transport interface {
	connect(s *Session) (conn, error)
}

// conn is the connection of one session.
type conn interface {
	// do sends the frame of an exchange and returns its answer. Other messages go to Session.incoming. The error is
	// an *Error.
	do(ctx context.Context, x *exchange) (*message, error)

	// send sends a frame that has no answer. The error is an *Error.
	send(ctx context.Context, frame []byte) error

	// negotiated is called once, with the revision of the session.
	negotiated(revision string)

	// listen receives what the server sends outside of calls, in a goroutine of its own, until the session ends.
	listen()

	// cancelsByClosing reports whether a cancelled request is closed, so that the server needs no notification.
	cancelsByClosing() bool

	// close ends the connection, after the context of the session. It returns when nothing of it runs any more.
	close()
}

// Session is one session with a server. Over HTTP with 2026-07-28, which has no sessions, it may serve any number of
// callers. It is safe for concurrent use. It keeps at most one connection of its own, to listen.
type Session struct {
	options      Options
	conn         conn
	revision     string
	modern       bool   // revision is 2026-07-28
	meta         []byte // the members of _meta in each request of 2026-07-28
	name         string // of the server
	version      string // of the server
	instructions string
	lists        bool // the server tells when its list changes
	logs         bool // the server has logs

	ctx     context.Context // ends with the session; has the values of that of Open
	cancel  context.CancelFunc
	done    chan struct{}
	lastID  atomic.Uint64
	unknown atomic.Int32  // how many messages belonged to nothing
	replies chan struct{} // holds one element for each answer that is being sent
	running sync.WaitGroup
	telling sync.WaitGroup // of the notifications that requests are cancelled, which are begun until closing

	mu      sync.Mutex
	closing bool                                  // Close was called; guarded by mu
	ended   bool                                  // guarded by mu
	err     error                                 // guarded by mu
	level   string                                // of the log messages that are asked for; guarded by mu
	open    map[*exchange]context.CancelCauseFunc // that wait for answers, with what ends them; guarded by mu
	asked   map[string]*question                  // that wait, by raw id; guarded by mu
}

// Protocol returns the revision that the session speaks.
func (s *Session) Protocol() string { return s.revision }

// Server returns name and version of the server, as it says.
func (s *Session) Server() (name, version string) { return s.name, s.version }

// Instructions returns the instructions of the server, as it says. They must not reach a model.
func (s *Session) Instructions() string { return s.instructions }

// Done returns a channel that is closed when the session has ended.
func (s *Session) Done() <-chan struct{} { return s.done }

// Err returns why the session has ended; nil before that, and after Close.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Close ends the session: its calls fail, and a server with sessions is told, for at most two seconds. Before that the
// server is told of the requests that were cancelled, for as long. Close returns when nothing of the session runs any
// more, except that it reads the output of a program up to its end.
func (s *Session) Close() {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.telling.Wait()
	s.end(nil)
	s.conn.close()
	s.running.Wait()
}

// end ends the session, once. Nil means that Close was called.
func (s *Session) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.ended, s.err = true, err
	if err != nil {
		s.options.Memory.forget()
	}
	s.cancel()
	close(s.done)
	for _, cancel := range s.open {
		if cancel != nil {
			cancel(ErrClosed)
		}
	}
}

// enter notes that an exchange waits for its answer, until leave. If the session ends before that, it calls cancel,
// which may be nil. It reports false if the session has ended.
func (s *Session) enter(x *exchange, cancel context.CancelCauseFunc) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.open[x] = cancel
	}
	return !s.ended
}

// leave undoes enter.
func (s *Session) leave(x *exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, x)
}

// goWhileOpen runs a function of the session in a goroutine. It reports false, and does nothing, if the session has
// ended.
func (s *Session) goWhileOpen(run func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.running.Go(run)
	}
	return !s.ended
}

// closedError returns the error of a request of a session that has ended.
func (s *Session) closedError(kind Kind) *Error {
	if err := s.Err(); err != nil {
		return &Error{Kind: kind, Err: fmt.Errorf("%w: %w", ErrClosed, err)}
	}
	return &Error{Kind: kind, Err: ErrClosed}
}

// newExchange returns a request whose params are the members of an object.
func (s *Session) newExchange(method string, params []byte) *exchange {
	x := &exchange{id: newID(s.lastID.Add(1)), method: method, maxSize: s.options.MaxMessage}
	x.frame = s.encode(x, params, nil)
	return x
}

// encode returns the frame of an exchange, with further members of _meta.
func (s *Session) encode(x *exchange, params, meta []byte) []byte {
	size := len(params) + len(meta) + len(s.meta) + 128
	return s.endRequest(beginRequest(make([]byte, 0, size), x.id, x.method), params, meta)
}

// endRequest appends params, the members of an object, with the members of _meta.
func (s *Session) endRequest(dst, params, meta []byte) []byte {
	dst = append(append(dst, `,"params":{`...), params...)
	comma := len(params) > 0
	if len(s.meta) > 0 || len(meta) > 0 {
		if comma {
			dst = append(dst, ',')
		}
		dst = append(append(dst, `"_meta":{`...), s.meta...)
		if len(s.meta) > 0 && len(meta) > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, meta...), '}')
	}
	return append(dst, "}}"...)
}

// do carries an exchange out. The error is an *Error.
func (s *Session) do(ctx context.Context, x *exchange) (*message, error) {
	select {
	case <-s.done:
		return nil, s.closedError(NotSent)
	default:
	}
	if err := context.Cause(ctx); err != nil {
		return nil, &Error{Kind: NotSent, Err: err}
	}
	s.trace(true, x.frame)
	m, err := s.conn.do(ctx, x)
	if err != nil {
		if ctx.Err() != nil && x.method != "initialize" && x.method != "server/discover" && !s.conn.cancelsByClosing() {
			s.tellCancelled(x.id)
		}
		return nil, err
	}
	if m.rpc != nil {
		return nil, &Error{Kind: Rejected, RPC: m.rpc}
	}
	return m, nil
}

func (s *Session) trace(sent bool, message []byte) {
	if s.options.Trace != nil {
		s.options.Trace(sent, message)
	}
}

// tellCancelled tells the server that a request is cancelled. Only Close waits for it.
func (s *Session) tellCancelled(id string) {
	frame := append(beginRequest(nil, "", "notifications/cancelled"), `,"params":{"requestId":"`...)
	frame = append(append(frame, id...), `"}}`...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing || s.ended {
		return
	}
	s.telling.Go(func() {
		ctx, cancel := context.WithTimeout(s.ctx, farewell)
		defer cancel()
		s.send(ctx, frame) // a server that does not get it answers a request that nobody waits for
	})
}

// send sends a frame without an answer.
func (s *Session) send(ctx context.Context, frame []byte) error {
	s.trace(true, frame)
	return s.conn.send(ctx, frame)
}

// maxUnknown is how many messages that belong to nothing are accepted.
const maxUnknown = 100

var errUnknown = &limitError{fmt.Sprintf("the server sent %d messages that belong to no request", maxUnknown)}

// countUnknown counts a message that belongs to nothing, such as an answer to a request that was never sent. Too many
// end the exchange that received them; without one, the session.
func (s *Session) countUnknown(x *exchange) {
	switch {
	case x != nil:
		x.countUnknown()
	case s.unknown.Add(1) == maxUnknown:
		s.end(errUnknown)
	}
}

// Ping asks the server for a sign of life: by ping, and since 2026-07-28 by server/discover. The error is an
// [*Error].
func (s *Session) Ping(ctx context.Context) error {
	method := "ping"
	if s.modern {
		method = "server/discover"
	}
	_, err := s.do(ctx, s.newExchange(method, nil))
	return err
}

// Call calls a tool. The error is an [*Error] or an [*InputRequired]. When ctx ends, Call returns at once with an
// *Error that wraps its cause, and the server is told.
func (s *Session) Call(ctx context.Context, r *Request) (*Result, error) {
	for round := 1; ; round++ {
		result, err := s.callOnce(ctx, r)
		required, ok := err.(*InputRequired)
		if !ok || len(required.Questions) > 0 || len(required.Answered) == 0 || round == MaxQuestions {
			return result, err
		}
		next := *r // the server asked for roots only
		next.Responses, next.State = required.Answered, required.State
		r = &next
	}
}

// callOnce sends one tools/call.
func (s *Session) callOnce(ctx context.Context, r *Request) (*Result, error) {
	params := make([]byte, 0, len(r.Name)+len(r.Arguments)+len(r.State)+64)
	params = jsonscan.AppendString(append(params, `"name":`...), r.Name)
	params = append(params, `,"arguments":`...)
	if r.Arguments == nil {
		params = append(params, "{}"...)
	} else {
		params = append(params, r.Arguments...)
	}
	params = appendResponses(params, r)
	x := &exchange{
		id: newID(s.lastID.Add(1)), method: "tools/call", name: r.Name, call: r, maxSize: s.options.MaxMessage,
	}
	x.frame = s.encode(x, params, s.callMeta(x.id, r))
	if r.Ask != nil && !s.modern {
		asking, stop := context.WithCancel(ctx)
		defer stop()
		x.asking = asking
	}
	m, err := s.do(ctx, x)
	if err != nil {
		return nil, err
	}
	return s.readCall(m, x)
}

// callMeta returns the members of _meta of a call.
func (s *Session) callMeta(id string, r *Request) []byte {
	meta := slices.Clone(inner(r.Meta))
	add := func(name, value string) {
		if len(meta) > 0 {
			meta = append(meta, ',')
		}
		meta = jsonscan.AppendString(append(append(append(meta, '"'), name...), `":`...), value)
	}
	if r.Progress != nil {
		add("progressToken", id)
	}
	if level := s.currentLogLevel(); s.modern && level != "" {
		add("io.modelcontextprotocol/logLevel", level)
	}
	return meta
}

func appendResponses(dst []byte, r *Request) []byte {
	if r.Responses != nil {
		dst = append(dst, `,"inputResponses":{`...)
		for i, key := range slices.Sorted(maps.Keys(r.Responses)) {
			if i > 0 {
				dst = append(dst, ',')
			}
			answer := r.Responses[key].Result
			if answer == nil {
				answer = cancelled
			}
			dst = append(append(jsonscan.AppendString(dst, key), ':'), answer...)
		}
		dst = append(dst, '}')
	}
	if r.State != "" {
		dst = jsonscan.AppendString(append(dst, `,"requestState":`...), r.State)
	}
	return dst
}

// readCall reads the result of a call.
func (s *Session) readCall(m *message, x *exchange) (*Result, error) {
	if !isObject(m.result) {
		return nil, invalid("the result of the call is no object")
	}
	switch kind := m.text("resultType"); kind {
	case "", "complete":
	case "input_required":
		return nil, s.readRequired(m)
	default:
		return nil, invalid("the result of the call has the unknown type %q", jsonscan.Excerpt(kind))
	}
	r := &Result{
		Content: m.members.Get("content"), Structured: m.members.Get("structuredContent"), Meta: m.members.Get("_meta"),
		Raw: m.result, Bytes: x.received(),
	}
	if r.Content != nil && r.Content[0] != '[' {
		return nil, invalid("content of the result is no array")
	}
	if r.Meta != nil && !isObject(r.Meta) {
		r.Meta = nil
	}
	switch string(m.members.Get("isError")) {
	case "true":
		r.IsError = true
	case "", "false", "null":
	default:
		return nil, invalid("isError of the result is no boolean")
	}
	if r.Content == nil && r.Structured == nil && !r.IsError {
		return nil, invalid("the result of the call has no content")
	}
	return r, nil
}

// readRequired reads a result that asks questions. The session answers those for roots itself.
func (s *Session) readRequired(m *message) error {
	required := &InputRequired{State: m.text("requestState")}
	if len(required.State) > maxState {
		return invalid("the server sent a state of more than %d bytes", maxState)
	}
	requests := m.members.Get("inputRequests")
	if requests != nil && !isObject(requests) {
		return invalid("inputRequests of the result are no object")
	}
	var problem error
	err := jsonscan.Members(requests, MaxDepth, func(name, value []byte) bool {
		q := Question{Key: string(name)}
		q.Method, _ = jsonscan.LookupText(value, "method")
		q.Params, _ = jsonscan.Lookup(value, "params")
		switch {
		case q.Method == "roots/list":
			if required.Answered == nil {
				required.Answered = map[string]Answer{}
			}
			required.Answered[q.Key] = Answer{Result: s.rootsResult()}
		case q.Method != "elicitation/create" && q.Method != "sampling/createMessage" || !isObject(q.Params):
			problem = invalid("the server asked a question of the unknown kind %q", jsonscan.Excerpt(q.Method))
		default:
			required.Questions = append(required.Questions, q)
		}
		if len(required.Questions)+len(required.Answered) > MaxQuestions {
			problem = invalid("the server asked more than %d questions at once", MaxQuestions)
		}
		return problem == nil
	})
	switch {
	case problem != nil:
		return problem
	case requests != nil && err != nil:
		return &Error{Kind: Invalid, Err: wrapSyntax(err)}
	}
	return required
}

// invalid returns the Error for an answer that is not valid.
func invalid(format string, args ...any) *Error {
	return &Error{Kind: Invalid, Err: fmt.Errorf(format, args...)}
}
