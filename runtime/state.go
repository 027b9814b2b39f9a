package runtime

import (
	"context"
	"errors"
	"sync"
	"time"

	"hatchel/hcl"
	"hatchel/runtime/approval"
	"hatchel/runtime/digest"
	"hatchel/runtime/elicit"
	"hatchel/runtime/files"
	"hatchel/runtime/mcp"
	"hatchel/runtime/state"
	"hatchel/runtime/webhook"
)

// State is what a server remembers beyond a call: the key of what it seals, what of that was used, and tasks. It outlives generations. Make one with NewState, or with NewDeclaredState.
type State struct {
	openStore func(context.Context, *hcl.State) (state.Store, error)
	existed   func(*hcl.State) bool // reports whether something was remembered before; nil when nothing was
	declared  bool                  // it is kept where the configuration says
	tasks     *taskRegistry
	outbox    *webhook.Outbox
	files     *files.Shelf

	process *state.Process // as the owner of records

	mu             sync.Mutex
	config         *hcl.State     // what the configuration says of where it is kept; guarded by mu
	store          state.Store    // nil before it is needed; guarded by mu
	sealer         *elicit.Sealer // with store, as book; guarded by mu
	book           *approval.Book
	recordDecision func(ctx context.Context, book *approval.Book, id string) // has a decision written down that another process cannot write down; nil where nothing is; guarded by mu
}

// NewState makes a State. Open is called when something has to be remembered for the first time, and again when it failed; its error is a sentence for the author.
func NewState(open func(context.Context) (state.Store, error)) *State {
	return newState(&State{openStore: func(ctx context.Context, _ *hcl.State) (state.Store, error) { return open(ctx) }})
}

// NewDeclaredState makes a State that is kept where the configuration says; what open is given is nil when it says nothing. Exists reports whether something is kept there already,
// without opening it.
func NewDeclaredState(open func(context.Context, *hcl.State) (state.Store, error), exists func(*hcl.State) bool) *State {
	return newState(&State{openStore: open, existed: exists, declared: true})
}

func newState(s *State) *State {
	s.tasks, s.outbox = newTaskRegistry(s), webhook.New(s.resolveEvent)
	s.process = state.NewProcess(func(ctx context.Context) (state.Store, error) {
		store, _, err := s.open(ctx)
		return store, err
	})
	s.files = files.NewShelf(s.process)
	return s
}

// configure says where a configuration wants what must be remembered kept, and reports whether it can be kept there: what is remembered already does not move.
func (s *State) configure(kept *hcl.State) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.declared && s.store != nil && !s.config.Same(kept) {
		return false
	}
	s.config = kept
	return true
}

// newMemoryState is a State that ends with the process.
func newMemoryState() *State {
	return NewState(func(ctx context.Context) (state.Store, error) { return state.Open(ctx, "") })
}

// ensureOpen opens the store, unless it is open.
func (s *State) ensureOpen(ctx context.Context) error {
	_, _, err := s.open(ctx)
	return err
}

func (s *State) open(ctx context.Context) (state.Store, *elicit.Sealer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store != nil {
		return s.store, s.sealer, nil
	}
	store, err := s.openStore(ctx, s.config)
	if err != nil {
		return nil, nil, err
	}
	sealer, err := elicit.NewSealer(ctx, store)
	if err != nil {
		store.Close()
		return nil, nil, err
	}
	s.store, s.sealer, s.book = store, sealer, approval.NewBook(store)
	s.book.Tell(func(id string) { s.outbox.Ready(decisionEventID(id)) })
	return store, sealer, nil
}

// approvals are what is asked of people, and what they have decided. Who waits for one has the store watched first, with tasks.begin.
func (s *State) approvals(ctx context.Context) (*approval.Book, error) {
	if _, _, err := s.open(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.book, nil
}

// onRemoteChange is told of a record that another process has changed.
func (s *State) onRemoteChange(ctx context.Context, kind, name string) {
	s.mu.Lock()
	book := s.book
	s.mu.Unlock()
	book.Changed(kind, name)
	if kind == "" || kind == webhook.Kind {
		s.outbox.Wake()
	}
	if kind == "" || kind == approval.ProposalKind {
		s.recordDecisions(ctx, name)
	}
}

// recordStoredDecisions records the decisions that were stored while no audit log was open.
func (s *State) recordStoredDecisions(ctx context.Context) {
	if s.current() != nil {
		s.recordDecisions(ctx, "")
	}
}

// recordDecisions records the decision of a proposal, or those of all proposals when the name is empty. It does not wait.
func (s *State) recordDecisions(ctx context.Context, name string) {
	s.mu.Lock()
	book, record := s.book, s.recordDecision
	s.mu.Unlock()
	if record == nil {
		return
	}
	s.tasks.background.Go(func() {
		ids := []string{approval.Proposed(name)}
		if name == "" {
			ids, _ = book.Proposals(ctx) // a reload or the next change tries again
		}
		for _, id := range ids {
			record(ctx, book, id)
		}
	})
}

// setDecisionRecorder says who has decisions written down that other processes make.
func (s *State) setDecisionRecorder(writes func(ctx context.Context, book *approval.Book, id string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recordDecision = writes
}

// startUploadCleanup has uploads forgotten that were cut off, if there can be any: it opens the store only if that is there already, or was asked for. Where it cannot be opened, that is tried again
// by the next upload.
func (s *State) startUploadCleanup(ctx context.Context) {
	s.mu.Lock()
	there := s.store != nil || s.config != nil || s.existed != nil && s.existed(s.config)
	s.mu.Unlock()
	if !there {
		return
	}
	if _, _, err := s.open(ctx); err == nil {
		s.files.StartCleanup()
	}
}

// current is the store, if something had to be remembered already; otherwise it is nil.
func (s *State) current() state.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store
}

func (s *State) seal(ctx context.Context, frozen []byte, of digest.Digest, until time.Time) (string, error) {
	_, sealer, err := s.open(ctx)
	if err != nil {
		return "", err
	}
	return sealer.Seal(ctx, frozen, of, until)
}

func (s *State) unseal(ctx context.Context, sealed string, of digest.Digest) ([]byte, error) {
	_, sealer, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	frozen, err := sealer.Open(ctx, sealed, of)
	return frozen, publicError(err)
}

// publicError is an error as a client is told of it: one that passes by itself says so.
func publicError(err error) error {
	if errors.Is(err, state.ErrAway) {
		return &mcp.Error{Code: mcp.CodeBusy, Message: "The server does not get at what it remembers. Try again in a moment"}
	}
	return err
}

// StateHealth says whether what is remembered can be got at.
type StateHealth struct {
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

// health asks the store, if there is one that could be away; otherwise it is nil.
func (s *State) health(ctx context.Context) *StateHealth {
	remote, ok := s.current().(state.Remote)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	err := remote.Ping(ctx)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return &StateHealth{Error: "it does not answer in time"}
	case err != nil:
		return &StateHealth{Error: err.Error()}
	}
	return &StateHealth{OK: true}
}

// Close ends what is left of tasks, and closes the store. What serves with the State is closed before.
func (s *State) Close() error {
	s.tasks.close()
	s.outbox.Close()
	s.process.Close()
	s.files.Close() // what cannot be removed now is removed at the next start
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store == nil {
		return nil
	}
	store := s.store
	s.store = nil
	return store.Close()
}
