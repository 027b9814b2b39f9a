// Package probe asks the servers behind connections and backends whether they will work, and keeps what is known of
// them: whether they answer, why they will not work, and what they tell of their rows.
package probe

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/scrub"
	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/internal/logonce"
	"hatchel/runtime/call"
	"hatchel/runtime/observe/metrics"
	"hatchel/runtime/stage/failure"
	"hatchel/runtime/stage/result"
)

const (
	probeTimeout = 10 * time.Second
	maxProbes    = 4 // that run at once

	// answerTimeout is how long a connection has to answer before its backends are probed.
	answerTimeout = 5 * time.Second
)

// PingTimeout is how long a server has to answer a health check.
const PingTimeout = time.Second

// Set is the connections and backends of one generation, and what is known of them. Make one with New; the fields must
// not change after the first use. Its methods may be called concurrently.
type Set struct {
	Connections []Connection
	Operations  []*call.Operation
	Options

	running  sync.WaitGroup
	begun    chan struct{} // closed when what is new was probed
	left     []probe       // to be probed again; of the goroutine that probes
	unproved bool          // a connection may not keep callers apart; of the goroutine that probes

	mu       sync.Mutex
	problems map[string]problem // by "connection" or an operation's kind, and the name; guarded by mu
}

// Options are what a Set needs of its generation.
type Options struct {
	Running  context.Context // ends with the generation
	Scrubber *scrub.Scrubber
	Log      *slog.Logger
	Logged   *logonce.Changes // problems that were logged; generations share it
	// Shaper returns what shapes the results of a tool, and Learned is called when one has learned of more rows.
	Shaper  func(tool string) *result.Shaper
	Learned func()
	// Changed is called when a connection answers that did not, or the other way round.
	Changed func(name, state, message string)
}

// New returns a Set without connections and operations.
func New(o Options) *Set {
	return &Set{Options: o, begun: make(chan struct{}), problems: map[string]problem{}}
}

// Wait waits until nothing is being probed.
func (s *Set) Wait() { s.running.Wait() }

// probe is a backend that can be asked whether it will work.
type probe struct {
	operation *call.Operation
	backend   *hcl.Backend
	prober    adapters.Prober
}

func (s *Set) probes() (all []probe) {
	for _, o := range s.Operations {
		for _, step := range o.Steps {
			if prober, ok := step.Action.(adapters.Prober); ok {
				all = append(all, probe{o, step.Decl.Backend, prober})
			}
		}
	}
	return all
}

// backgroundProbes returns the probes that are made at each load. Those of upstream servers are not among them: these
// are compared with what was reviewed by their connections, in the background.
func (s *Set) backgroundProbes() []probe {
	return slices.DeleteFunc(s.probes(), func(p probe) bool {
		return slices.ContainsFunc(s.Connections, func(c Connection) bool {
			return c.Decl == p.backend.Connection && c.Upstream != nil
		})
	})
}

// Check asks the servers behind all connections and backends whether they will work, and reports what fails.
func (s *Set) Check(ctx context.Context) (diags hcl.Diagnostics) {
	answers := s.pingConnections(ctx, s.Connections)
	proofs := s.runProofs(ctx, answers)
	all := s.probes()
	errs := s.runProbes(ctx, all, answers)
	failed := map[*hcl.Connection]bool{}
	for i, c := range s.Connections {
		found := c.Decl.DiagnoseCallers(proofs[i].faults, proofs[i].warnings)
		if err := answers.find(c).wait(); err != nil {
			found = hcl.Diagnostics{{Summary: "Connection failed", Detail: err.Error(), Subject: c.Decl.Range}}
		}
		failed[c.Decl] = failed[c.Decl] || found.HasErrors()
		for _, d := range found {
			if d.Detail = s.Scrubber.Text(d.Detail); c.Name != c.Decl.Name {
				d.Detail = c.Name + ": " + d.Detail
			}
		}
		diags = append(diags, found...)
	}
	for i, p := range all {
		if err := errs[i]; err != nil && !p.isReported(err, failed) {
			diags = append(diags, p.backend.Diagnose(err)...)
		}
	}
	return diags
}

// isReported reports whether the error of a probe is a consequence of what is reported of its connection.
func (p probe) isReported(err error, failed map[*hcl.Connection]bool) bool {
	return errors.As(err, new(*adapters.ConnectionError)) && failed[p.backend.Connection]
}

