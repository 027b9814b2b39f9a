package call

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"hatchel/hcl/eventkind"
	"hatchel/runtime/approval"
	"hatchel/runtime/digest"
	"hatchel/runtime/elicit"
	"hatchel/runtime/failure"
	"hatchel/runtime/limit"
	"hatchel/runtime/mcp"
	"hatchel/runtime/metrics"
	"hatchel/runtime/webhook"
)

const (
	callAgain     = "Call again: the call needs a new approval."
	callWhenStart = "Call again when the server is back: the approval is valid for the same call then."
)

var (
	// errSuperseded ends a call that waits for an approval while its configuration changes.
	errSuperseded = failure.NotDone{
		Message: "The configuration was changed while this call waited for an approval", Advice: callAgain,
	}
	toolRemoved = failure.NotDone{Message: "This tool was removed while the call waited for an approval"}
	toolChanged = failure.NotDone{
		Message: "The configuration of this tool was changed while the call waited for an approval", Advice: callAgain,
	}
	stoppedWhileWaiting = failure.NotDone{
		Message: "The server is shutting down, and this call waits for an approval.", Advice: callWhenStart,
	}
)

// errShuttingDown is why the calls that wait for people end.
var errShuttingDown = errors.New("the server is shutting down")

const (
	maxWaitersPerCaller = 256             // calls that may wait for an operator at once
	progressInterval    = 3 * time.Second // between two progress messages to a client that waits
)

// Waiters are the calls that wait for people. It outlives generations, and its methods may be
// called concurrently.
type Waiters struct {
	Stop    func()          // ends all waiting calls, now and from now on
	stopped <-chan struct{} // closed when no call may wait any more

	mu       sync.Mutex
	count    map[string]int // by caller; guarded by mu
	reloaded chan struct{}  // closed at the next reload, and replaced; guarded by mu
}

// NewWaiters returns Waiters without calls.
func NewWaiters() *Waiters {
	stopped := make(chan struct{})
	return &Waiters{
		Stop: sync.OnceFunc(func() { close(stopped) }), stopped: stopped, count: map[string]int{},
		reloaded: make(chan struct{}),
	}
}

// NotifyReload has all waiting calls check whether the approval that they wait for is still valid
// for them.
func (w *Waiters) NotifyReload() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.reloaded)
	w.reloaded = make(chan struct{})
}

// nextReload is closed at the next reload.
func (w *Waiters) nextReload() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reloaded
}

// enter counts a call that begins to wait. It reports whether the call may.
func (w *Waiters) enter(owner string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count[owner] >= maxWaitersPerCaller {
		return false
	}
	w.count[owner]++
	return true
}

func (w *Waiters) leave(owner string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count[owner]--; w.count[owner] == 0 {
		delete(w.count, owner)
	}
}

// waitForDecision returns an approval when an operator has decided, or when its time has passed.
func (p *Program) waitForDecision(c *call, a *approval.Approval) (*approval.Approval, error) {
	w := p.Env.Waiters
	if !w.enter(c.action.Owner) {
		return nil, &limit.Error{
			Message: "Too many calls of one caller wait for approvals.", Advice: "Try again when one is decided.",
			RetryAfter: time.Minute,
		}
	}
	defer w.leave(c.action.Owner)
	p.meter.Wait(metrics.WaitApproval, 1)
	c.action.Span.AddEvent("approval awaited")
	began, opened := time.Now(), a
	defer func() {
		p.meter.Wait(metrics.WaitApproval, -1)
		p.meter.Decided(decisionWord(a), time.Since(began))
		c.action.Span.AddEvent("approval: " + decisionWord(a))
	}()
	store, reports := p.Env.State.Approvals(), 0
	report := func() {
		reports++
		// A step may report its own progress later, from 1 on.
		c.action.Client.Progress(float64(reports)*1e-6, 0, "waits for approval "+opened.ID)
	}
	report()
	err := c.Wait(time.Until(opened.Deadline), func() error {
		err := p.runWhileWaiting(c, w, func(ctx context.Context, end context.CancelCauseFunc) (err error) {
			a, err = store.Wait(ctx, a, progressInterval, func() {
				report()
				if !p.stillValid(c) {
					end(errSuperseded)
				}
			})
			return err
		})
		if errors.Is(err, errShuttingDown) && c.suspends() {
			return mcp.ErrSuspended
		}
		return err
	})
	switch {
	case errors.Is(err, errSuperseded):
		p.voidApproval(c, store, opened)
		return nil, p.supersededError()
	case errors.Is(err, mcp.ErrSuspended):
		return nil, &elicit.PausedError{Timeout: time.Until(opened.Deadline)}
	case errors.Is(err, errShuttingDown):
		return nil, stoppedWhileWaiting
	case err != nil:
		return nil, err
	}
	return a, nil
}

