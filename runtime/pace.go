package runtime

import (
	"context"
	"slices"
	"time"

	"hatchel/adapters"
	"hatchel/runtime/state"
)

// hasRate reports whether calls of the tool are held to a rate.
func (p *Program) hasRate() bool {
	return slices.ContainsFunc(p.limits, func(b limit) bool { return b.rule.Rate.Calls > 0 })
}

// String is what is counted in the store: it says nothing of the caller.
func (m limitKey) String() string { return digestOf("pace", m.tool, m.caller).String() }

// acquireRate waits until the rate lets a call begin. Its turns are counted in the store, for all processes that share it: where that cannot be done, no call begins.
func (ms *limiter) acquireRate(ctx context.Context, s *State, of limitKey, b limit, patience time.Time) error {
	early, err := ms.reserve(ctx, s, of, b, patience)
	if early == 0 || err != nil {
		return err
	}
	defer ms.addQueued(of, -1)
	return waitUntil(ctx, nil, time.Now().Add(early), nil)
}

// reserve is how long a call has to wait for its turn; one that has to is among those that wait. Of those that could have to, one asks at a time, so that no more wait than may.
func (ms *limiter) reserve(ctx context.Context, s *State, of limitKey, b limit, patience time.Time) (early time.Duration, err error) {
	if b.rule.Queue > 0 {
		asking := ms.reserving(of)
		select {
		case asking <- struct{}{}:
			defer func() { <-asking }()
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	wait, early := ms.maxWait(of, b, patience)
	if early > 0 {
		return 0, b.errRateLimited(early)
	}
	store, _, err := s.open(ctx)
	if err != nil {
		return 0, rateUnavailable(err)
	}
	early, ok, err := store.Pace(ctx, of.String(), b.rate(), wait)
	switch {
	case err != nil:
		return 0, rateUnavailable(err)
	case !ok:
		ms.noteRejected(of, b, early)
		return 0, b.errRateLimited(early)
	case early > 0:
		ms.addQueued(of, 1)
	}
	return early, nil
}

// rate is how often calls may begin.
func (b limit) rate() state.Rhythm {
	r := state.Rhythm{Every: b.rule.Rate.Every(), Burst: b.rule.Burst}
	if b.rule.Queue > 0 {
		r.Patience = b.rule.MaxWait
	}
	return r
}

func rateUnavailable(err error) error {
	return &adapters.Fault{Message: "the calls of this tool are counted, and the server does not get at what it remembers of them. Nothing was done; try again in a moment", Cause: stateError(err), Untouched: true}
}

// reserving has room for the one call that asks for its turn. The meter is not forgotten: the call has its place.
func (ms *limiter) reserving(of limitKey) chan struct{} {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m := ms.bucket(of)
	if m.reserving == nil {
		m.reserving = make(chan struct{}, 1)
	}
	return m.reserving
}

// maxWait says for how long a call may wait for its turn. When it is known already that its turn comes later, early is when: who calls and calls again does not trouble the store.
func (ms *limiter) maxWait(of limitKey, b limit, patience time.Time) (wait, early time.Duration) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m, now := ms.bucket(of), time.Now()
	if m.queued < b.rule.Queue {
		wait = max(patience.Sub(now), 0)
	}
	if next := m.notBefore.Sub(now); m.rule == b.rule && next > wait {
		early = next
	}
	return wait, early
}

// addQueued counts calls that wait for their turn.
func (ms *limiter) addQueued(of limitKey, more int) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	ms.bucket(of).queued += more
}

// noteRejected remembers that no turn comes earlier.
func (ms *limiter) noteRejected(of limitKey, b limit, early time.Duration) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m := ms.bucket(of)
	m.notBefore, m.rule = time.Now().Add(early), b.rule
}