// Learn asks the reachable databases about the types of their rows, but for those that a credential of the machine
// signs in to: nothing is fetched for a list. Nothing else is contacted.
func (s *Set) Learn(ctx context.Context) {
	isSignedIn := func(c Connection) bool { return c.Login != nil && c.Login.Credential() != nil }
	probes := slices.DeleteFunc(s.backgroundProbes(), func(p probe) bool {
		return slices.ContainsFunc(s.Connections, func(c Connection) bool {
			return c.Decl == p.backend.Connection && isSignedIn(c)
		})
	})
	asked := slices.DeleteFunc(slices.Clone(s.Connections), func(c Connection) bool {
		_, creates := c.opens()
		isProbed := slices.ContainsFunc(probes, func(p probe) bool { return c.Decl == p.backend.Connection })
		return isSignedIn(c) || !creates && !isProbed
	})
	s.runProbes(ctx, probes, s.pingConnections(ctx, asked))
}

// connectionAnswers are the answers of connections to a ping, one for each of their instances.
type connectionAnswers map[*hcl.Connection][]*connectionAnswer

type connectionAnswer struct {
	name  string        // of the connection or its instance
	known chan struct{} // closed when err is set
	err   error
}

// find returns the answer of a connection or its instance; nil for one that cannot be pinged.
func (a connectionAnswers) find(c Connection) *connectionAnswer {
	for _, answer := range a[c.Decl] {
		if answer.name == c.Name {
			return answer
		}
	}
	return nil
}

// wait returns the error of an answer; nil for no answer.
func (a *connectionAnswer) wait() error {
	if a == nil {
		return nil
	}
	<-a.known
	return a.err
}

// waitAny returns an error if no instance of a connection answers.
func (a connectionAnswers) waitAny(conn *hcl.Connection) (err error) {
	for _, answer := range a[conn] {
		if err = answer.wait(); err == nil {
			return nil
		}
	}
	return err
}

// errNoAnswer is the error of a probe whose connection does not answer.
var errNoAnswer = &adapters.ConnectionError{Cause: errors.New("the connection does not answer")}

// pingConnections begins to ping the connections that can be pinged. One that opens what another one creates is pinged
// after that.
func (s *Set) pingConnections(ctx context.Context, all []Connection) connectionAnswers {
	answers, creators := connectionAnswers{}, map[string][]*hcl.Connection{}
	for _, h := range all {
		if h.Conn != nil {
			answers[h.Decl] = append(answers[h.Decl], &connectionAnswer{h.Name, make(chan struct{}), nil})
		}
		if name, creates := h.opens(); creates {
			creators[name] = append(creators[name], h.Decl)
		}
	}
	for _, h := range all {
		answer := answers.find(h)
		if answer == nil {
			continue
		}
		s.running.Go(func() {
			defer close(answer.known)
			if name, creates := h.opens(); !creates {
				for _, creator := range creators[name] {
					_ = answers.waitAny(creator)
				}
			}
			ctx, cancel := context.WithTimeout(ctx, answerTimeout)
			defer cancel()
			answer.err = ping(ctx, h.Conn)
		})
	}
	return answers
}

// runProbes probes backends, a few at once, and returns the error of each. What they tell of their
// rows is kept.
func (s *Set) runProbes(ctx context.Context, all []probe, answers connectionAnswers) []error {
	errs := make([]error, len(all))
	slots := make(chan struct{}, maxProbes)
	var running sync.WaitGroup
	for i, p := range all {
		running.Go(func() {
			if answers.waitAny(p.backend.Connection) != nil {
				errs[i] = errNoAnswer
				return
			}
			slots <- struct{}{}
			defer func() { <-slots }()
			defer failure.Recover(&errs[i])
			ctx, cancel := context.WithTimeout(ctx, probeTimeout)
			defer cancel()
			rows, err := p.prober.Probe(ctx)
			if err == nil {
				s.acceptRowType(p.operation, rows)
			}
			errs[i] = err
		})
	}
	running.Wait()
	return errs
}

// proof is what a connection has found about whom its calls act as.
type proof struct{ faults, warnings error }

// runProofs asks the connections that answer, all at once, whether they keep callers apart. There is a proof for each
// connection.
func (s *Set) runProofs(ctx context.Context, answers connectionAnswers) []proof {
	actions := map[*hcl.Connection][]adapters.Action{}
	for _, o := range s.Operations {
		for _, step := range o.Steps {
			actions[step.Decl.Backend.Connection] = append(actions[step.Decl.Backend.Connection], step.Action)
		}
	}
	proofs := make([]proof, len(s.Connections))
	var running sync.WaitGroup
	for i, c := range s.Connections {
		prover, ok := c.Conn.(adapters.Prover)
		if !ok {
			continue
		}
		running.Go(func() {
			if answers.find(c).wait() != nil {
				return
			}
			defer failure.Recover(&proofs[i].faults)
			ctx, cancel := context.WithTimeout(ctx, probeTimeout)
			defer cancel()
			proofs[i].faults, proofs[i].warnings = prover.Prove(ctx, actions[c.Decl])
		})
	}
	running.Wait()
	return proofs
}

