package runtime

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/runtime/call"
	"hatchel/runtime/failure"
	"hatchel/runtime/webhook"
)

const (
	probeTimeout = 10 * time.Second
	maxProbes    = 4 // that run at once

	// answerTimeout is how long a connection has to answer before its backends are probed.
	answerTimeout = 5 * time.Second
)

// probe is a backend that can be asked whether it will work.
type probe struct {
	operation *call.Operation
	backend   *hcl.Backend
	prober    adapters.Prober
}

func (g *Generation) probes() (all []probe) {
	for _, o := range g.operations {
		for _, s := range o.Steps {
			if prober, ok := s.Action.(adapters.Prober); ok {
				all = append(all, probe{o, s.Decl.Backend, prober})
			}
		}
	}
	return all
}

// Probe asks the servers behind all connections, backends, issuers and webhooks whether they will
// work, and reports what fails. It is what `validate --connect` does after a load.
func (g *Generation) Probe(ctx context.Context) hcl.Diagnostics {
	answers := g.pingConnections(ctx)
	var diags hcl.Diagnostics
	for _, conn := range g.Config.Connections {
		if err := answers.wait(conn); err != nil {
			detail := g.env.Scrubber.Text(err.Error())
			d := &hcl.Diagnostic{Summary: "Connection failed", Detail: detail, Subject: conn.Range}
			diags = append(diags, d)
		}
	}
	diags = append(diags, g.authenticator.Probe(ctx)...)
	diags = append(diags, g.probeWebhooks(ctx)...)
	all := g.probes()
	for i, err := range g.runProbes(ctx, all, answers) {
		if err != nil && err != errNoAnswer {
			diags = append(diags, all[i].backend.Diagnose(err)...)
		}
	}
	g.publish()
	return diags.Sort()
}

// Learn asks the reachable databases about the types of their rows, which are part of the list of
// tools.
func (g *Generation) Learn(ctx context.Context) {
	g.runProbes(ctx, g.probes(), g.pingConnections(ctx))
	g.publish()
}

// connectionAnswers are the answers of connections to a ping.
type connectionAnswers map[*hcl.Connection]*connectionAnswer

type connectionAnswer struct {
	known chan struct{} // closed when err is set
	err   error
}

// wait returns the error of a connection; nil for one that cannot be pinged.
func (a connectionAnswers) wait(conn *hcl.Connection) error {
	answer := a[conn]
	if answer == nil {
		return nil
	}
	<-answer.known
	return answer.err
}

// errNoAnswer is the error of a probe whose connection does not answer.
var errNoAnswer = errors.New("the connection does not answer")

// pingConnections begins to ping all connections that can be pinged. One that opens what another one
// creates is pinged after that.
func (g *Generation) pingConnections(ctx context.Context) connectionAnswers {
	answers, creators := connectionAnswers{}, map[string][]*hcl.Connection{}
	for _, h := range g.health {
		if h.conn != nil {
			answers[h.decl] = &connectionAnswer{known: make(chan struct{})}
		}
		if name, creates := h.opens(); creates {
			creators[name] = append(creators[name], h.decl)
		}
	}
	for _, h := range g.health {
		answer := answers[h.decl]
		if answer == nil {
			continue
		}
		g.probing.running.Go(func() {
			defer close(answer.known)
			if name, creates := h.opens(); !creates {
				for _, creator := range creators[name] {
					answers.wait(creator)
				}
			}
			ctx, cancel := context.WithTimeout(ctx, answerTimeout)
			defer cancel()
			answer.err = ping(ctx, h.conn)
		})
	}
	return answers
}

// probeWebhooks reports the webhooks that cannot be connected to.
func (g *Generation) probeWebhooks(ctx context.Context) (diags hcl.Diagnostics) {
	reasons, hooks := make([]string, len(g.Config.Webhooks)), enabledWebhooks(g.Config)
	var running sync.WaitGroup
	for i, w := range g.Config.Webhooks {
		if !w.Disabled {
			running.Go(func() { reasons[i] = webhook.CheckConnection(ctx, hooks[w.Name]) })
		}
	}
	running.Wait()
	for i, w := range g.Config.Webhooks {
		if reasons[i] != "" {
			detail := "No event can be sent to " + w.DisplayAddress() + ": " + reasons[i] + "."
			diags = append(diags, &hcl.Diagnostic{Summary: "Webhook does not answer", Detail: detail, Subject: w.Range})
		}
	}
	return diags
}

// runProbes probes backends, a few at once, and returns the error of each. What they tell of their
// rows is kept.
func (g *Generation) runProbes(ctx context.Context, all []probe, answers connectionAnswers) []error {
	errs := make([]error, len(all))
	slots := make(chan struct{}, maxProbes)
	var running sync.WaitGroup
	for i, p := range all {
		running.Go(func() {
			if answers.wait(p.backend.Connection) != nil {
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
				g.acceptRowType(p.operation, rows)
			}
			errs[i] = err
		})
	}
	running.Wait()
	return errs
}

// acceptRowType takes the type of the rows of an operation.
func (g *Generation) acceptRowType(o *call.Operation, rows *schema.Type) {
	if o.Kind == "tool" && g.programs[o.Decl.Name].Shaper.LearnRows(rows) {
		g.listsStale.Store(true)
	}
}

// pingTimeout is how long a server has to answer a health check.
const pingTimeout = time.Second

// connectionProbe is a connection whose health is reported.
type connectionProbe struct {
	decl  *hcl.Connection
	name  string
	conn  adapters.Health // nil when it cannot be pinged
	pool  adapters.Pooled // nil when it has none
	guard *adapters.ConnectionGuard
	seen  *atomic.Int32 // what the last ping came to: unpinged, answered or unanswered
}

const (
	unpinged = iota
	answered
	unanswered
)

// remember publishes what a ping came to, if it differs from the ping before.
func (p connectionProbe) remember(b *Build, h *ConnectionHealth) {
	result, state := int32(answered), "up"
	if !h.OK {
		result, state = unanswered, "down"
	}
	if before := p.seen.Swap(result); before != result && (before != unpinged || !h.OK) {
		b.publishConnection(h.Name, state, h.Error)
	}
}

// opens returns what adapters.Creator does; nothing for a connection that is none.
func (p connectionProbe) opens() (name string, creates bool) {
	if c, ok := p.conn.(adapters.Creator); ok {
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
}

// Health pings the connections that can be pinged, all at once. Of others that have a circuit
// breaker it returns that.
func (g *Generation) Health(ctx context.Context) []ConnectionHealth {
	out := make([]ConnectionHealth, len(g.health))
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	var running sync.WaitGroup
	for i, h := range g.health {
		running.Go(func() {
			var err error
			if h.conn != nil {
				err = ping(ctx, h.conn)
			}
			out[i] = ConnectionHealth{Name: h.name, OK: err == nil, Breaker: h.guard.State(),
				Reason: g.env.Scrubber.Text(h.guard.Reason())}
			if err != nil {
				out[i].Error = g.env.Scrubber.Text(err.Error())
			}
			if h.conn != nil {
				h.remember(g.build, &out[i])
			}
		})
	}
	running.Wait()
	return out
}

func ping(ctx context.Context, h adapters.Health) (err error) {
	defer failure.Recover(&err)
	return h.Ping(ctx)
}
