package legacy

import (
	"context"
	"errors"
	"slices"

	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/mcp/legacy/handover"
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
func (c *peerRequest) newRecord() *handover.CallRecord {
	if !c.isMovable() {
		return nil
	}
	c.resp.StartStream()
	return c.peer.server.relay.NewCallRecord(c.peer.session, c.resp.streamName())
}

// Wait implements mcp.LegacyClient.
func (c *peerRequest) Wait(ctx context.Context, state func() (string, error), wait func() error) error {
	record := c.newRecord()
	if record == nil {
		return wait()
	}
	resumed, err := state()
	if err != nil {
		return err
	}
	c.beginWait(record, resumed)
	defer c.peer.session.table.addWaiting(record)()
	if err = record.Save(ctx, 0); err == nil {
		if err = c.Proceed(ctx); err == nil {
			err = wait()
		} else if errors.Is(err, mcp.ErrSuspended) {
			return errors.Join(err, record.Discard(ctx))
		}
	}
	if errors.Is(err, mcp.ErrSuspended) {
		return err // suspend releases the record
	}
	switch taken, failed := record.End(ctx); {
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
	err := from.Confirm(ctx)
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

// beginWait sets the record of the call, and describes the call in it. Questions that another process has asked are in
// it, too.
func (c *peerRequest) beginWait(record *handover.CallRecord, state string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	record.Describe(c.message.AppendRequest(nil), state, c.req.LastProgress(), c.resumed)
	c.record, c.resumed = record, nil
}

// waiting returns the record of the call; nil for none.
func (c *peerRequest) waiting() *handover.CallRecord {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.record
}

// askedQuestion is a question that the client was asked and has not answered.
type askedQuestion struct {
	key, id  string
	response <-chan handover.Response
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

	errNotSuspended = &mcp.Error{Code: mcp.CodeInternalError, Message: "The server was stopped while this call " +
		"waited for a person, and the call could not be stored. Nothing was done after that. Call again"}
	errNotResumed = &mcp.Error{Code: mcp.CodeInternalError, Message: "The server was restarted while this call " +
		"waited for a person, and its configuration was changed. Nothing was done after that. Call again"}
)

// Suspend implements mcp.LegacyClient.
func (c *peerRequest) Suspend(ctx context.Context) *mcp.Error {
	record := c.waiting()
	if record == nil {
		return errNotSuspended
	}
	c.resp.askToReturn()
	server := c.peer.server
	err := record.Release(ctx)
	if err != nil {
		server.log.ErrorContext(ctx, "call not suspended",
			"method", string(c.message.Method), "name", c.req.Name, "error", err)
		return errNotSuspended
	}
	if err := server.abandonAsked(ctx, c.peer.session, c.asked); err != nil {
		server.log.WarnContext(ctx, "answer to a suspended call not stored", "error", err)
	}
	return errSuspendedCall
}

// abandonAsked stops waiting for questions of a suspended call, and passes on the answers that have come.
func (s *Server) abandonAsked(ctx context.Context, sess *session, asked []askedQuestion) (err error) {
	for _, q := range asked {
		if !sess.questions.remove(q.id) {
			_, failed := s.relay.AnswerSuspended(ctx, sess, q.id, <-q.response, "")
			err = errors.Join(err, failed)
		}
	}
	return err
}
