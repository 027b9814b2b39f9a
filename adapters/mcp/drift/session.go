package drift

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"hatchel/adapters/mcp/client"
)

const (
	// quietTime is how long the list of a server must not change until it is listed again in the background.
	quietTime = 2 * time.Second
	// minInterval is the time between two lists in the background, and the shortest time for which a list is valid that
	// says itself for how long.
	minInterval = 10 * time.Second
	// settlingTime is how long after its beginning a session may add tools, which are waited for.
	settlingTime = 5 * time.Second
	// maxListTime is how long a list may take.
	maxListTime = client.MaxListTime
)

// Lister lists the tools of a session.
type Lister func(ctx context.Context) (client.List, error)

// Session compares what one session of the client lists. It is safe for concurrent use. Monitor.NewSession makes one.
type Session struct {
	monitor *Monitor

	mu       sync.Mutex
	list     Lister          // nil before Begin; guarded by mu, as all below
	ctx      context.Context // of lists in the background
	cancel   context.CancelFunc
	begun    time.Time
	rounds   int           // that have begun
	current  chan struct{} // closed when the round that runs is over; nil while none runs
	done     int           // the number of the last round that is over
	err      error         // of that round
	found    verdicts      // of the last list that was accepted
	listed   time.Time     // when the last list that was accepted had begun; zero before the first one
	due      time.Time     // when that list is too old; zero for never
	stale    bool          // the list may have changed since
	epoch    int64         // of the monitor, when the last round began
	changed  chan struct{}
	stirred  time.Time // of the first change that no list has followed; zero for none
	timer    *time.Timer
	next     time.Time // when the timer lists; zero while it does not
	isClosed bool
	running  sync.WaitGroup // rounds
}

// NewSession returns the Session of a session that is about to be opened.
func (m *Monitor) NewSession() *Session { return &Session{monitor: m, changed: make(chan struct{})} }

// Begin says that the session is open, and how its tools are listed. Lists in the background have the values of ctx.
func (s *Session) Begin(ctx context.Context, list Lister) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.list, s.begun = list, time.Now()
}

// Changed says that the server may list something else: it says so, or it does not know a tool that it has listed. It
// does not block.
func (s *Session) Changed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stale = true
	close(s.changed)
	s.changed = make(chan struct{})
	if s.stirred.IsZero() {
		s.stirred = time.Now()
	}
	s.schedule()
}

// Close ends the session. It waits for a list that is under way, whose context it ends.
func (s *Session) Close() {
	s.mu.Lock()
	s.isClosed = true
	if s.timer != nil {
		s.timer.Stop()
	}
	if s.cancel != nil {
		s.cancel()
	}
	s.mu.Unlock()
	s.running.Wait()
	s.monitor.forget(s)
}

// IsListed reports whether the tools of the session were listed.
func (s *Session) IsListed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.listed.IsZero()
}

// Check lists the tools if what is known of them may be out of date. Its error is a *ListError.
func (s *Session) Check(ctx context.Context) error {
	_, err := s.check(ctx)
	return err
}

// Admit returns nil if calls of a tool may be sent in the session now. It lists the tools if what is known of them may
// be out of date. A tool that is not as reviewed, or that is not listed, is refused with an *adapters.Fault; any other
// error is that of the list. Nothing of the call is sent.
func (s *Session) Admit(ctx context.Context, tool string) error {
	found, err := s.check(ctx)
	if err == nil && found[tool] == missing {
		found, err = s.settle(ctx, tool, found)
	}
	if err != nil {
		return err
	}
	return s.monitor.refusal(tool, found[tool])
}

// settle waits for a tool that is missing, as long as the session has only just begun.
func (s *Session) settle(ctx context.Context, tool string, found verdicts) (verdicts, error) {
	for range maxSettling {
		s.mu.Lock()
		left, changed, stale := time.Until(s.begun.Add(settlingTime)), s.changed, s.stale
		isLast := s.listed.Sub(s.begun) >= settlingTime
		s.mu.Unlock()
		if isLast {
			break
		}
		if !stale && left > 0 {
			timer := time.NewTimer(left)
			select {
			case <-changed:
			case <-timer.C:
			case <-ctx.Done():
			}
			timer.Stop()
		}
		if ctx.Err() != nil {
			return nil, &ListError{context.Cause(ctx)}
		}
		s.markStale()
		var err error
		if found, err = s.check(ctx); err != nil || found[tool] != missing {
			return found, err
		}
	}
	return found, nil
}

// maxSettling is how often a session that has only just begun is listed for the sake of one call.
const maxSettling = 5

func (s *Session) markStale() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stale = true
}

// ListError is the error of Admit if the tools cannot be listed. Nothing of the call was sent.
type ListError struct{ Err error }

func (e *ListError) Error() string {
	return "the tools of the server cannot be listed: " + e.Err.Error()
}

