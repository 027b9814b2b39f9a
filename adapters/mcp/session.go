package mcp

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/mcp/client"
	"hatchel/adapters/mcp/drift"
	"hatchel/adapters/mcp/pool"
	"hatchel/adapters/mcp/process"
	"hatchel/internal/cut"
)

// session is one session with the server, whose list is compared with what was reviewed.
type session struct {
	*client.Session
	drift   *drift.Session
	process *process.Process // nil over HTTP
	frames  *frames
	opened  time.Time
}

// Done implements pool.Session.
func (s *session) Done() <-chan struct{} {
	if s.process != nil {
		return s.process.Done()
	}
	return s.Session.Done()
}

// Close implements pool.Session.
func (s *session) Close() {
	s.drift.Close()
	if s.process != nil {
		s.process.Close()
		return
	}
	s.Session.Close()
}

// traceErrorOutput shows the person who traces a call the end of what a program has written to its error output.
func (s *session) traceErrorOutput(call *adapters.Call) {
	if call.Trace == nil || s.process == nil {
		return
	}
	if text := s.process.Stderr(); text != "" {
		call.Trace(adapters.TraceStderr, text)
	}
}

const (
	defaultMaxSessions  = 256 // over HTTP
	defaultMaxProcesses = 16
	openTimeout         = 20 * time.Second // over HTTP
)

// maxSessions returns how many sessions there may be.
func (s *server) maxSessions() int {
	if s.Command != nil {
		return cmp.Or(s.MaxSessions, defaultMaxProcesses)
	}
	return cmp.Or(s.MaxSessions, defaultMaxSessions)
}

// compareLists makes what compares the lists of sessions.
func (s *server) compareLists(env adapters.Env) {
	s.changed = env.StateChanged
	s.monitor = drift.New(drift.Options{
		Pins: *s.file, Compatible: s.OnDrift == driftCompatible, Refresh: s.Refresh, PerCaller: s.perCaller,
		Changed: s.report, NotServed: s.messages.logUnused,
		Scrub: func(text string) string { return s.authorizer.Scrub(text) },
	})
}

// openSessions makes the pool of sessions.
func (s *server) openSessions(ctx context.Context, env adapters.Env) {
	config := pool.Config[*session]{
		Connection: s.name, Open: s.openSession, Max: s.maxSessions(), Idle: s.Idle,
		PerCall: s.Sessions == sessionsCall, Single: s.servesOneCall,
	}
	if s.staysRunning() {
		config.Idle = 0
	}
	s.sessions = pool.New(ctx, config)
	s.watcher.ctx = context.WithoutCancel(ctx)
	env.Defer(func() error {
		s.stopWatching()
		s.sessions.Close()
		s.watcher.visiting.Wait()
		return nil
	})
}

// openSession opens a session. Its context has the request of detach.
func (s *server) openSession(ctx context.Context, owner string) (*session, error) {
	compared := s.monitor.NewSession()
	options := s.options()
	options.Changed = compared.Changed
	shown := &frames{scrub: s.scrub}
	options.Trace = shown.show
	defer shown.follow(opener(ctx))()
	opened, started, err := s.begin(ctx, owner, options)
	if err != nil {
		compared.Close()
		s.recordFailure(ctx, err)
		return nil, err
	}
	s.recordAnswer(opened.Protocol())
	compared.Begin(context.WithoutCancel(ctx), opened.Tools)
	return &session{opened, compared, started, shown, time.Now()}, nil
}

// begin begins a session, with a program that it starts, or over HTTP.
func (s *server) begin(
	ctx context.Context, owner string, options client.Options,
) (*client.Session, *process.Process, error) {
	if s.launcher == nil {
		opening, cancel := context.WithTimeout(ctx, openTimeout)
		defer cancel()
		opened, err := client.Open(opening, s.transport, options)
		return opened, nil, err
	}
	p, err := s.launcher.Start(ctx, owner, func(ctx context.Context, t client.Transport) (*client.Session, error) {
		return client.Open(ctx, t, options)
	})
	if err != nil {
		return nil, nil, err
	}
	return p.Session, p, nil
}

