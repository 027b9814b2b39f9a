// Package store opens the state store of a server where its configuration says, and has what the server keeps there:
// tasks, idempotency keys, approvals, webhook events, uploaded files and the sessions of clients.
package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"hatchel/hcl"
	"hatchel/internal/queue"
	"hatchel/internal/service"
	"hatchel/internal/sqlitefile"
	"hatchel/runtime/call"
	"hatchel/runtime/durable/grant"
	"hatchel/runtime/durable/hook"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/durable/webhook"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/approval"
	"hatchel/runtime/stage/elicit"
	"hatchel/runtime/stage/files"
	"hatchel/runtime/stage/idempotency"
	"hatchel/runtime/stage/opencall"
	"hatchel/runtime/stage/task"
)

// State is what a server keeps in its state store: tasks, idempotency keys, approvals, uploaded
// files, webhook events and the key of state tokens. It outlives generations. Make one with
// New or NewDeclared.
type State struct {
	openFrom func(context.Context, *hcl.State) (state.Store, error)
	exists   func(*hcl.State) bool // reports whether a store exists already or was named; nil when none does
	declared bool                  // the configuration says where the store is

	services *service.List // the store and what works with it

	Process *state.Process // of all work with the store
	Keys    *state.Lease   // of idempotency keys
	Tasks   *task.Registry
	Files   *files.Store // uploaded ones
	// OpenCalls are calls of backends that stay open while their clients answer.
	OpenCalls *opencall.Registry
	Hooks     *hook.Queue // events of hooks that are being stored
	outbox    *webhook.Outbox

	revocations queue.Signal // revocations may have to be recorded

	opening sync.Mutex // held while the store is opened, which may take long

	mu       sync.Mutex
	config   *hcl.State // guarded by mu
	opened   *Opened    // nil until it is needed; guarded by mu
	watching bool       // changes by other processes are noticed; guarded by mu
	observer Observer   // nil for none; guarded by mu

	grants  *openGrants // nil until they are needed; guarded by mu
	revoked func()      // called after a sign-in was revoked; guarded by mu
}

// Opened is the open store, and what is made of it.
type Opened struct {
	state.Store
	Sealer    *elicit.Sealer
	Approvals *approval.Store
	Cursors   mcp.Sealer // of the pages of tools, with the key of sessions
}

// Observer is told of approvals and of sign-ins.
type Observer interface {
	// RecordDecisions records the decision of an approval that was stored by a process without the audit log, or those
	// of all approvals when the ID is empty.
	RecordDecisions(ctx context.Context, approvals *approval.Store, id string)
	// RecordRevocations records the sign-ins that a process without the audit log has ended. It reports true when it is
	// to be called again, because some are left.
	RecordRevocations(ctx context.Context, grants *grant.Store) bool
	// ApprovalChanged is called with approvals that may have changed, also in another process. It must not wait.
	ApprovalChanged(approvals *approval.Store, id string)
	// PublishDecision is called with approvals that are decided, and returns when their event is stored for hooks.
	PublishDecision(ctx context.Context, a *approval.Approval)
}

// New returns a State. Open is called when the store is needed first, and again after it
// failed; its error is a sentence for the author of the configuration.
func New(ctx context.Context, open func(context.Context) (state.Store, error)) *State {
	openFrom := func(ctx context.Context, _ *hcl.State) (state.Store, error) { return open(ctx) }
	return newState(ctx, &State{openFrom: openFrom})
}

// NewDeclared returns a State that is kept where the configuration says; open gets nil when it
// says nothing. Exists reports whether a store exists there already, or the operator named it, without opening it.
func NewDeclared(
	ctx context.Context, open func(context.Context, *hcl.State) (state.Store, error), exists func(*hcl.State) bool,
) *State {
	return newState(ctx, &State{openFrom: open, exists: exists, declared: true})
}

