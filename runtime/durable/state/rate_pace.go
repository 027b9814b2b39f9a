package state

import (
	"context"
	"sync"
	"time"
)

const (
	maxHorizon   = 50 * time.Millisecond
	paceLifetime = time.Minute // without a reservation, after which a pace is forgotten
)

// horizon returns for how long a process reserves turns ahead. A turn may be used from the tolerance of
// the rate before it until it has come. Reserving ahead takes up to half of this time; the other half
// is left to bursts.
func (r Rate) horizon() time.Duration { return min(maxHorizon, r.tolerance()/4) }

// paces are the paces of this process, by name.
type paces struct {
	mu    sync.Mutex
	list  map[string]*pace // guarded by mu
	swept time.Time        // guarded by mu
}

// pace is what this process knows of the turns of one name: those that it has reserved ahead, and from
// when on it is worth asking for another.
type pace struct {
	rate   Rate
	found  time.Time     // by the last event; guarded by paces.mu
	locked chan struct{} // has room for the one event that reads or changes what follows

	held      int       // turns that are reserved and not used
	due       time.Time // when the first of them may be used
	expires   time.Time // when the first of them may be used no more
	notBefore time.Time // no turn can be reserved without a wait before

	period       time.Time // beginning of the current horizon
	used, before int       // turns that were used in it, and in the one before
}

// find returns the pace of a name under a rate.
func (s *paces) find(name string, rate Rate) *pace {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if now.Sub(s.swept) > paceLifetime {
		s.swept = now
		for name, p := range s.list {
			if now.Sub(p.found) > paceLifetime {
				delete(s.list, name)
			}
		}
	}
	p := s.list[name]
	if p == nil || p.rate != rate {
		p = &pace{rate: rate, locked: make(chan struct{}, 1)}
		if s.list == nil {
			s.list = map[string]*pace{}
		}
		s.list[name] = p
	}
	p.found = now
	return p
}

func (p *pace) lock(ctx context.Context) error {
	select {
	case p.locked <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *pace) unlock() { <-p.locked }

// takeHeld answers from memory, if that is possible: with the wait of a turn that it takes, or with a
// longer one than maxWait.
func (p *pace) takeHeld(now time.Time, maxWait time.Duration) (wait time.Duration, known bool) {
	if p.held > 0 && now.After(p.expires) {
		interval := p.rate.interval()
		p.dropHeld(min(int(now.Sub(p.expires)/interval)+1, p.held))
	}
	if p.held == 0 {
		wait = p.notBefore.Sub(now)
		return wait, wait > maxWait
	}
	if wait = max(p.due.Sub(now), 0); wait <= maxWait {
		p.dropHeld(1)
		p.countUse(now)
	}
	return wait, true
}

func (p *pace) dropHeld(n int) {
	p.held -= n
	p.due = p.due.Add(time.Duration(n) * p.rate.interval())
	p.expires = p.expires.Add(time.Duration(n) * p.rate.interval())
}

// hold counts the use of the first of some turns, and keeps the others. The store was asked at a time
// when the first turn was ahead of its clock. The kept ones are due later than they might be: a process
// that always has to wait a little asks less often.
func (p *pace) hold(asked time.Time, turn time.Duration, count int) {
	p.held, p.due, p.expires = count, time.Now().Add(turn-p.rate.tolerance()+p.rate.horizon()), asked.Add(turn)
	p.dropHeld(1)
	p.countUse(asked)
}

// countUse counts a turn that is used.
func (p *pace) countUse(now time.Time) {
	p.countPeriods(now)
	p.used++
}

func (p *pace) countPeriods(now time.Time) {
	horizon := p.rate.horizon()
	switch passed := now.Sub(p.period); {
	case passed >= 2*horizon:
		p.period, p.used, p.before = now, 0, 0
	case passed >= horizon:
		p.period, p.used, p.before = now, 0, p.used
	}
}

// demand returns how many turns to reserve: as many as were used within the last horizon, but not more
// than the rate gives in that time. Fewer than two are not reserved ahead, since they would likely be lost.
func (p *pace) demand(now time.Time) int {
	p.countPeriods(now)
	count := min(max(p.used, p.before), int(p.rate.horizon()/p.rate.interval()))
	if count < 2 {
		return 1
	}
	return count
}