// runWhileWaiting does something that takes as long as people do. The timeouts of the call, and of
// those that it is a step of, do not run meanwhile, and its generation stays. It ends with the
// call, when the configuration of the tool changes, or when w is stopped; without w only with the
// call.
func (p *Program) runWhileWaiting(c *call, w *Waiters, do func(context.Context, context.CancelCauseFunc) error) error {
	if !c.nested && c.timing.stopCtx == p.Env.Running {
		c.pin()
	}
	base, stopCtx := c.frame.Context, c.timing.stopCtx
	ctx, end := context.WithCancelCause(base)
	unhook := context.AfterFunc(stopCtx, func() { end(context.Cause(stopCtx)) })
	var watching sync.WaitGroup
	if w != nil {
		watching.Go(func() { end(p.awaitInterruption(ctx, c, w)) })
	}
	timeout := timeoutOf(base)
	timeout.pause()
	began := time.Now()
	err := do(ctx, end)
	waited := time.Since(began)
	timeout.resume()
	cause := context.Cause(ctx)
	end(nil)
	watching.Wait()
	unhook()
	c.timing.started = c.timing.started.Add(waited)
	switch {
	case err == nil || errors.Is(err, mcp.ErrSuspended):
		return err
	case cause == errShuttingDown || cause == errSuperseded:
		return cause
	case errors.Is(cause, ErrStopped):
		return errShuttingDown
	case errors.Is(cause, ErrReplaced):
		return errSuperseded
	}
	return c.contextCause(err)
}

