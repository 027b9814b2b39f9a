package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"hatchel/hcl"
	"hatchel/internal/service"
	"hatchel/runtime/approval"
	"hatchel/runtime/call"
	"hatchel/runtime/elicit"
	"hatchel/runtime/files"
	"hatchel/runtime/hook"
	"hatchel/runtime/idempotency"
	"hatchel/runtime/state"
	"hatchel/runtime/task"
	"hatchel/runtime/webhook"
)

// State is what a server keeps in its state store: tasks, idempotency keys, approvals, uploaded
// files, webhook events and the key of state tokens. It outlives generations. Make one with
// NewState or NewDeclaredState.
type State struct {
	openFrom func(context.Context, *hcl.State) (state.Store, error)
	exists   func(*hcl.State) bool // reports whether a store exists already or was named; nil when none does
	declared bool                  // the configuration says where the store is

	services *service.List // the store and what works with it
	process  *state.Process
	keys     *state.Lease
	tasks    *task.Registry
	outbox   *webhook.Outbox
	hooks    *hook.Queue
	files    *files.Store

	opening sync.Mutex // held while the store is opened, which may take long

	mu             sync.Mutex
	config         *hcl.State // guarded by mu
	opened         *openState // nil until it is needed; guarded by mu
	watching       bool       // changes by other processes are noticed; guarded by mu
	recordDecision decisionRecorder
	approvals      approvalObserver // nil for none; guarded by mu
}

// openState is the open store, and what is made of it.
type openState struct {
	state.Store
	sealer *elicit.Sealer
	book   *approval.Store
}

// decisionRecorder records the decision of an approval that was stored by a process without the audit
// log, or those of all approvals when the ID is empty.
type decisionRecorder func(ctx context.Context, book *approval.Store, id string)

// approvalObserver is told of approvals.
type approvalObserver interface {
	// approvalChanged is called with approvals that may have changed, also in another process. It must not wait.
	approvalChanged(book *approval.Store, id string)
	// publishDecision is called with approvals that are decided, and returns when their event is stored for hooks.
	publishDecision(ctx context.Context, a *approval.Approval)
}

// NewState returns a State. Open is called when the store is needed first, and again after it
// failed; its error is a sentence for the author of the configuration.
func NewState(ctx context.Context, open func(context.Context) (state.Store, error)) *State {
	openFrom := func(ctx context.Context, _ *hcl.State) (state.Store, error) { return open(ctx) }
	return newState(ctx, &State{openFrom: openFrom})
}

// NewDeclaredState returns a State that is kept where the configuration says; open gets nil when it
// says nothing. Exists reports whether a store exists there already, or the operator named it, without opening it.
func NewDeclaredState(
	ctx context.Context, open func(context.Context, *hcl.State) (state.Store, error), exists func(*hcl.State) bool,
) *State {
	return newState(ctx, &State{openFrom: open, exists: exists, declared: true})
}

func newState(ctx context.Context, s *State) *State {
	s.process = state.NewProcess(ctx, s.openStore)
	s.keys = idempotency.NewLease(s.process)
	s.outbox = webhook.New(ctx, s.resolveEvent)
	s.hooks = hook.NewQueue(ctx, s.enqueueSeries)
	isOpen := func() bool { return s.current() != nil }
	s.tasks = task.NewRegistry(s.process, isOpen, s)
	s.files = files.NewStore(s.process)
	s.services = service.NewList(ctx)
	s.services.Start(
		service.Service{Name: "state store", Stop: s.closeStore},
		service.Service{Name: "staged files", Stop: s.files.Close},
		service.Ending("work with the state store", s.process.Close),
		service.Ending("webhook delivery", s.outbox.Close),
		service.Ending("hooks", s.hooks.Close),
		service.Ending("tasks", func() { s.tasks.Close(call.ErrStopped) }),
	)
	return s
}

// newMemoryState returns a State that ends with the process.
func newMemoryState(ctx context.Context) *State {
	return NewState(ctx, func(ctx context.Context) (state.Store, error) { return state.Open(ctx, "") })
}

// configure sets where the configuration wants the state kept. It reports false when the store is
// open elsewhere: a state does not move while the server runs.
func (s *State) configure(config *hcl.State) bool {
	s.opening.Lock()
	defer s.opening.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.declared && s.opened != nil && !s.config.Same(config) {
		return false
	}
	s.config = config
	return true
}

