package runtime

import (
	"context"

	"hatchel/runtime/limit"
	"hatchel/runtime/result"
	"hatchel/runtime/state"
)

// processCaches is what a process knows of calls for as long as it runs. It outlives generations.
type processCaches struct {
	limiter *limit.Limiter
	results *result.Cache
	waiters *waiters
}

func newProcessCaches(s *State) *processCaches {
	open := func(ctx context.Context) (state.Store, error) {
		store, _, err := s.open(ctx)
		return store, err
	}
	return &processCaches{limit.New(open), result.NewCache(), newWaiters()}
}
