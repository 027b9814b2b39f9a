// Package pool keeps the sessions of a connection with its server, by the callers that they belong to. A session is
// never used for two owners.
package pool

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"

	"hatchel/adapters"
	"hatchel/internal/service"
)

// Session is one session with a server, or a program with its session.
type Session interface {
	// Done returns a channel that is closed when the session has ended. Calls get another session then.
	Done() <-chan struct{}
	// Close ends the session, and returns when nothing of it runs any more. It takes a bounded time.
	Close()
}

// Config says who gets which session of a Pool.
type Config[S Session] struct {
	// Connection is the name of the connection, for failures.
	Connection string

	// Open opens a session. It takes a bounded time, and must not wait for the Pool. Its context has the values of the
	// first call that waits for the session, and ends with the Pool only: a session that is opened serves later calls.
	// Its error is that of every call that waits for the session; a *adapters.Fault of it has NotSent.
	Open func(ctx context.Context, owner string) (S, error)

	// Max is how many sessions there may be, with those that are being opened and closed.
	Max int

	// Idle is after how long a session that no call uses is closed; 0 for never.
	Idle time.Duration

	// PerCall opens a session for each call, and closes it afterwards.
	PerCall bool

	// Single reports whether a session serves one call at a time. Nil for no session.
	Single func(S) bool
}

// Pool is the sessions of a connection. It is safe for concurrent use.
type Pool[S Session] struct {
	config Config[S]
	work   *service.Group // opens and closes sessions

	mu      sync.Mutex
	owned   map[string]*entry[S]   // that calls of an owner get; guarded by mu
	spare   *entry[S]              // that no call has used yet, for the first owner; nil for none; guarded by mu
	all     map[*entry[S]]struct{} // that take a place; guarded by mu
	closing int                    // how many of all are being closed; guarded by mu
	idle    list.List              // of *entry[S] without users, the one that is idle longest first; guarded by mu
	waiting list.List              // of *waiter[S], first come first; guarded by mu
	timer   *time.Timer            // closes idle sessions; nil before the first; guarded by mu
	closed  bool                   // guarded by mu
}

// entry is one session, from the moment when it takes a place until it is closed. Its fields but opened, session and
// err are guarded by Pool.mu.
type entry[S Session] struct {
	owner   string
	opened  chan struct{} // closed when session or err is set
	session S
	err     error

	users     int           // calls that use or await it
	ready     bool          // it is open
	retired   bool          // no other call gets it
	idleSince time.Time     // of one without users
	idle      *list.Element // in Pool.idle; nil for one with users
}

// waiter is a call that waits for a session or a place. Its fields are guarded by Pool.mu until granted is closed.
type waiter[S Session] struct {
	ctx     context.Context // of the call
	owner   string
	granted chan struct{} // closed when entry is set
	entry   *entry[S]     // nil if the Pool was closed
}

// New returns a Pool without sessions. Its owner closes it; the end of ctx does not.
func New[S Session](ctx context.Context, config Config[S]) *Pool[S] {
	return &Pool[S]{
		config: config, work: service.NewGroup(ctx),
		owned: map[string]*entry[S]{}, all: map[*entry[S]]struct{}{},
	}
}

// Lease is the use of a session by one call. One goroutine uses it at a time.
type Lease[S Session] struct {
	pool  *Pool[S]
	entry *entry[S]
}

// Session returns the session. It is not used after Release.
func (l *Lease[S]) Session() S { return l.entry.session }

// Discard lets no other call get the session, because it is of no use any more. It is closed when the last call that
// uses it ends.
func (l *Lease[S]) Discard() {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	l.pool.retire(l.entry)
}

// Release gives the session back. It is called once.
func (l *Lease[S]) Release() {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	l.pool.leave(l.entry)
}

// maxAttempts is how many sessions a call opens that end at once.
const maxAttempts = 3

// Acquire returns the session of an owner, and opens it if there is none. If all sessions are in use, it waits until
// ctx ends. The error is that of Open, or a *adapters.Fault: nothing was sent.
func (p *Pool[S]) Acquire(ctx context.Context, owner string) (*Lease[S], error) {
	for attempt := 1; ; attempt++ {
		e, err := p.enter(ctx, owner)
		if err != nil {
			return nil, err
		}
		l := &Lease[S]{p, e}
		select {
		case <-e.opened:
		case <-ctx.Done():
			l.Release()
			const text = "the session with %q was not open in the time of this call"
			return nil, &adapters.Fault{
				Message: fmt.Sprintf(text, p.config.Connection), Cause: context.Cause(ctx), NotSent: true,
			}
		}
		switch {
		case e.err != nil:
			l.Release()
			return nil, e.err
		case !hasEnded(e.session):
			return l, nil
		}
		l.Discard()
		l.Release()
		if attempt == maxAttempts {
			return nil, &adapters.Fault{
				Message: fmt.Sprintf("the sessions with %q end as soon as they are open", p.config.Connection),
				NotSent: true, Unavailable: true,
			}
		}
	}
}

