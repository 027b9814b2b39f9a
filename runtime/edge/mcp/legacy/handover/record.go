package handover

import (
	"hatchel/runtime/edge/mcp"

	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// CallRecord is the record of a call that waits for people in this process. Another process takes the call
// when this one has ended, and this one finds that out at its next change of the record. Its methods may be
// called concurrently.
type CallRecord struct {
	session Session
	relay   *Relay
	storing sync.Mutex // is held while the store is asked, and not in a pause; taken before mu

	mu     sync.Mutex // is never held while the store is asked, so that an answer is never late for its call
	stored StoredCall // guarded by mu, and changed with storing held
	call   Call       // guarded by mu
	taken  bool       // by another process; guarded by mu
}

// NewCallRecord returns the record of a call that waits in a stream, which is not stored yet.
func (r *Relay) NewCallRecord(session Session, in StreamName) *CallRecord {
	return &CallRecord{
		session: session, relay: r, call: Call{In: in}, stored: StoredCall{Name: in.recordOf(session.Name())},
	}
}

// TakenRecord returns the record of a call that was taken from another process.
func (r *Relay) TakenRecord(session Session, call *Call, stored StoredCall) *CallRecord {
	record := &CallRecord{session: session, relay: r, call: *call, stored: stored}
	record.call.Asked = slices.Clone(call.Asked)
	return record
}

// Describe sets what the process that continues the call needs: its request, the state to resume it with, its progress,
// and the questions that were asked before it began to wait here.
func (c *CallRecord) Describe(request []byte, state string, progress float64, asked []Question) {
	c.call.Request, c.call.State, c.call.Progress = request, state, progress
	for _, q := range asked {
		here := c.newQuestion(q.Key, q.ID)
		here.Result, here.Error = q.Result, q.Error
		c.call.Asked = append(c.call.Asked, here)
	}
}

// Save stores the call, unless another process has taken it.
func (c *CallRecord) Save(ctx context.Context, maxWait time.Duration) error {
	return c.change(ctx, maxWait, func(ctx context.Context) (bool, error) {
		stored, call := c.snapshot()
		saved, err := c.relay.SaveCall(ctx, c.session.Name(), stored, call)
		if saved {
			c.mu.Lock()
			c.stored.Version++
			c.mu.Unlock()
		}
		return saved, err
	})
}

// snapshot returns the record and the call as they are now.
func (c *CallRecord) snapshot() (StoredCall, *Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	call := c.call
	call.Asked = slices.Clone(call.Asked)
	return c.stored, &call
}

// Ask adds a question that the client was asked, unless it was asked by another process. While the store is
// unavailable the question is not stored: a process that continued the call would ask again.
func (c *CallRecord) Ask(ctx context.Context, key, id string) error {
	c.mu.Lock()
	isNew := !slices.ContainsFunc(c.call.Asked, func(q Question) bool { return q.ID == id })
	if isNew {
		c.call.Asked = append(c.call.Asked, c.newQuestion(key, id))
	}
	c.mu.Unlock()
	if !isNew {
		return nil
	}
	return ignoreUnavailable(c.Save(ctx, 0))
}

// newQuestion returns a question that the client was asked, with its event.
func (c *CallRecord) newQuestion(key, id string) Question {
	seq, frame := c.session.QuestionEvent(c.call.In.Stream, id)
	return Question{Key: key, ID: id, Seq: seq, Frame: frame}
}

// Answer sets the answer to a question. It is stored if the call waits for other answers, as ask does.
func (c *CallRecord) Answer(ctx context.Context, id string, r Response) error {
	c.mu.Lock()
	asked := c.call.Asked
	key := asked[slices.IndexFunc(asked, func(q Question) bool { return q.ID == id })].Key
	more := false
	for i := range asked {
		if asked[i].Key == key { // it may have been asked several times
			asked[i].answer(r)
		}
		more = more || !asked[i].IsAnswered()
	}
	c.mu.Unlock()
	if !more {
		return nil
	}
	return ignoreUnavailable(c.Save(ctx, 0))
}

func ignoreUnavailable(err error) error {
	if errors.Is(err, mcp.ErrUnavailable) {
		return nil
	}
	return err
}

// Release has another process continue the call when its client returns.
func (c *CallRecord) Release(ctx context.Context) error {
	c.mu.Lock()
	c.call.Released = true
	c.mu.Unlock()
	return c.Save(ctx, storeTimeout)
}

// End removes the record of a call that goes on here. It reports whether another process has taken the call
// instead, which then has the answers, too.
func (c *CallRecord) End(ctx context.Context) (taken bool, err error) {
	err = c.change(ctx, storeTimeout, func(ctx context.Context) (bool, error) {
		stored, _ := c.snapshot()
		if stored.Version == 0 { // there is none
			return true, nil
		}
		return c.relay.store.RemoveCall(ctx, stored)
	})
	if err != nil || !c.isTaken() {
		return false, err
	}
	_, call := c.snapshot()
	for _, q := range call.Asked {
		if q.IsAnswered() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
			_, failed := c.relay.AnswerSuspended(ctx, c.session, q.ID, q.Response(), "")
			cancel()
			err = errors.Join(err, failed)
		}
	}
	return true, err
}