// Unwrap returns the error of the list.
func (e *ListError) Unwrap() error { return e.Err }

// errClosed is the error of a check in a session that has ended.
var errClosed = errors.New("the session has ended")

// maxRetries is how often a call lists once more because the server has said during the list that it may have
// changed.
const maxRetries = 3

// check returns what differs, of a list that is not out of date. Calls that come while the tools are listed wait for
// that list and then for their own, which they share. A server that says during each list that it has changed is
// compared by the last one.
func (s *Session) check(ctx context.Context) (verdicts, error) {
	s.mu.Lock()
	if !s.needsList() {
		defer s.mu.Unlock()
		return s.found, nil
	}
	retries, least := 0, s.rounds+1
	for {
		if s.done >= least {
			if !s.stale || s.err != nil || retries == maxRetries {
				break
			}
			retries++
			least = s.rounds + 1
		}
		if s.isClosed {
			s.mu.Unlock()
			return nil, &ListError{errClosed}
		}
		if s.current == nil {
			s.begin(ctx)
		}
		over := s.current
		s.mu.Unlock()
		select {
		case <-over:
		case <-ctx.Done():
			return nil, &ListError{context.Cause(ctx)}
		}
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	if s.err != nil {
		return nil, &ListError{s.err}
	}
	return s.found, nil
}

// needsList reports whether a call must not rely on the last list. The caller holds mu.
func (s *Session) needsList() bool {
	isOld := s.monitor.Refresh == 0 || !s.due.IsZero() && !time.Now().Before(s.due)
	return s.listed.IsZero() || s.stale || isOld || s.epoch != s.monitor.epoch.Load()
}

// begin begins a round: the tools are listed with the values of ctx, and compared. It does not end with ctx, because
// other calls wait for it too. The caller holds mu, and no round runs.
func (s *Session) begin(ctx context.Context) {
	over := make(chan struct{})
	s.rounds++
	s.current, s.stale, s.stirred = over, false, time.Time{}
	s.epoch, s.next = s.monitor.epoch.Load(), time.Time{}
	number, began, list := s.rounds, time.Now(), s.list
	s.running.Go(func() {
		listing, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxListTime)
		defer cancel()
		defer context.AfterFunc(s.ctx, cancel)()
		list, err := list(listing)
		var found verdicts
		if err == nil {
			found = s.compare(&list, began)
		} else if s.ctx.Err() == nil {
			s.monitor.refuse(err.Error())
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.current, s.done, s.err = nil, number, err
		if err == nil {
			s.found, s.listed, s.due = found, began, s.dueTime(&list, began)
		} else {
			s.stale = true
		}
		s.schedule()
		close(over)
	})
}

// compare compares a list and reports what differs.
func (s *Session) compare(list *client.List, began time.Time) verdicts {
	found, unused := s.monitor.compare(list)
	s.monitor.accept(s, found, unused, began.Sub(s.begun) < settlingTime)
	return found
}

// dueTime returns when a list is too old; zero for never.
func (s *Session) dueTime(list *client.List, began time.Time) time.Time {
	valid := s.monitor.Refresh
	if ttl := list.TTL; ttl >= 0 {
		valid = min(cmp.Or(valid, minInterval), max(ttl, minInterval))
	}
	if valid == 0 {
		return time.Time{}
	}
	return began.Add(valid)
}

// schedule sets when the tools are listed in the background. The caller holds mu.
func (s *Session) schedule() {
	if s.list == nil || s.isClosed || s.rounds == 0 || s.monitor.PerCaller {
		return // the first call lists; without a call there are no credentials of its caller
	}
	next := s.due
	if settled := s.begun.Add(settlingTime); s.listed.Before(settled) && s.found.hasMissing() {
		next = earliest(next, settled)
	}
	if !s.stirred.IsZero() {
		quiet := earliest(time.Now().Add(quietTime), s.stirred.Add(minInterval))
		next = earliest(next, latest(quiet, s.listed.Add(minInterval)))
	}
	if s.err != nil {
		next = time.Now().Add(minInterval)
	}
	if s.next = next; next.IsZero() {
		return
	}
	if s.timer == nil {
		s.timer = time.AfterFunc(time.Until(next), s.listInBackground)
		return
	}
	s.timer.Reset(time.Until(next))
}

func (s *Session) listInBackground() {
	s.mu.Lock()
	defer s.mu.Unlock()
	isDue := !s.next.IsZero() && !time.Now().Before(s.next) // another change may have moved it while this waited for mu
	if !s.isClosed && s.current == nil && isDue {
		s.begin(s.ctx)
	}
}

// hasMissing reports whether a tool is missing.
func (found verdicts) hasMissing() bool {
	for _, v := range found {
		if v == missing {
			return true
		}
	}
	return false
}

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
