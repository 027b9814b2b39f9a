package mcp

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"hatchel/hcl/jsonscan"
)

// callRecord is the record of a call that waits for people in this process. Another process takes the call
// when this one is gone, and this one finds that out at its next change of the record. Its methods may be
// called concurrently.
type callRecord struct {
	session *session

	mu     sync.Mutex
	stored StoredCall    // guarded by mu
	call   suspendedCall // guarded by mu
	taken  bool          // by another process; guarded by mu
}

// save stores the call, unless another process has taken it.
func (c *callRecord) save(ctx context.Context, maxWait time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changeLocked(ctx, maxWait, func(ctx context.Context) (bool, error) {
		saved, err := c.session.table.saveSuspended(ctx, c.session, c.stored, &c.call)
		if saved {
			c.stored.Version++
		}
		return saved, err
	})
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
	if errors.Is(err, ErrUnavailable) {
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
	c.mu.Lock()
	defer c.mu.Unlock()
	err = c.changeLocked(ctx, storeTimeout, func(ctx context.Context) (bool, error) {
		if c.stored.Version == 0 { // it is gone
			return true, nil
		}
		return c.session.table.store.RemoveCall(ctx, c.stored)
	})
	if err != nil || !c.taken {
		return false, err
	}
	for _, q := range c.call.Asked {
		if q.isAnswered() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
			_, failed := c.session.table.server.relay.answerSuspended(ctx, c.session, q.ID, q.response(), "")
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
		return ErrSuspended
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
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.changeLocked(ctx, storeTimeout, func(ctx context.Context) (bool, error) {
		return c.session.table.store.RemoveCall(ctx, c.stored)
	})
	c.taken = true
	return err
}

// refresh takes over the answers that other processes have stored, and ends the wait of a call that another
// process has taken.
func (c *callRecord) refresh(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.loadLocked(ctx)
}

// changeLocked repeats a change of the record until it succeeds, or another process has taken the call. It
// waits for an unavailable store for at most maxWait.
func (c *callRecord) changeLocked(
	ctx context.Context, maxWait time.Duration, change func(context.Context) (bool, error),
) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	began := time.Now()
	for !c.taken {
		changed, err := change(ctx)
		if err == nil && !changed {
			err = c.loadLocked(ctx)
		}
		switch {
		case changed, err != nil && (!errors.Is(err, ErrUnavailable) || time.Since(began) >= maxWait):
			return err
		case err != nil:
			select {
			case <-time.After(storeAgain):
			case <-ctx.Done():
				return err
			}
		}
	}
	return nil
}

func (c *callRecord) loadLocked(ctx context.Context) error {
	call, stored, err := c.session.table.loadSuspended(ctx, c.session, c.call.In)
	if err != nil {
		return err
	}
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
			c.session.requests.resolve(q.ID, q.response()) // maybe that of another call
		case c.taken:
			c.session.requests.resolve(q.ID, clientResponse{err: ErrSuspended})
		}
	}
	return nil
}