// owner returns whose session a call uses. Over HTTP with 2026-07-28, which has no sessions, callers share one, unless
// the server may list something else for each of them.
func (s *server) owner(call *adapters.Call) string {
	if s.perCaller {
		return call.Owner
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Sessions == sessionsShared || s.protocol == client.Revision20260728 && s.URL != "" {
		return ""
	}
	return call.Owner
}

// maxFailure is how many characters are kept of why the server does not answer.
const maxFailure = 500

// recordFailure records that the server does not answer. The end of the request, and what only its caller lacks, are no
// failures of the server.
func (s *server) recordFailure(ctx context.Context, err error) {
	if ctx.Err() != nil || errors.As(err, new(*adapters.Fault)) || errors.Is(err, errNoCaller) {
		return
	}
	s.setHealth("", cut.Runes(s.authorizer.Scrub(err.Error()), maxFailure))
}

// recordAnswer records that the server answers, and the revision that it speaks.
func (s *server) recordAnswer(protocol string) { s.setHealth(protocol, "") }

func (s *server) setHealth(protocol, failure string) {
	s.mu.Lock()
	isNew := s.failure != failure || failure == "" && s.protocol != protocol
	s.failure = failure
	if protocol != "" {
		s.protocol = protocol
	}
	s.mu.Unlock()
	if isNew {
		s.report()
	}
}

// report has the state of the server read again.
func (s *server) report() {
	if s.changed != nil {
		s.changed()
	}
}

// UpstreamState implements adapters.Upstream.
func (s *server) UpstreamState() adapters.UpstreamState {
	listed := s.monitor.State()
	state := adapters.UpstreamState{State: adapters.UpstreamStarting, Unused: listed.Unused, Drift: listed.Drift}
	if s.sessions == nil { // tests answer in place of the server
		return state
	}
	state.Sessions = len(s.sessions.Sessions())
	s.mu.Lock()
	state.Protocol = s.protocol
	state.Failure = cmp.Or(s.failure, cut.Runes(s.authorizer.Scrub(listed.Failure), maxFailure))
	s.mu.Unlock()
	isStarting, hasFailed := state.Protocol == "", state.Failure != ""
	if s.launcher != nil {
		programs := s.launcher.State()
		state.Restarts = programs.Restarts
		state.Failure = cut.Runes(cmp.Or(programs.Failure, state.Failure), maxFailure)
		hasFailed = hasFailed && programs.Failure == "" || programs.Failed
		isStarting = isStarting || programs.Failure != "" || s.staysRunning() && state.Sessions == 0
	}
	isRefused := func(d adapters.Drift) bool { return !d.Served }
	switch {
	case slices.ContainsFunc(state.Drift, isRefused):
		state.State = adapters.UpstreamDrifted
	case hasFailed:
		state.State = adapters.UpstreamFailed
	case !isStarting:
		state.State = adapters.UpstreamReady
	}
	return state
}

// discardLost ends a session of which an error says that the server no longer knows it. The server may have another
// list than before: after an answer about a tool that it does not know, the list is read again.
func (s *server) discardLost(lease *pool.Lease[*session], err error) {
	failed, ok := errors.AsType[*client.Error](err)
	switch {
	case !ok:
	case failed.Kind == client.SessionLost:
		lease.Discard()
	case failed.Kind == client.Rejected && failed.RPC != nil && failed.RPC.Code == invalidParams:
		lease.Session().drift.Changed()
	}
}

// invalidParams is the code with which a server refuses a tool that it does not know.
const invalidParams = -32602

// Withdrawn implements adapters.Withdrawable.
func (a *action) Withdrawn() *adapters.Fault { return a.server.monitor.Withdrawn(a.Call) }
