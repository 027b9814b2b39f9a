package runtime

import (
	"context"
	"slices"
	"time"

	"hatchel/adapters"
	"hatchel/runtime/state"
)

// paced reports whether calls of the tool are held to a rate.
func (p *Program) paced() bool {
	return slices.ContainsFunc(p.bounds, func(b bound) bool { return b.rule.Rate.Calls > 0 })
}

// String is what is counted in the store: it says nothing of the caller.
func (m metered) String() string { return purposeOf("pace", m.tool, m.caller).String() }

// pace waits until the rate lets a call begin. Its turns are counted in the store, for all processes that share it: where that cannot be done, no call begins.
func (ms *meters) pace(ctx context.Context, s *State, of metered, b bound, patience time.Time) error {
	early, err := ms.turn(ctx, s, of, b, patience)
	if early == 0 || err != nil {
		return err
	}
	defer ms.late(of, -1)
	return until(ctx, nil, time.Now().Add(early), nil)
}

// turn is how long a call has to wait for its turn; one that has to is among those that wait. Of those that could have to, one asks at a time, so that no more wait than may.
func (ms *meters) turn(ctx context.Context, s *State, of metered, b bound, patience time.Time) (early time.Duration, err error) {
	if b.rule.Queue > 0 {
		asking := ms.asking(of)
		select {
		case asking <- struct{}{}:
			defer func() { <-asking }()
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	wait, early := ms.waits(of, b, patience)
	if early > 0 {
		return 0, b.hurried(early)
	}
	store, _, err := s.opened(ctx)
	if err != nil {
		return 0, uncounted(err)
	}
	early, ok, err := store.Pace(ctx, of.String(), b.rhythm(), wait)
	switch {
	case err != nil:
		return 0, uncounted(err)
	case !ok:
		ms.refused(of, b, early)
		return 0, b.hurried(early)
	case early > 0:
		ms.late(of, 1)
	}
	return early, nil
}

// rhythm is how often calls may begin.
func (b bound) rhythm() state.Rhythm {
	r := state.Rhythm{Every: b.rule.Rate.Every(), Burst: b.rule.Burst}
	if b.rule.Queue > 0 {
		r.Patience = b.rule.Wait
	}
	return r
}

func uncounted(err error) error {
	return &adapters.Fault{Message: "the calls of this tool are counted, and the server does not get at what it remembers of them. Nothing was done; try again in a moment", Cause: ofState(err), Untouched: true}
}

// asking has room for the one call that asks for its turn. The meter is not forgotten: the call has its place.
func (ms *meters) asking(of metered) chan struct{} {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m := ms.meter(of)
	if m.asking == nil {
		m.asking = make(chan struct{}, 1)
	}
	return m.asking
}

// waits says for how long a call may wait for its turn. When it is known already that its turn comes later, early is when: who calls and calls again does not trouble the store.
func (ms *meters) waits(of metered, b bound, patience time.Time) (wait, early time.Duration) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m, now := ms.meter(of), time.Now()
	if m.late < b.rule.Queue {
		wait = max(patience.Sub(now), 0)
	}
	if next := m.next.Sub(now); m.rule == b.rule && next > wait {
		early = next
	}
	return wait, early
}

// late counts calls that wait for their turn.
func (ms *meters) late(of metered, more int) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	ms.meter(of).late += more
}

// refused remembers that no turn comes earlier.
func (ms *meters) refused(of metered, b bound, early time.Duration) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m := ms.meter(of)
	m.next, m.rule = time.Now().Add(early), b.rule
}