func newState(ctx context.Context, s *State) *State {
	s.Process = state.NewProcess(ctx, s.OpenStore)
	s.Keys = idempotency.NewLease(s.Process)
	s.outbox = webhook.New(ctx, s.resolveEvent)
	s.Hooks = hook.NewQueue(ctx, s.enqueueSeries)
	isOpen := func() bool { return s.Current() != nil }
	s.revocations = queue.NewSignal()
	s.Tasks = task.NewRegistry(s.Process, isOpen, s)
	s.Files = files.NewStore(s.Process)
	s.OpenCalls = opencall.NewRegistry(s.Process)
	s.services = service.NewList(ctx)
	s.services.Start(
		service.Service{Name: "state store", Stop: s.closeStore},
		service.Service{Name: "staged files", Stop: s.Files.Close},
		service.Ending("work with the state store", s.Process.Close),
		service.Ending("webhook delivery", s.outbox.Close),
		service.Ending("hooks", s.Hooks.Close),
		service.Ending("tasks", func() { s.Tasks.Close(call.ErrStopped) }),
	)
	return s
}

// NewMemory returns a State that ends with the process.
func NewMemory(ctx context.Context) *State {
	return New(ctx, func(ctx context.Context) (state.Store, error) {
		opened, err := state.Open(ctx, "")
		if errors.Is(err, sqlitefile.ErrNotIncluded) {
			return nil, fmt.Errorf("outside of a server it is a SQLite database in memory: %w", err)
		}
		return opened, err
	})
}