// Confirm stores that a call that was taken from another process goes on here. It fails with ErrSuspended if a third
// process has taken the call.
func (c *CallRecord) Confirm(ctx context.Context) error {
	c.mu.Lock()
	c.call.Taking = false
	c.mu.Unlock()
	if err := c.Save(ctx, storeTimeout); err != nil {
		return err
	}
	if c.isTaken() {
		return mcp.ErrSuspended
	}
	return nil
}

func (c *CallRecord) isTaken() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.taken
}

// Discard removes the record of a call that another process has, under another record.
func (c *CallRecord) Discard(ctx context.Context) error {
	err := c.change(ctx, storeTimeout, func(ctx context.Context) (bool, error) {
		stored, _ := c.snapshot()
		return c.relay.store.RemoveCall(ctx, stored)
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken = true
	return err
}

// Refresh takes over the answers that other processes have stored, and ends the wait of a call that another
// process has taken.
func (c *CallRecord) Refresh(ctx context.Context) error {
	c.storing.Lock()
	defer c.storing.Unlock()
	return c.load(ctx)
}

// change repeats an attempt to change the record until it succeeds, or another process has taken the call. It
// waits for an unavailable store for at most maxWait. Others use the store in its pauses.
func (c *CallRecord) change(
	ctx context.Context, maxWait time.Duration, attempt func(context.Context) (bool, error),
) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	began := time.Now()
	var failed error
	for range storing.Attempts(ctx) {
		changed, err := false, error(nil)
		for !changed && err == nil { // at once after another process has changed the record
			if c.isTaken() {
				return nil
			}
			changed, err = c.changeOnce(ctx, attempt)
		}
		if changed || !errors.Is(err, mcp.ErrUnavailable) || time.Since(began) >= maxWait {
			return err
		}
		failed = err
	}
	return failed
}

// changeOnce makes one attempt, and reads the record if that is not the one that is known here.
func (c *CallRecord) changeOnce(
	ctx context.Context, attempt func(context.Context) (bool, error),
) (changed bool, err error) {
	c.storing.Lock()
	defer c.storing.Unlock()
	if c.isTaken() { // in the meantime
		return true, nil
	}
	if changed, err = attempt(ctx); err == nil && !changed {
		err = c.load(ctx)
	}
	return changed, err
}

// load reads the record. The caller holds storing.
func (c *CallRecord) load(ctx context.Context) error {
	_, mine := c.snapshot()
	call, stored, err := c.relay.LoadCall(ctx, c.session.Name(), mine.In)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stored.Version, c.taken = stored.Version, call.isTakenFrom(c.call.Continues)
	if call == nil {
		return nil
	}
	for _, q := range call.Asked {
		i := slices.IndexFunc(c.call.Asked, func(mine Question) bool { return mine.ID == q.ID })
		switch {
		case q.IsAnswered():
			if i >= 0 {
				c.call.Asked[i].answer(q.Response())
			}
			c.session.ResolveQuestion(q.ID, q.Response()) // maybe that of another call
		case c.taken:
			c.session.ResolveQuestion(q.ID, Response{Err: mcp.ErrSuspended})
		}
	}
	return nil
}
