package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"hatchel/hcl/jsonscan"
)

// While a call of a session waits for people, it is stored: its request, the state that the Handler resumes
// it with, and the questions that the client was asked. When its process stops or dies, the stream of the
// call ends without a reply. The client returns for the rest to another process, or to this one after its
// restart, which takes the record by compare-and-swap and continues the call. Answers that arrive in between
// are stored with it. Until that process has stored the call itself, or begins to have effects, others can take
// the record from it.

// ErrSuspended reports that the call continues in another process, or will when the client returns for it.
// The Handler returns [Questions], which are not used.
var ErrSuspended = errors.New("the call continues in another process")

// SuspendableClient is the client of a call that may leave while the call waits for people, and return for its result
// to this process or another one.
type SuspendableClient interface {
	// Suspends reports whether the call is to be suspended instead of waiting for people.
	Suspends() bool
	// Wait runs a function in which the call waits for people; see [CallRequest.Wait].
	Wait(ctx context.Context, state func() (string, error), wait func() error) error
	// Proceed must be called before a call that has waited in another process has a new effect; see
	// [CallRequest.Proceed].
	Proceed(ctx context.Context) error
	// Detach closes the connection and asks the client to return after retry. It reports whether it has.
	Detach(retry time.Duration) bool
}

var _ SuspendableClient = (*CallRequest)(nil)

// Suspends reports whether the call is to be suspended instead of waiting for people.
func (r *CallRequest) Suspends() bool { return r.wire != nil && isClosed(r.wire.suspending()) }

// Wait runs a function in which the call waits for people, for answers to its questions or something else,
// and returns its error. If the client can return for the call to another process, the call is stored
// meanwhile with the state that it is resumed with, which is empty for a call that is made again; state is
// called once, before wait. The error is [ErrSuspended] also when another process has taken the call, which
// took this one for dead, and [ErrUnavailable] when the call cannot be stored; then nothing may follow.
func (r *CallRequest) Wait(ctx context.Context, state func() (string, error), wait func() error) error {
	if r.wire == nil {
		return wait()
	}
	record := r.wire.newCallRecord()
	if record == nil {
		return wait()
	}
	var err error
	if record.call.State, err = state(); err != nil {
		return err
	}
	record.call.Request = r.message.appendRequest(nil)
	r.beginWait(record)
	defer record.session.table.addWaiting(record)()
	if err = record.save(ctx, 0); err == nil {
		if err = r.Proceed(ctx); err == nil {
			err = wait()
		} else if errors.Is(err, ErrSuspended) {
			return errors.Join(err, record.discard(ctx))
		}
	}
	if errors.Is(err, ErrSuspended) {
		return err // Server.suspendCall releases the record
	}
	switch taken, failed := record.end(ctx); {
	case failed != nil:
		return failed
	case taken:
		return ErrSuspended
	}
	r.mu.Lock()
	r.record = nil
	r.mu.Unlock()
	return err
}

// Continues reports whether the call has waited for people in another process.
func (r *CallRequest) Continues() bool { return r.continues }

// Proceed must be called before a call that has waited for people in another process has a new effect; Wait calls it,
// too. Until then a third process takes the call if this one ends. The error is [ErrSuspended] if it has, because it
// took this process for dead, and [ErrUnavailable] when the store does not say so; then nothing may follow.
func (r *CallRequest) Proceed(ctx context.Context) error {
	r.mu.Lock()
	from := r.from
	r.mu.Unlock()
	if from == nil {
		return nil
	}
	err := from.confirm(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.from = nil
	case errors.Is(err, ErrSuspended) && r.record == nil:
		r.record = from
	}
	return err
}

// beginWait sets the record of the call. Questions that another process has asked are in it, too.
func (r *CallRequest) beginWait(record *callRecord) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.resumed {
		here := record.newQuestion(q.Key, q.ID)
		here.Result, here.Error = q.Result, q.Error
		record.call.Asked = append(record.call.Asked, here)
	}
	record.call.Progress = r.progress
	r.record, r.resumed = record, nil
}

// waiting returns the record of the call; nil for none.
func (r *CallRequest) waiting() *callRecord {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.record
}

// askedQuestion is a question that the client was asked and has not answered.
type askedQuestion struct {
	key, id  string
	response <-chan clientResponse
	again    bool // it is asked again
}

// leaveAsked keeps a question for the process that continues the call.
func (r *CallRequest) leaveAsked(q askedQuestion) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, q)
}

// takeAsked returns the question with this key that the client was asked before the call was suspended.
func (r *CallRequest) takeAsked(key string) (q askedQuestion, asked bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.asked, func(q askedQuestion) bool { return q.key == key })
	if i < 0 {
		return q, false
	}
	q = r.asked[i]
	r.asked = slices.Delete(r.asked, i, i+1)
	return q, true
}

