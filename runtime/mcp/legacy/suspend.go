package legacy

import (
	"hatchel/runtime/mcp"

	"context"
	"encoding/json"
	"errors"
	"slices"

	"hatchel/hcl/jsonscan"
)

// While a call of a session waits for people, it is stored: its request, the state that the Handler resumes
// it with, and the questions that the client was asked. When its process stops or dies, the stream of the
// call ends without a reply. The client returns for the rest to another process, or to this one after its
// restart, which takes the record by compare-and-swap and continues the call. Answers that arrive in between
// are stored with it. Until that process has stored the call itself, or begins to have effects, others can take
// the record from it.

// isMovable reports whether the client can return for the call to another process.
func (c *peerRequest) isMovable() bool { return c.resp != nil && c.resp.mayContinueElsewhere() }

// Suspends implements mcp.LegacyClient.
func (c *peerRequest) Suspends() bool { return c.isMovable() && c.peer.server.core.IsClosing() }

// newRecord returns a record of the call, which is not stored yet; nil if the client cannot return
// for the call to another process.
func (c *peerRequest) newRecord() *callRecord {
	if !c.isMovable() {
		return nil
	}
	sess, in := c.peer.session, c.resp.streamName()
	return &callRecord{session: sess, call: suspendedCall{In: in}, stored: StoredCall{Name: in.recordOf(sess)}}
}

// Wait implements mcp.LegacyClient.
func (c *peerRequest) Wait(ctx context.Context, state func() (string, error), wait func() error) error {
	record := c.newRecord()
	if record == nil {
		return wait()
	}
	var err error
	if record.call.State, err = state(); err != nil {
		return err
	}
	record.call.Request = c.message.AppendRequest(nil)
	c.beginWait(record)
	defer record.session.table.addWaiting(record)()
	if err = record.save(ctx, 0); err == nil {
		if err = c.Proceed(ctx); err == nil {
			err = wait()
		} else if errors.Is(err, mcp.ErrSuspended) {
			return errors.Join(err, record.discard(ctx))
		}
	}
	if errors.Is(err, mcp.ErrSuspended) {
		return err // suspend releases the record
	}
	switch taken, failed := record.end(ctx); {
	case failed != nil:
		return failed
	case taken:
		return mcp.ErrSuspended
	}
	c.mu.Lock()
	c.record = nil
	c.mu.Unlock()
	return err
}

// Continues implements mcp.LegacyClient.
func (c *peerRequest) Continues() bool { return c.resp != nil && c.resp.suspended != nil }

// Proceed implements mcp.LegacyClient.
func (c *peerRequest) Proceed(ctx context.Context) error {
	c.mu.Lock()
	from := c.from
	c.mu.Unlock()
	if from == nil {
		return nil
	}
	err := from.confirm(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.from = nil
	case errors.Is(err, mcp.ErrSuspended) && c.record == nil:
		c.record = from
	}
	return err
}

// beginWait sets the record of the call. Questions that another process has asked are in it, too.
func (c *peerRequest) beginWait(record *callRecord) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range c.resumed {
		here := record.newQuestion(q.Key, q.ID)
		here.Result, here.Error = q.Result, q.Error
		record.call.Asked = append(record.call.Asked, here)
	}
	record.call.Progress = c.req.LastProgress()
	c.record, c.resumed = record, nil
}

// waiting returns the record of the call; nil for none.
func (c *peerRequest) waiting() *callRecord {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.record
}

// askedQuestion is a question that the client was asked and has not answered.
type askedQuestion struct {
	key, id  string
	response <-chan clientResponse
	again    bool // it is asked again
}

// keepAsked keeps a question for the process that continues the call.
func (c *peerRequest) keepAsked(q askedQuestion) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, q)
}

// takeAsked returns the question with this key that the client was asked before the call was suspended.
func (c *peerRequest) takeAsked(key string) (q askedQuestion, asked bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.asked, func(q askedQuestion) bool { return q.key == key })
	if i < 0 {
		return q, false
	}
	q = c.asked[i]
	c.asked = slices.Delete(c.asked, i, i+1)
	return q, true
}

var (
	// errSuspendedCall ends a request without a reply.
	errSuspendedCall = &mcp.Error{Code: mcp.CodeInternalError, Message: "The call continues in another process"}

	errNotSuspended = &mcp.Error{Code: mcp.CodeInternalError, Message: "The server was stopped while this call waited for " +
		"a person, and the call could not be stored. Nothing was done after that. Call again"}
	errNotResumed = &mcp.Error{Code: mcp.CodeInternalError, Message: "The server was restarted while this call waited " +
		"for a person, and its configuration was changed. Nothing was done after that. Call again"}
)

// Suspend implements mcp.LegacyClient.
func (c *peerRequest) Suspend(ctx context.Context) *mcp.Error {
	record := c.waiting()
	if record == nil {
		return errNotSuspended
	}
	c.resp.askToReturn()
	server := c.peer.server
	err := record.release(ctx)
	if err != nil {
		server.log.ErrorContext(ctx, "call not suspended",
			"method", string(c.message.Method), "name", c.req.Name, "error", err)
		return errNotSuspended
	}
	if err := server.abandonAsked(ctx, record.session, c.asked); err != nil {
		server.log.WarnContext(ctx, "answer to a suspended call not stored", "error", err)
	}
	return errSuspendedCall
}

// abandonAsked stops waiting for questions of a suspended call, and passes on the answers that have come.
func (s *Server) abandonAsked(ctx context.Context, sess *session, asked []askedQuestion) (err error) {
	for _, q := range asked {
		if !sess.questions.remove(q.id) {
			_, failed := s.relay.answerSuspended(ctx, sess, q.id, <-q.response, "")
			err = errors.Join(err, failed)
		}
	}
	return err
}

// answerSuspended delivers the answer to a question of a call that waits, or has waited, to the process that
// has the call, or stores it if there is none. It reports false for any other question. Ended is the name of a
// process that is known to have ended, or empty.
func (r *relay) answerSuspended(
	ctx context.Context, sess *session, id string, response clientResponse, ended string,
) (suspended bool, err error) {
	t := sess.table
	if t.store == nil {
		return false, nil
	}
	for {
		suspended, at, err := t.storeAnswer(ctx, sess, id, response, ended)
		switch {
		case err != nil || at == nil:
			return suspended, err
		case at.Process == t.process:
			sess.questions.resolve(id, response)
			return true, nil
		}
		err = ErrNoReceiver
		if r.courier != nil {
			err = r.sendAnswer(ctx, at.Process, sess, id, response)
		}
		if !errors.Is(err, ErrNoReceiver) {
			return true, err
		}
		ended = at.Process
	}
}

func (r *relay) sendAnswer(
	ctx context.Context, to string, sess *session, id string, response clientResponse,
) (err error) {
	m := &relayMessage{
		Kind: kindAnswer, Session: sess.name, ID: jsonscan.AppendString(nil, id), Result: response.result,
	}
	if response.err != nil {
		m.Failure, err = json.Marshal(response.err)
	}
	if err != nil {
		return err
	}
	return r.send(ctx, to, m)
}
