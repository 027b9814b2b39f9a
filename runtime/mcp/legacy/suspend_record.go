package legacy

import (
	"hatchel/runtime/mcp"

	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"hatchel/hcl/jsonscan"
	"hatchel/internal/ctxtime"
)

// callRecord is the record of a call that waits for people in this process. Another process takes the call
// when this one has ended, and this one finds that out at its next change of the record. Its methods may be
// called concurrently.
type callRecord struct {
	session *session
	storing sync.Mutex // is held while the store is asked, and not in a pause; taken before mu

	mu     sync.Mutex    // is never held while the store is asked, so that an answer is never late for its call
	stored StoredCall    // guarded by mu, and changed with storing held
	call   suspendedCall // guarded by mu
	taken  bool          // by another process; guarded by mu
}

// save stores the call, unless another process has taken it.
func (c *callRecord) save(ctx context.Context, maxWait time.Duration) error {
	return c.change(ctx, maxWait, func(ctx context.Context) (bool, error) {
		stored, call := c.snapshot()
		saved, err := c.session.table.saveSuspended(ctx, c.session, stored, call)
		if saved {
			c.mu.Lock()
			c.stored.Version++
			c.mu.Unlock()
		}
		return saved, err
	})
}

// snapshot returns the record and the call as they are now.
func (c *callRecord) snapshot() (StoredCall, *suspendedCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	call := c.call
	call.Asked = slices.Clone(call.Asked)
	return c.stored, &call
}

// ask adds a question that the client was asked, unless it was asked by another process. While the store is
// unavailable the question is not stored: a process that continued the call would ask again.
func (c *callRecord) ask(ctx context.Context, key, id string) error {
	c.mu.Lock()
	isNew := !slices.ContainsFunc(c.call.Asked, func(q suspendedQuestion) bool { return q.ID == id })
	if isNew {
		c.call.Asked = append(c.call.Asked, c.newQuestion(key, id))
	}
	c.mu.Unlock()
	if !isNew {
		return nil
	}
	return ignoreUnavailable(c.save(ctx, 0))
}

// newQuestion returns a question that the client was asked, with its event.
func (c *callRecord) newQuestion(key, id string) suspendedQuestion {
	out := suspendedQuestion{Key: key, ID: id}
	_, events, _, _ := c.session.log.after(eventID{stream: c.call.In.Stream})
	begin := append(jsonscan.AppendString([]byte(`{"jsonrpc":"2.0","id":`), id), ',')
	for _, e := range events {
		if bytes.HasPrefix(e.frame, begin) {
			out.Seq, out.Frame = e.seq, e.frame
		}
	}
	return out
}

// answer sets the answer to a question. It is stored if the call waits for other answers, as ask does.
func (c *callRecord) answer(ctx context.Context, id string, r clientResponse) error {
	c.mu.Lock()
	asked := c.call.Asked
	key := asked[slices.IndexFunc(asked, func(q suspendedQuestion) bool { return q.ID == id })].Key
	more := false
	for i := range asked {
		if asked[i].Key == key { // it may have been asked several times
			asked[i].answer(r)
		}
		more = more || !asked[i].isAnswered()
	}
	c.mu.Unlock()
	if !more {
		return nil
	}
	return ignoreUnavailable(c.save(ctx, 0))
}

func ignoreUnavailable(err error) error {
	if errors.Is(err, mcp.ErrUnavailable) {
		return nil
	}
	return err
}

// release has another process continue the call when its client returns.
func (c *callRecord) release(ctx context.Context) error {
	c.mu.Lock()
	c.call.Released = true
	c.mu.Unlock()
	return c.save(ctx, storeTimeout)
}

// end removes the record of a call that goes on here. It reports whether another process has taken the call
// instead, which then has the answers, too.
func (c *callRecord) end(ctx context.Context) (taken bool, err error) {
	err = c.change(ctx, storeTimeout, func(ctx context.Context) (bool, error) {
		stored, _ := c.snapshot()
		if stored.Version == 0 { // there is none
			return true, nil
		}
		return c.session.table.store.RemoveCall(ctx, stored)
	})
	if err != nil || !c.isTaken() {
		return false, err
	}
	_, call := c.snapshot()
	for _, q := range call.Asked {
		if q.isAnswered() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
			_, failed := c.session.server.relay.answerSuspended(ctx, c.session, q.ID, q.response(), "")
			cancel()
			err = errors.Join(err, failed)
		}
	}
	return true, err
}

// confirm stores that a call that was taken from another process goes on here. It fails with ErrSuspended if a third
// process has taken the call.
func (c *callRecord) confirm(ctx context.Context) error {
	c.mu.Lock()
	c.call.Taking = false
	c.mu.Unlock()
	if err := c.save(ctx, storeTimeout); err != nil {
		return err
	}
	if c.isTaken() {
		return mcp.ErrSuspended
	}
	return nil
}

func (c *callRecord) isTaken() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.taken
}

// discard removes the record of a call that another process has, under another record.
func (c *callRecord) discard(ctx context.Context) error {
	err := c.change(ctx, storeTimeout, func(ctx context.Context) (bool, error) {
		stored, _ := c.snapshot()
		return c.session.table.store.RemoveCall(ctx, stored)
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken = true
	return err
}

// refresh takes over the answers that other processes have stored, and ends the wait of a call that another
// process has taken.
func (c *callRecord) refresh(ctx context.Context) error {
	c.storing.Lock()
	defer c.storing.Unlock()
	return c.load(ctx)
}

// change repeats an attempt to change the record until it succeeds, or another process has taken the call. It
// waits for an unavailable store for at most maxWait. Others use the store in its pauses.
func (c *callRecord) change(
	ctx context.Context, maxWait time.Duration, attempt func(context.Context) (bool, error),
) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	began := time.Now()
	for !c.isTaken() {
		changed, err := c.changeOnce(ctx, attempt)
		switch {
		case changed, err != nil && (!errors.Is(err, mcp.ErrUnavailable) || time.Since(began) >= maxWait):
			return err
		case err != nil:
			if ctxtime.Sleep(ctx, storeAgain) != nil {
				return err
			}
		}
	}
	return nil
}

// changeOnce makes one attempt, and reads the record if that is not the one that is known here.
func (c *callRecord) changeOnce(
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
func (c *callRecord) load(ctx context.Context) error {
	_, mine := c.snapshot()
	call, stored, err := c.session.table.loadSuspended(ctx, c.session, mine.In)
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
		i := slices.IndexFunc(c.call.Asked, func(mine suspendedQuestion) bool { return mine.ID == q.ID })
		switch {
		case q.isAnswered():
			if i >= 0 {
				c.call.Asked[i].answer(q.response())
			}
			c.session.questions.resolve(q.ID, q.response()) // maybe that of another call
		case c.taken:
			c.session.questions.resolve(q.ID, clientResponse{err: mcp.ErrSuspended})
		}
	}
	return nil
}