// resumeFrom makes the request that of a suspended call. Its questions were asked already.
func (r *CallRequest) resumeFrom(resp *postResponse) {
	call := resp.suspended
	r.continues = true
	r.State, r.asked, r.resumed, r.from = call.State, resp.asked, call.Asked, resp.from
	r.progress, r.reported = call.Progress, call.Progress > 0
}

var (
	// errSuspendedCall ends a request without a reply.
	errSuspendedCall = &Error{Code: CodeInternalError, Message: "The call continues in another process"}

	errNotSuspended = &Error{Code: CodeInternalError, Message: "The server was stopped while this call waited for a " +
		"person, and the call could not be stored. Nothing was done after that. Call again"}
	errNotResumed = &Error{Code: CodeInternalError, Message: "The server was restarted while this call waited for a " +
		"person, and its configuration was changed. Nothing was done after that. Call again"}
)

// suspendCall has another process continue a call that the Handler has suspended, and returns the error that
// ends the request here.
func (s *Server) suspendCall(ctx context.Context, m *message, req *CallRequest) *Error {
	record := req.waiting()
	if record == nil {
		return errNotSuspended
	}
	req.wire.leave()
	err := record.release(ctx)
	if err != nil {
		s.options.Logger.ErrorContext(ctx, "call not suspended",
			"method", string(m.method), "name", req.Name, "error", err)
		return errNotSuspended
	}
	if err := s.abandonAsked(ctx, record.session, req.asked); err != nil {
		s.options.Logger.WarnContext(ctx, "answer to a suspended call not stored", "error", err)
	}
	return errSuspendedCall
}

func (m *message) appendRequest(dst []byte) []byte {
	dst = append(append(append(dst, `{"jsonrpc":"2.0","id":`...), m.id...), `,"method":`...)
	dst = append(jsonscan.AppendString(dst, m.method), `,"params":`...)
	return append(append(dst, m.params...), '}')
}

// suspending implements wire.
func (resp *postResponse) suspending() <-chan struct{} {
	if !resp.mayContinueElsewhere() {
		return nil
	}
	return resp.server.closing
}

// mayContinueElsewhere reports whether the client can return for the call to another process, which it does
// with the id of an event.
func (resp *postResponse) mayContinueElsewhere() bool {
	return resp.session != nil && !resp.packet.batch && resp.server.sessions.store != nil && resp.accepts.events &&
		(resp.session.revision.sendsPrimingEvent() || resp.resumable())
}

// newCallRecord implements wire.
func (resp *postResponse) newCallRecord() *callRecord {
	if !resp.mayContinueElsewhere() {
		return nil
	}
	resp.mu.Lock()
	defer resp.mu.Unlock()
	resp.startStreamLocked()
	in := streamName{resp.session.table.process, resp.session.serial, resp.stream}
	return &callRecord{
		session: resp.session, call: suspendedCall{In: in}, stored: StoredCall{Name: in.recordOf(resp.session)},
	}
}

// leave implements wire.
func (resp *postResponse) leave() {
	resp.mu.Lock()
	defer resp.mu.Unlock()
	resp.writeLocked(appendRetry(nil, resp.server.returnDelay()))
}

// abandonAsked stops waiting for questions of a suspended call, and passes on the answers that have come.
func (s *Server) abandonAsked(ctx context.Context, sess *session, asked []askedQuestion) (err error) {
	for _, q := range asked {
		if !sess.requests.remove(q.id) {
			_, failed := s.relay.answerSuspended(ctx, sess, q.id, <-q.response, "")
			err = errors.Join(err, failed)
		}
	}
	return err
}

// answerSuspended delivers the answer to a question of a call that waits, or has waited, to the process that
// has the call, or stores it if there is none. It reports false for any other question. Gone is the name of a
// process that is known to be gone, or empty.
func (r *relay) answerSuspended(
	ctx context.Context, sess *session, id string, response clientResponse, gone string,
) (suspended bool, err error) {
	t := sess.table
	if t.store == nil {
		return false, nil
	}
	for {
		suspended, at, err := t.storeAnswer(ctx, sess, id, response, gone)
		switch {
		case err != nil || at == nil:
			return suspended, err
		case at.Process == t.process:
			sess.requests.resolve(id, response)
			return true, nil
		}
		err = ErrGone
		if r.courier != nil {
			err = r.sendAnswer(ctx, at.Process, sess, id, response)
		}
		if !errors.Is(err, ErrGone) {
			return true, err
		}
		gone = at.Process
	}
}

func (r *relay) sendAnswer(
	ctx context.Context, to string, sess *session, id string, response clientResponse,
) (err error) {
	n := &news{Kind: newsAnswer, Session: sess.name, ID: jsonscan.AppendString(nil, id), Result: response.result}
	if response.err != nil {
		n.Failure, err = json.Marshal(response.err)
	}
	if err != nil {
		return err
	}
	return r.send(ctx, to, n)
}