// open returns the open store, and opens it when it is not open.
func (s *State) open(ctx context.Context) (*openState, error) {
	if opened := s.current(); opened != nil {
		return opened, nil
	}
	s.opening.Lock()
	defer s.opening.Unlock()
	if opened := s.current(); opened != nil {
		return opened, nil
	}
	s.mu.Lock()
	config := s.config
	s.mu.Unlock()
	store, err := s.openFrom(ctx, config)
	if err != nil {
		return nil, err
	}
	sealer, err := elicit.NewSealer(ctx, store)
	if err != nil {
		store.Close()
		return nil, err
	}
	opened := &openState{store, sealer, approval.NewStore(store)}
	opened.book.OnChange(func(id string) { s.onApprovalChange(opened.book, id) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened = opened
	return opened, nil
}

// openStore is open for those who need only the store.
func (s *State) openStore(ctx context.Context) (state.Store, error) {
	opened, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	return opened.Store, nil
}

// current returns the open store, and nil when it is not open.
func (s *State) current() *openState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened
}

// openIfExists opens the store if it exists already or is declared, and returns nil otherwise.
func (s *State) openIfExists(ctx context.Context) (*openState, error) {
	s.mu.Lock()
	exists := s.opened != nil || s.config != nil || s.exists != nil && s.exists(s.config)
	s.mu.Unlock()
	if !exists {
		return nil, nil
	}
	return s.open(ctx)
}

// recordDecisions records the decision of an approval that waits for that, or those of all approvals
// when the ID is empty. It does not wait, and does nothing before the store is open.
func (s *State) recordDecisions(id string) {
	s.mu.Lock()
	opened, record := s.opened, s.recordDecision
	s.mu.Unlock()
	if record != nil && opened != nil {
		s.process.Go(func(ctx context.Context) { record(ctx, opened.book, id) })
	}
}

// setDecisionRecorder sets what records decisions that were stored by processes without the audit
// log.
func (s *State) setDecisionRecorder(record decisionRecorder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recordDecision = record
}

// setApprovalObserver sets what is told of approvals.
func (s *State) setApprovalObserver(o approvalObserver) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.approvals = o
}

func (s *State) approvalObserver() approvalObserver {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.approvals
}

func (s *State) onApprovalChange(book *approval.Store, id string) {
	s.outbox.Resolve(call.DecisionEventID(id))
	s.outbox.Resolve(call.PublicationID(id))
	if o := s.approvalObserver(); o != nil {
		o.approvalChanged(book, id)
	}
}

// Approvals implements call.State.
func (s *State) Approvals() *approval.Store { return s.current().book }

// Sealer implements call.State.
func (s *State) Sealer() *elicit.Sealer { return s.current().sealer }

// Resolve implements task.Events.
func (s *State) Resolve(id string) { s.outbox.Resolve(id) }

// resolveEvent implements webhook.Resolver.
func (s *State) resolveEvent(ctx context.Context, subject string) (*webhook.Event, bool, error) {
	if id, ok := strings.CutPrefix(subject, task.EventSubject); ok {
		return s.tasks.Event(ctx, id)
	}
	if id, ok := strings.CutPrefix(subject, call.ApprovalSubject); ok {
		return s.approvalEvent(ctx, id)
	}
	if id, ok := strings.CutPrefix(subject, call.PublicationSubject); ok {
		return s.publishApproval(ctx, id)
	}
	return nil, true, nil
}

// findDecided returns an approval that is decided or has expired. Known is false while it is pending.
func (s *State) findDecided(ctx context.Context, id string) (a *approval.Approval, known bool, err error) {
	opened, err := s.open(ctx)
	if err != nil {
		return nil, false, err
	}
	if a, err = opened.book.Find(ctx, id); err != nil || a == nil {
		return nil, err == nil, err
	}
	return a, a.IsDecided(), nil
}

// publishApproval publishes the decision of an approval for hooks. It has no event of its own.
func (s *State) publishApproval(ctx context.Context, id string) (none *webhook.Event, known bool, err error) {
	a, known, err := s.findDecided(ctx, id)
	if o := s.approvalObserver(); known && a != nil && o != nil {
		o.publishDecision(ctx, a)
	}
	return nil, known, err
}

// approvalEvent returns the event that an approval was decided or has expired. Known is false while
// it is pending.
func (s *State) approvalEvent(ctx context.Context, id string) (e *webhook.Event, known bool, err error) {
	a, known, err := s.findDecided(ctx, id)
	if err != nil || !known || a == nil {
		return nil, known, err
	}
	at := a.Deadline
	if a.Decision != nil {
		at = a.Decision.At
	}
	body, err := decidedApproval(a).AppendJSON(nil)
	e = &webhook.Event{ID: call.DecisionEventID(id), Type: "approval.decided", At: at, Data: json.RawMessage(body)}
	return e, err == nil, err
}

// decidedApproval returns an approval that is not pending with the status that its event has: approved, whether or not
// it was used, rejected, void or expired.
func decidedApproval(a *approval.Approval) *approval.Approval {
	decided := *a
	switch {
	case a.Decision == nil:
		decided.Status = approval.Expired
	case a.Status != approval.Rejected && a.Status != approval.Void:
		decided.Status = approval.Approved
	}
	return &decided
}

// health pings the store; nil for a store that is not open, and for a file that can be used.
func (s *State) health(ctx context.Context) *Health {
	opened := s.current()
	if opened == nil {
		return nil
	}
	store, ok := opened.Store.(interface{ Ping(context.Context) error })
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	err := store.Ping(ctx)
	if _, remote := store.(state.RemoteStore); !remote && err == nil {
		return nil
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("it does not answer in time")
	}
	if err != nil {
		return &Health{Error: err.Error()}
	}
	return &Health{OK: true}
}

// Close ends tasks that are still running, and closes the store. The hosts that use the State must
// be closed before.
func (s *State) Close() error { return s.services.Stop() }

func (s *State) closeStore() error {
	s.opening.Lock()
	defer s.opening.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened == nil {
		return nil
	}
	opened := s.opened
	s.opened = nil
	return opened.Close()
}

// startUploadCleanup removes interrupted uploads, if there can be any. Where the store cannot be
// opened, the next upload tries again.
func (s *State) startUploadCleanup(ctx context.Context) {
	if store, err := s.openIfExists(ctx); err == nil && store != nil {
		s.files.StartCleanup()
	}
}