// enter makes the call a user of a session, which may still be being opened.
func (p *Pool[S]) enter(ctx context.Context, owner string) (*entry[S], error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, p.closedFault()
	}
	e := p.grant(ctx, owner)
	if e != nil {
		p.mu.Unlock()
		return e, nil
	}
	w := &waiter[S]{ctx: ctx, owner: owner, granted: make(chan struct{})}
	place := p.waiting.PushBack(w)
	p.makeRoom()
	p.mu.Unlock()

	select {
	case <-w.granted:
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		select {
		case <-w.granted:
			if w.entry != nil {
				p.leave(w.entry)
			}
		default:
			p.waiting.Remove(place)
		}
		return nil, p.notSent(ctx)
	}
	if w.entry == nil {
		return nil, p.closedFault()
	}
	return w.entry, nil
}

// notSent returns the failure of a call that waited until its end.
func (p *Pool[S]) notSent(ctx context.Context) error {
	const text = "%q was busy with %d sessions for as long as this call could wait"
	return &adapters.Fault{
		Message: fmt.Sprintf(text, p.config.Connection, p.config.Max), Cause: context.Cause(ctx), NotSent: true,
	}
}

func (p *Pool[S]) closedFault() error {
	return &adapters.Fault{
		Message: fmt.Sprintf("the connection %q was closed before this call was sent", p.config.Connection),
		Advice:  "try again", NotSent: true,
	}
}

// grant returns the entry that a call of an owner may use now; nil if it has to wait. The caller holds mu.
func (p *Pool[S]) grant(ctx context.Context, owner string) *entry[S] {
	e := p.owned[owner]
	if e != nil && e.ready && hasEnded(e.session) {
		p.retire(e)
		e = nil
	}
	if e == nil {
		e = p.takeSpare(owner)
	}
	if e != nil && !p.config.PerCall {
		if e.users > 0 && p.isSingle(e) {
			return nil
		}
		p.use(e)
		return e
	}
	if e == nil && len(p.all) >= p.config.Max {
		return nil
	}
	if e == nil {
		e = p.open(ctx, owner)
		if !p.config.PerCall {
			p.owned[owner] = e
		}
	}
	p.use(e)
	e.retired = p.config.PerCall
	return e
}

// takeSpare gives the session that no call has used to an owner. The caller holds mu.
func (p *Pool[S]) takeSpare(owner string) *entry[S] {
	e := p.spare
	if e == nil {
		return nil
	}
	p.spare = nil
	if e.ready && hasEnded(e.session) {
		p.retire(e)
		return nil
	}
	if e.owner = owner; !p.config.PerCall {
		p.owned[owner] = e
	}
	return e
}

// isSingle reports whether an entry serves one call at a time. That of one that is being opened is not known yet. The
// caller holds mu.
func (p *Pool[S]) isSingle(e *entry[S]) bool {
	return p.config.Single != nil && (!e.ready || p.config.Single(e.session))
}

func hasEnded[S Session](s S) bool {
	select {
	case <-s.Done():
		return true
	default:
		return false
	}
}

// open begins to open a session, which takes a place. The caller holds mu.
func (p *Pool[S]) open(ctx context.Context, owner string) *entry[S] {
	e := &entry[S]{owner: owner, opened: make(chan struct{})}
	p.all[e] = struct{}{}
	values := context.WithoutCancel(ctx)
	p.work.Go(func(closing context.Context) {
		ctx, cancel := context.WithCancel(values)
		defer cancel()
		defer context.AfterFunc(closing, cancel)()
		session, err := p.config.Open(ctx, owner)
		p.mu.Lock()
		defer p.mu.Unlock()
		e.session, e.err, e.ready = session, err, err == nil
		close(e.opened)
		switch {
		case err != nil:
			p.forget(e)
			delete(p.all, e)
		case e.users == 0 && (e.retired || p.closed):
			p.retire(e)
			p.close(e)
		case e.users == 0:
			p.rest(e)
		}
		p.dispatch()
	})
	return e
}

// use makes a call a user of an entry. The caller holds mu.
func (p *Pool[S]) use(e *entry[S]) {
	e.users++
	if e.idle != nil {
		p.idle.Remove(e.idle)
		e.idle = nil
	}
}

// leave ends the use of an entry by a call. The caller holds mu.
func (p *Pool[S]) leave(e *entry[S]) {
	if e.users--; e.users == 0 && e.ready {
		if e.retired {
			p.close(e)
		} else {
			p.rest(e)
		}
	}
	p.dispatch()
}

// rest makes an entry idle. The caller holds mu.
func (p *Pool[S]) rest(e *entry[S]) {
	e.idleSince = time.Now()
	e.idle = p.idle.PushBack(e)
	if p.idle.Len() == 1 {
		p.schedule()
	}
}