// acceptRowType takes the type of the rows of an operation.
func (s *Set) acceptRowType(o *call.Operation, rows *schema.Type) {
	if o.Kind == "tool" && s.Shaper(o.Decl.Name).LearnRows(rows) {
		s.Learned()
	}
}

// Connection is a connection, or an instance of one, whose health is reported.
type Connection struct {
	Decl  *hcl.Connection
	Name  string            // with the key of the instance
	Conn  adapters.Health   // nil when it cannot be pinged
	Pool  adapters.Pooled   // nil when it has none
	Login adapters.SignedIn // nil when it fetches no credential
	Guard *adapters.ConnectionGuard
	Seen  *atomic.Int32 // what the last ping came to: unpinged, answered or unanswered

	Upstream adapters.Upstream // nil for a connection to something else; with it, only Check pings Conn
}

const (
	unpinged = iota
	answered
	unanswered
)

// remember publishes what a ping came to, if it differs from the ping before.
func (p Connection) remember(h *ConnectionHealth, changed func(name, state, message string)) {
	result, state := int32(answered), "up"
	if !h.OK {
		result, state = unanswered, "down"
	}
	if before := p.Seen.Swap(result); before != result && (before != unpinged || !h.OK) {
		changed(h.Name, state, h.Error)
	}
}

// label returns the kind and the name of the connection, for operators.
func (p Connection) label() string { return p.Decl.Kind + "." + p.Name }

// opens returns what adapters.Creator does; nothing for a connection that is none.
func (p Connection) opens() (name string, creates bool) {
	if c, ok := p.Conn.(adapters.Creator); ok {
		return c.Opens()
	}
	return "", false
}

// ConnectionHealth says whether a connection answers.
type ConnectionHealth struct {
	Name    string `json:"name"`
	OK      bool   `json:"ok"`
	Error   string `json:"error,omitempty"`
	Breaker string `json:"breaker,omitempty"` // "closed", "open" or "half-open"; empty for a connection without one
	Reason  string `json:"-"`                 // why the breaker is not closed; empty if it is

	Credential *adapters.CredentialState `json:"-"` // nil if the connection fetches none
}

// Health pings the connections that can be pinged, all at once. Of others that have a circuit
// breaker it returns that.
func (s *Set) Health(ctx context.Context) []ConnectionHealth {
	out := make([]ConnectionHealth, len(s.Connections))
	ctx, cancel := context.WithTimeout(ctx, PingTimeout)
	defer cancel()
	var running sync.WaitGroup
	for i, h := range s.Connections {
		running.Go(func() {
			err := h.ask(ctx)
			out[i] = ConnectionHealth{Name: h.label(), OK: err == nil, Breaker: h.Guard.State(),
				Reason: s.Scrubber.Text(h.Guard.Reason())}
			if h.Login != nil {
				out[i].Credential = h.Login.Credential()
			}
			if err != nil {
				out[i].Error = s.Scrubber.Text(err.Error())
			}
			if h.Conn != nil {
				h.remember(&out[i], s.Changed)
			}
		})
	}
	running.Wait()
	return out
}

// ask says whether the connection answers. Of an upstream server that is what is known of it: readiness waits for none.
func (p Connection) ask(ctx context.Context) error {
	switch {
	case p.Upstream != nil:
		if failure := p.Upstream.UpstreamState().Failure; failure != "" {
			return errors.New(failure)
		}
		return nil
	case p.Conn != nil:
		return ping(ctx, p.Conn)
	}
	return nil
}

func ping(ctx context.Context, h adapters.Health) (err error) {
	defer failure.Recover(&err)
	return h.Ping(ctx)
}

// Sample is Health as metrics have it.
func (s *Set) Sample(ctx context.Context) []metrics.Connection {
	health := s.Health(ctx)
	out := make([]metrics.Connection, len(health))
	for i, of := range s.Connections {
		c := &out[i]
		c.Kind, c.Name, c.Breaker = of.Decl.Kind, of.Name, health[i].Breaker
		if of.Conn != nil {
			c.Up = &health[i].OK
		}
		if of.Pool != nil {
			inUse, maximum := of.Pool.Pool()
			c.Pool = &metrics.Pool{InUse: inUse, Max: maximum}
		}
		c.Upstream = of.sampleUpstream()
	}
	return out
}