// awaitInterruption waits for what ends the waiting of a call, or for the end of ctx, and returns
// which it was.
func (p *Program) awaitInterruption(ctx context.Context, c *call, w *Waiters) error {
	for {
		reloaded := w.nextReload()
		if !p.stillValid(c) {
			return errSuperseded
		}
		select {
		case <-reloaded:
		case <-w.stopped:
			return errShuttingDown
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// stillValid reports whether the call would be made now as it is made here: its tool, the rules
// about it and its caller are what they were.
func (p *Program) stillValid(c *call) bool {
	serving, known := p.Env.Generation.Serving(p.Decl.Name, c.callerOrOuter())
	return serving != nil && serving.approvalDigest == p.approvalDigest && known
}

// supersededError returns why a call is not made that is no longer valid.
func (p *Program) supersededError() error {
	switch serving, _ := p.Env.Generation.Serving(p.Decl.Name, nil); {
	case serving == nil:
		return toolRemoved
	case serving.approvalDigest != p.approvalDigest:
		return toolChanged
	}
	return errSuperseded
}

// Len returns how many calls wait for an operator.
func (w *Waiters) Len() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, count := range w.count {
		n += count
	}
	return n
}

// A reload voids the pending approvals of tools whose definition has changed, and ends the calls
// that wait for them. Each process voids what it has asked for itself: another process may still
// serve the definition that an approval is for, and there a waiting call asks anew.

// Why an approval is void, for approvers.
const (
	reasonChanged = "the configuration of the tool was changed, so the requested call can no longer be made"
	reasonRemoved = "the tool was removed"
)

// approvalSeal marks the approvals that this process requests for calls of the tool as it is
// configured.
func (p *Program) approvalSeal() string {
	return digest.Of("seal", p.Env.Process.Name(), p.Decl.Name, p.approvalDigest).String()
}

// VoidFilter returns which approvals that this process has requested become void when another
// program, nil for none, is served in place of this one. Changed is false when all stay valid.
func (p *Program) VoidFilter(next *Program) (filter approval.VoidFilter, changed bool) {
	switch {
	case len(p.Approvals) == 0, next == p, next != nil && next.approvalDigest == p.approvalDigest:
		return approval.VoidFilter{}, false
	case next == nil:
		return approval.VoidFilter{Seal: p.approvalSeal(), Reason: reasonRemoved}, true
	}
	return approval.VoidFilter{Seal: p.approvalSeal(), Reason: reasonChanged}, true
}

// voidApproval voids the approval that a call has waited for, if this process has requested it and
// it is not valid now.
func (p *Program) voidApproval(c *call, store *approval.Store, a *approval.Approval) {
	serving, _ := p.Env.Generation.Serving(p.Decl.Name, nil)
	filter, changed := p.VoidFilter(serving)
	if !changed || a.Seal != filter.Seal {
		return
	}
	ctx := context.WithoutCancel(c.frame.Context)
	if _, err := store.Void(ctx, a.ID, filter.Reason); err != nil {
		p.Env.LogVoidFailure(ctx, err)
	}
}

// LogVoidFailure logs that approvals stay pending until they expire, although they are no longer
// valid.
func (e *Environment) LogVoidFailure(ctx context.Context, err error) {
	e.LogFailure(ctx, slog.LevelWarn, "outdated approvals not voided, they stay pending until they expire", err)
}

// ApprovalSubject is the prefix of the subject of an event about an approval, before its ID.
const ApprovalSubject = "approval:"

// DecisionEventID returns the ID of the event that an approval was decided.
func DecisionEventID(id string) string { return id + "-decided" }

// PublicationSubject is the prefix of the subject of a delivery that has no event of its own, before the ID of an
// approval. It makes the process that resolves it publish the decision for hooks, whichever process was killed before.
const PublicationSubject = "approval-published:"

// PublicationID returns the ID of the delivery with a PublicationSubject.
func PublicationID(id string) string { return id + "-published" }

// enqueueApprovalEvents stores the events for the webhooks of the rules that an approval is requested and, later,
// decided, and that the decision is to be published for hooks: once, however many calls wait for it. The approval is
// requested even when they cannot be stored.
func (p *Program) enqueueApprovalEvents(c *call, a *approval.Approval) {
	ctx := context.WithoutCancel(c.frame.Context)
	err := p.enqueueDecision(ctx, a, p.events.Webhooks(eventkind.ApprovalDecided),
		PublicationID(a.ID), PublicationSubject)
	if err == nil {
		err = p.enqueueNotifications(ctx, c, a)
	}
	if err != nil {
		p.Env.LogFailure(ctx, slog.LevelError, "webhook events of an approval not stored", err, "approval", a.ID)
	}
}

// enqueueDecision stores for webhooks an event that is known when an approval is decided.
func (p *Program) enqueueDecision(
	ctx context.Context, a *approval.Approval, hooks []string, id, subject string,
) error {
	decided := &webhook.Event{ID: id, Subject: subject + a.ID, ResolvedBy: a.Deadline}
	for _, hook := range hooks {
		if err := p.Env.State.Enqueue(ctx, hook, decided); err != nil {
			return err
		}
	}
	return nil
}

func (p *Program) enqueueNotifications(ctx context.Context, c *call, a *approval.Approval) error {
	var hooks []string
	for _, r := range c.approval.operatorRules {
		hooks = append(hooks, r.decl.Notify...)
	}
	if len(hooks) == 0 {
		return nil
	}
	slices.Sort(hooks)
	hooks = slices.Compact(hooks)
	body, err := a.AppendJSON(nil)
	if err != nil {
		return err
	}
	data := json.RawMessage(p.Env.Scrubber.JSON(body))
	requested := &webhook.Event{ID: a.ID, Type: "approval.requested", At: time.Now(), Data: data}
	for _, hook := range hooks {
		if err := p.Env.State.Enqueue(ctx, hook, requested); err != nil {
			return err
		}
	}
	return p.enqueueDecision(ctx, a, hooks, DecisionEventID(a.ID), ApprovalSubject)
}

// decisionWord returns what was decided about an approval, which is nil when the wait failed.
func decisionWord(a *approval.Approval) string {
	if a == nil || a.Status == approval.Pending {
		return "none"
	}
	return string(a.Status)
}