// forget lets no other call find an entry. The caller holds mu.
func (p *Pool[S]) forget(e *entry[S]) {
	if p.owned[e.owner] == e {
		delete(p.owned, e.owner)
	}
	if p.spare == e {
		p.spare = nil
	}
}

// retire lets no other call get an entry, and closes it if no call uses it. The caller holds mu.
func (p *Pool[S]) retire(e *entry[S]) {
	p.forget(e)
	e.retired = true
	if e.idle != nil {
		p.idle.Remove(e.idle)
		e.idle = nil
		p.close(e)
	}
}

// close closes the session of an entry that no call uses, which has its place until then. The caller holds mu.
func (p *Pool[S]) close(e *entry[S]) {
	p.closing++
	end := func(context.Context) {
		e.session.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.closing--
		delete(p.all, e)
		p.dispatch()
	}
	if !p.work.Go(end) { // Close is closing what is left
		p.closing--
	}
}

// dispatch gives sessions and places to the calls that wait. The caller holds mu.
func (p *Pool[S]) dispatch() {
	for at := p.waiting.Front(); at != nil; {
		next, w := at.Next(), at.Value.(*waiter[S])
		if e := p.grant(w.ctx, w.owner); e != nil {
			p.waiting.Remove(at)
			w.entry = e
			close(w.granted)
		}
		at = next
	}
	p.makeRoom()
}

// makeRoom closes idle sessions in favour of calls that wait for a place. The caller holds mu.
func (p *Pool[S]) makeRoom() {
	needed := 0
	for at := p.waiting.Front(); at != nil; at = at.Next() {
		if p.owned[at.Value.(*waiter[S]).owner] == nil {
			needed++
		}
	}
	for ; needed > p.closing && p.idle.Len() > 0; needed-- {
		p.retire(p.idle.Front().Value.(*entry[S]))
	}
}

// schedule sets the time at which the oldest idle session is closed. The caller holds mu.
func (p *Pool[S]) schedule() {
	oldest := p.idle.Front()
	if oldest == nil || p.config.Idle == 0 || p.closed {
		return
	}
	wait := time.Until(oldest.Value.(*entry[S]).idleSince.Add(p.config.Idle))
	if p.timer == nil {
		p.timer = time.AfterFunc(wait, p.closeIdle)
	} else {
		p.timer.Reset(wait)
	}
}

// closeIdle closes the sessions that no call has used for long.
func (p *Pool[S]) closeIdle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for at := p.idle.Front(); at != nil; at = p.idle.Front() {
		e := at.Value.(*entry[S])
		if time.Since(e.idleSince) < p.config.Idle {
			break
		}
		p.retire(e)
	}
	p.schedule()
}

// Warm opens a session before the first call, which belongs to nobody until then, unless there is one that a call of
// owner would get. It waits until the session is open, and returns it; a call may use it already. The error is that of
// Open, or of ctx.
func (p *Pool[S]) Warm(ctx context.Context, owner string) (session S, err error) {
	p.mu.Lock()
	e := p.owned[owner]
	if e == nil {
		e = p.spare
	}
	if e != nil && e.ready && hasEnded(e.session) {
		p.retire(e)
		e = nil
	}
	switch {
	case p.closed:
		p.mu.Unlock()
		return session, p.closedFault()
	case e != nil:
	case len(p.all) >= p.config.Max:
		p.mu.Unlock()
		return session, p.notSent(ctx)
	default:
		e = p.open(ctx, owner)
		p.spare = e
	}
	p.mu.Unlock()
	select {
	case <-e.opened:
		return e.session, e.err
	case <-ctx.Done():
		return session, context.Cause(ctx)
	}
}

// Sessions returns the sessions that are open, in no order.
func (p *Pool[S]) Sessions() (open []S) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for e := range p.all {
		if e.ready && !hasEnded(e.session) {
			open = append(open, e.session)
		}
	}
	return open
}

// Pool returns how many sessions calls use, and how many there may be.
func (p *Pool[S]) Pool() (inUse, maximum int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for e := range p.all {
		if e.users > 0 {
			inUse++
		}
	}
	return inUse, p.config.Max
}

// Close closes all sessions, also those that calls use, and returns when they are closed. Calls that wait fail.
func (p *Pool[S]) Close() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
	}
	for at := p.waiting.Front(); at != nil; at = at.Next() {
		close(at.Value.(*waiter[S]).granted)
	}
	p.waiting.Init()
	p.mu.Unlock()
	p.work.Close() // ends what is being opened, and waits for what is being closed
	var left sync.WaitGroup
	p.mu.Lock()
	for e := range p.all {
		if e.ready {
			left.Go(e.session.Close)
		}
	}
	p.mu.Unlock()
	left.Wait()
}
