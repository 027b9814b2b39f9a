package runtime

import (
	"context"
	"sync"
	"time"

	"hatchel/runtime/state"
)

// State is what a server remembers beyond a call: the key of what it seals, what of that was used, and tasks. It outlives generations. Make one with NewState.
type State struct {
	open  func(context.Context) (state.Store, error)
	tasks *tasks

	mu     sync.Mutex
	store  state.Store // nil before it is needed; guarded by mu
	sealer *sealer     // with store; guarded by mu
}

// NewState makes a State. Open is called when something has to be remembered for the first time, and again when it failed; its error is a sentence for the author.
func NewState(open func(context.Context) (state.Store, error)) *State {
	s := &State{open: open}
	s.tasks = newTasks(s)
	return s
}

// forgetful is a State that ends with the process.
func forgetful() *State {
	return NewState(func(ctx context.Context) (state.Store, error) { return state.Open(ctx, "") })
}

// ready opens the store, unless it is open.
func (s *State) ready(ctx context.Context) error {
	_, _, err := s.opened(ctx)
	return err
}

func (s *State) opened(ctx context.Context) (state.Store, *sealer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store != nil {
		return s.store, s.sealer, nil
	}
	store, err := s.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	sealer, err := newSealer(ctx, store)
	if err != nil {
		store.Close()
		return nil, nil, err
	}
	s.store, s.sealer = store, sealer
	return store, sealer, nil
}

// inUse is the store, if something had to be remembered already; otherwise it is nil.
func (s *State) inUse() state.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store
}

func (s *State) seal(ctx context.Context, frozen []byte, of purpose, until time.Time) (string, error) {
	_, sealer, err := s.opened(ctx)
	if err != nil {
		return "", err
	}
	return sealer.seal(ctx, frozen, of, until)
}

func (s *State) unseal(ctx context.Context, sealed string, of purpose) ([]byte, error) {
	_, sealer, err := s.opened(ctx)
	if err != nil {
		return nil, err
	}
	return sealer.open(ctx, sealed, of)
}

// Close ends what is left of tasks, and closes the store. What serves with the State is closed before.
func (s *State) Close() error {
	s.tasks.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store == nil {
		return nil
	}
	store := s.store
	s.store = nil
	return store.Close()
}
