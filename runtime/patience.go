package runtime

import (
	"context"
	"errors"
	"sync"
	"time"

	"hatchel/runtime/approval"
	"hatchel/runtime/mcp"
)

// errOvertaken ends a call that waits for an approval while its configuration changes.
const errOvertaken = refusal("The configuration was changed while this call waited for its approval, so nothing was done. Call it again: what it does now must be approved afresh.")

// errLeaving is why the calls that wait for people end: the server is being stopped.
var errLeaving = errors.New("the server is being stopped, and waits for nobody")

// mostWaiting is how many calls of one caller may wait for an operator at once.
const mostWaiting = 256

// reassure is how often who waits is told that it still waits.
const reassure = 3 * time.Second

// waits counts the calls that wait for people. It outlives generations.
type waits struct {
	over chan struct{} // closed when none may wait any more

	mu      sync.Mutex
	of      map[string]int // by caller; guarded by mu
	left    bool           // over is closed; guarded by mu
	swapped chan struct{}  // closed when another generation is served, which has a new one; guarded by mu
}

func newWaits() *waits {
	return &waits{over: make(chan struct{}), of: map[string]int{}, swapped: make(chan struct{})}
}

// swap has everybody who waits look whether what they wait for still counts.
func (w *waits) swap() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.swapped)
	w.swapped = make(chan struct{})
}

// next is closed when another generation is served.
func (w *waits) next() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.swapped
}

// dismiss ends all, now and from now on.
func (w *waits) dismiss() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.left {
		w.left = true
		close(w.over)
	}
}

// enter counts a call that begins to wait, and reports whether it may.
func (w *waits) enter(owner string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of[owner] >= mostWaiting {
		return false
	}
	w.of[owner]++
	return true
}

func (w *waits) leave(owner string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of[owner]--; w.of[owner] == 0 {
		delete(w.of, owner)
	}
}

// Dismiss ends all calls that wait for an approval, now and from now on: the server is being stopped, and that waits for nobody. What is approved later can be used by the same
// call made again.
func (h *Host) Dismiss() { h.build.memory.waits.dismiss() }

// wait returns an approval when somebody has decided, or when its time has passed.
func (p *Program) wait(c *call, a *approval.Approval) (*approval.Approval, error) {
	w := p.generation.build.memory.waits
	if !w.enter(c.action.Owner) {
		return nil, &tooMany{"Too many calls of one caller wait for their approvals. Nothing was done. Try again when one of them is decided.", time.Minute}
	}
	defer w.leave(c.action.Owner)
	book, err := p.generation.build.State.approvals(c.frame.Context)
	if err != nil {
		return nil, err
	}
	asked, told := a, 0
	tell := func() {
		told++
		c.action.Client.Progress(float64(told)*1e-6, 0, "waits for approval "+asked.ID) // a step may report its own progress later, from 1
	}
	tell()
	err = p.idle(c, w, func(ctx context.Context, end context.CancelCauseFunc) (err error) {
		a, err = book.Await(ctx, a, reassure, func() {
			tell()
			if !p.stands(c) {
				end(errOvertaken)
			}
		})
		return err
	})
	switch {
	case errors.Is(err, errOvertaken):
		p.void(c, book, asked)
		return nil, p.overtaken()
	case errors.Is(err, errLeaving):
		return nil, refusal("The server is being stopped, and this call waits for an approval. Nothing was done. Call again when the server is back: the approval counts for the same call then.")
	case err != nil:
		return nil, err
	}
	return a, nil
}

// idle does something that takes as long as people do. The clock of the call stands still meanwhile, and so do those of the calls that it is a step of; its generation stays. It ends
// with the call, when the configuration of the tool changes, or when none may wait any more; with nil for w only with the call.
func (p *Program) idle(c *call, w *waits, do func(context.Context, context.CancelCauseFunc) error) error {
	if !c.nested && c.ends == p.generation.ctx {
		c.hold()
	}
	base := c.frame.Context
	ctx, end := context.WithCancelCause(base)
	unhook := context.AfterFunc(c.ends, func() { end(context.Cause(c.ends)) })
	var watching sync.WaitGroup
	if w != nil {
		watching.Go(func() { end(p.disturbed(ctx, c, w)) })
	}
	clock := clockOf(base)
	clock.stop()
	began := time.Now()
	err := do(ctx, end)
	passed := time.Since(began)
	clock.start()
	cause := context.Cause(ctx)
	end(nil)
	watching.Wait()
	unhook()
	c.began = c.began.Add(passed)
	switch {
	case err == nil:
		return nil
	case cause == errLeaving || cause == errOvertaken:
		return cause
	case errors.Is(cause, errStopped):
		return errLeaving
	case errors.Is(cause, errReplaced):
		return errOvertaken
	}
	return c.why(err)
}

// disturbed waits for what ends the waiting of a call, or for the end of ctx, and returns which it was.
func (p *Program) disturbed(ctx context.Context, c *call, w *waits) error {
	for {
		swapped := w.next()
		if !p.stands(c) {
			return errOvertaken
		}
		select {
		case <-swapped:
		case <-w.over:
			return errLeaving
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// stands reports whether a call would be answered today as it is answered here: its tool, the rules about it, and what is known of its caller are what they were.
func (p *Program) stands(c *call) bool {
	current := p.generation.build.current
	if current == nil {
		return true
	}
	g := current()
	now := g.programs[p.decl.Name]
	caller := c.asker()
	return now != nil && now.sealed == p.sealed && (caller == nil || g.vouches(caller))
}

// asker is who makes the call, or the one that it is a step of; nil where nobody knows.
func (c *call) asker() *mcp.Caller {
	for w := clockOf(c.frame.Context); c.caller == nil && w != nil; w = w.outer {
		if w.call.caller != nil {
			return w.call.caller
		}
	}
	return c.caller
}

// vouches is knows, also of who has made a call that has become a task in the meantime.
func (g *Generation) vouches(c *mcp.Caller) bool {
	if i := c.Identity; c.Header == nil && i != nil && i.Grant != "" {
		return g.callers.Stands(i)
	}
	return g.knows(c)
}