// Configure sets where the configuration wants the state kept. A store that is open stays where it is: the error is
// [state.ErrMoved] when the place is another one. It is one for the operator when the same database cannot be used as
// the configuration says, as with another password; then it is used as before.
func (s *State) Configure(ctx context.Context, config *hcl.State) error {
	s.opening.Lock()
	defer s.opening.Unlock()
	s.mu.Lock()
	opened, last := s.opened, s.config
	s.mu.Unlock()
	if s.declared && opened != nil {
		if err := changeLocation(ctx, opened.Store, last.Location(), config.Location()); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.config = config
	return nil
}

// changeLocation has an open store use the credentials of another configuration.
func changeLocation(ctx context.Context, opened state.Store, last, next hcl.State) error {
	if last == next {
		return nil
	}
	database, ok := opened.(*state.Postgres)
	if !ok || next.Postgres == "" {
		return state.ErrMoved
	}
	return database.ChangeAddresses(ctx, next.Postgres.Reveal(), next.Listen.Reveal())
}

// Open returns the open store, and opens it when it is not open.
func (s *State) Open(ctx context.Context) (*Opened, error) {
	if opened := s.Current(); opened != nil {
		return opened, nil
	}
	s.opening.Lock()
	defer s.opening.Unlock()
	if opened := s.Current(); opened != nil {
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
	opened := &Opened{Store: store, Sealer: sealer, Approvals: approval.NewStore(store)}
	key, err := opened.Key(ctx, "session")
	if err != nil {
		store.Close()
		return nil, err
	}
	opened.Cursors = mcp.NewSealer(key)
	opened.Approvals.OnChange(func(id string) { s.onApprovalChange(opened.Approvals, id) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened = opened
	return opened, nil
}

// OpenStore is open for those who need only the store.
func (s *State) OpenStore(ctx context.Context) (state.Store, error) {
	opened, err := s.Open(ctx)
	if err != nil {
		return nil, err
	}
	return opened.Store, nil
}

// Current returns the open store, and nil when it is not open.
func (s *State) Current() *Opened {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened
}

// OpenIfExists opens the store if it exists already or is declared, and returns nil otherwise.
func (s *State) OpenIfExists(ctx context.Context) (*Opened, error) {
	s.mu.Lock()
	exists := s.opened != nil || s.config != nil || s.exists != nil && s.exists(s.config)
	s.mu.Unlock()
	if !exists {
		return nil, nil
	}
	return s.Open(ctx)
}

// OpenLasting is OpenIfExists for a store that outlives the process, and returns nil for another one.
func (s *State) OpenLasting(ctx context.Context) (state.Store, error) {
	if !s.declared {
		return nil, nil
	}
	opened, err := s.OpenIfExists(ctx)
	if opened == nil || err != nil {
		return nil, err
	}
	return opened.Store, nil
}

// CancelTask ends a task as [task.Registry.Cancel] does, and the call that is open at its backend while it waits for
// its client.
func (s *State) CancelTask(ctx context.Context, t *task.Task, message string) (bool, error) {
	open := call.OpenCallOf(t.Call)
	done, err := s.Tasks.Cancel(ctx, t, message)
	if done && err == nil && open != (opencall.Ref{}) {
		s.OpenCalls.Release(ctx, open)
	}
	return done, err
}

// RecordDecisions has the decision of an approval that waits for that recorded, or those of all approvals
// when the ID is empty. It does not wait, and does nothing before the store is open.
func (s *State) RecordDecisions(id string) {
	opened, o := s.Current(), s.currentObserver()
	if o != nil && opened != nil {
		s.Process.Go(func(ctx context.Context) { o.RecordDecisions(ctx, opened.Approvals, id) })
	}
}

// Observe sets what is told of approvals.
func (s *State) Observe(o Observer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observer = o
}

func (s *State) currentObserver() Observer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.observer
}

func (s *State) onApprovalChange(approvals *approval.Store, id string) {
	s.outbox.Resolve(call.DecisionEventID(id))
	s.outbox.Resolve(call.PublicationID(id))
	if o := s.currentObserver(); o != nil {
		o.ApprovalChanged(approvals, id)
	}
}

// Approvals implements call.State.
func (s *State) Approvals() *approval.Store { return s.Current().Approvals }

// Sealer implements call.State.
func (s *State) Sealer() *elicit.Sealer { return s.Current().Sealer }

// Cursors returns what seals the cursors of pages. The store is open.
func (s *State) Cursors() mcp.Sealer { return s.Current().Cursors }

// Resolve implements task.Events.
func (s *State) Resolve(id string) { s.outbox.Resolve(id) }

// resolveEvent implements webhook.Resolver.
func (s *State) resolveEvent(ctx context.Context, subject string) (*webhook.Event, bool, error) {
	if id, ok := strings.CutPrefix(subject, task.EventSubject); ok {
		return s.Tasks.Event(ctx, id)
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
	opened, err := s.Open(ctx)
	if err != nil {
		return nil, false, err
	}
	if a, err = opened.Approvals.Find(ctx, id); err != nil || a == nil {
		return nil, err == nil, err
	}
	return a, a.IsDecided(), nil
}

// publishApproval publishes the decision of an approval for hooks. It has no event of its own.
func (s *State) publishApproval(ctx context.Context, id string) (none *webhook.Event, known bool, err error) {
	a, known, err := s.findDecided(ctx, id)
	if o := s.currentObserver(); known && a != nil && o != nil {
		o.PublishDecision(ctx, a)
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
	body, err := DecidedApproval(a).AppendJSON(nil)
	e = &webhook.Event{ID: call.DecisionEventID(id), Type: "approval.decided", At: at, Data: json.RawMessage(body)}
	return e, err == nil, err
}

// DecidedApproval returns an approval that is not pending with the status that its event has: approved, whether or not
// it was used, rejected, void or expired.
func DecidedApproval(a *approval.Approval) *approval.Approval {
	decided := *a
	switch {
	case a.Decision == nil:
		decided.Status = approval.Expired
	case a.Status != approval.Rejected && a.Status != approval.Void:
		decided.Status = approval.Approved
	}
	return &decided
}

// Health says whether the state store, or the audit log, is available.
type Health struct {
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

// PingTimeout is how long a server has to answer a health check.
const PingTimeout = time.Second

// Health pings the store; nil for a store that is not open, and for a file that can be used.
func (s *State) Health(ctx context.Context) *Health {
	opened := s.Current()
	if opened == nil {
		return nil
	}
	store, ok := opened.Store.(interface{ Ping(context.Context) error })
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, PingTimeout)
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
	s.opened, s.grants = nil, nil
	return opened.Close()
}

// StartUploadCleanup removes interrupted uploads, if there can be any. Where the store cannot be
// opened, the next upload tries again.
func (s *State) StartUploadCleanup(ctx context.Context) {
	if store, err := s.OpenIfExists(ctx); err == nil && store != nil {
		s.Files.StartCleanup()
	}
}
