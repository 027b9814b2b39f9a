package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"hatchel/hcl/jsonscan"
)

// When a process stops, a call of a session that waits for people is suspended: its request, the state
// that the Handler resumes it with, and the questions that the client was asked are stored, and its
// stream ends without a reply. The client returns for the rest to another process, or to this one after
// its restart, which takes the call and continues it. Answers that arrive in between are stored with it.

// ErrSuspended reports that this process stops, and that the client will return for the rest of the call.
// The Handler returns [Questions] with the state to resume the call with, or without one for a call that
// is made again.
var ErrSuspended = errors.New("the call continues in another process")

// Suspends reports whether the call is to be suspended instead of waiting for people.
func (r *CallRequest) Suspends() bool { return r.wire != nil && isClosed(r.wire.suspending()) }

// askedQuestion is a question that the client was asked and has not answered.
type askedQuestion struct {
	key, id  string
	response <-chan clientResponse
}

// leaveAsked keeps a question for the process that continues the call.
func (r *CallRequest) leaveAsked(q askedQuestion) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, q)
}

// takeAsked returns the question with this key that the client was asked before the call was suspended.
func (r *CallRequest) takeAsked(key string) (id string, response <-chan clientResponse, asked bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, q := range r.asked {
		if q.key == key {
			r.asked = append(r.asked[:i:i], r.asked[i+1:]...)
			return q.id, q.response, true
		}
	}
	return "", nil, false
}

// resumeFrom makes the request that of a suspended call. Its questions were asked already.
func (r *CallRequest) resumeFrom(call *suspendedCall, asked []askedQuestion) {
	r.State, r.asked = call.State, asked
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

// suspendCall stores a call that the Handler has suspended, and returns the error that ends the request.
func (s *Server) suspendCall(ctx context.Context, m *message, req *CallRequest, state string) *Error {
	call := &suspendedCall{Request: m.appendRequest(nil), State: state, Progress: req.progress}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	if err := req.wire.suspend(ctx, call, req.asked); err != nil {
		s.options.Logger.ErrorContext(ctx, "call not suspended",
			"method", string(m.method), "name", req.Name, "error", err)
		return errNotSuspended
	}
	return errSuspendedCall
}

func (m *message) appendRequest(dst []byte) []byte {
	dst = append(append(append(dst, `{"jsonrpc":"2.0","id":`...), m.id...), `,"method":`...)
	dst = append(jsonscan.AppendString(dst, m.method), `,"params":`...)
	return append(append(dst, m.params...), '}')
}

// suspending implements wire. The client can return only with the id of an event.
func (resp *postResponse) suspending() <-chan struct{} {
	if resp.session == nil || resp.packet.batch || resp.server.sessions.store == nil || !resp.accepts.events ||
		!resp.session.revision.sendsPrimingEvent() && !resp.resumable() {
		return nil
	}
	return resp.server.closing
}

// suspend implements wire. Answers that arrive from then on are looked for in the record.
func (resp *postResponse) suspend(ctx context.Context, call *suspendedCall, asked []askedQuestion) error {
	resp.mu.Lock()
	resp.startStreamLocked()
	resp.writeLocked(appendRetry(nil, resp.server.returnDelay()))
	stream, sess := resp.stream, resp.session
	resp.mu.Unlock()
	_, events, _, _ := sess.log.after(eventID{stream: stream})
	for _, q := range asked {
		call.Asked = append(call.Asked, newSuspendedQuestion(q, events))
	}
	in := streamName{sess.table.process, sess.serial, stream}
	if err := sess.table.addSuspended(ctx, sess, in, call); err != nil {
		return err
	}
	if err := resp.server.abandonAsked(ctx, sess, asked); err != nil {
		resp.server.options.Logger.WarnContext(ctx, "answer to a suspended call not stored", "error", err)
	}
	return nil
}

// abandonAsked stops waiting for questions of a suspended call, and passes on the answers that have come.
func (s *Server) abandonAsked(ctx context.Context, sess *session, asked []askedQuestion) (err error) {
	for _, q := range asked {
		if !sess.requests.remove(q.id) {
			_, failed := s.relay.answerSuspended(ctx, sess, q.id, <-q.response)
			err = errors.Join(err, failed)
		}
	}
	return err
}

// newSuspendedQuestion returns a question with its event, which is among these.
func newSuspendedQuestion(q askedQuestion, events []event) suspendedQuestion {
	out := suspendedQuestion{Key: q.key, ID: q.id}
	begin := append(jsonscan.AppendString([]byte(`{"jsonrpc":"2.0","id":`), q.id), ',')
	for _, e := range events {
		if bytes.HasPrefix(e.frame, begin) {
			out.Seq, out.Frame = e.seq, e.frame
		}
	}
	return out
}

// answerSuspended stores the answer to a question of a suspended call, or delivers it where the call
// continues. It reports false for any other question.
func (r *relay) answerSuspended(
	ctx context.Context, sess *session, id string, response clientResponse,
) (suspended bool, err error) {
	t := sess.table
	if t.store == nil {
		return false, nil
	}
	suspended, continues, err := t.storeAnswer(ctx, sess, id, response)
	switch {
	case err != nil || continues == nil:
		return suspended, err
	case continues.Process == t.process:
		sess.requests.resolve(id, response)
		return true, nil
	case r.courier == nil:
		return true, nil
	}
	n := &news{Kind: newsAnswer, Session: sess.name, ID: jsonscan.AppendString(nil, id), Result: response.result}
	if response.err != nil {
		n.Failure, err = json.Marshal(response.err)
	}
	if err == nil {
		err = r.send(ctx, continues.Process, n)
	}
	if errors.Is(err, ErrGone) {
		err = nil
	}
	return true, err
}
