package runtime

import (
	"context"
	"sync"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/runtime/failure"
	"hatchel/runtime/webhook"
)

const (
	probeTimeout = 10 * time.Second // that a block has to answer
	maxProbes    = 4                // at once
)

// probe is a block that can be asked whether it will work.
type probe struct {
	routine *operation
	step    *hcl.Step
	prober  adapters.Prober
}

func (g *Generation) probes() (all []probe) {
	for _, r := range g.operations {
		for _, s := range r.steps {
			if prober, ok := s.action.(adapters.Prober); ok {
				all = append(all, probe{r, s.decl, prober})
			}
		}
	}
	return all
}

// Probe asks the other side of every connection and block whether it will work, and reports what it refuses. It is what `validate --connect`
// does beyond a load.
func (g *Generation) Probe(ctx context.Context) hcl.Diagnostics {
	down := g.failingConnections(ctx)
	var diags hcl.Diagnostics
	for _, conn := range g.Config.Connections {
		if err := down[conn.Kind+"."+conn.Name]; err != nil {
			diags = append(diags, &hcl.Diagnostic{Summary: "Connection does not answer", Detail: g.scrubber.Text(err.Error()), Subject: conn.Range})
		}
	}
	diags = append(diags, g.authenticator.Probe(ctx)...)
	diags = append(diags, g.probeWebhooks(ctx)...)
	up := g.reachableProbes(down)
	for i, err := range g.runProbes(ctx, up) {
		if err != nil {
			diags = append(diags, up[i].step.Backend.Diagnose(err)...)
		}
	}
	g.publish()
	return diags.Sort()
}

// Learn asks the other side of every block that answers what its rows look like, which is a part of the list of tools, and nobody else anything.
func (g *Generation) Learn(ctx context.Context) {
	g.runProbes(ctx, g.reachableProbes(g.failingConnections(ctx)))
	g.publish()
}

// failingConnections is why connections do not answer, by kind and name.
func (g *Generation) failingConnections(ctx context.Context) map[string]error {
	down := map[string]error{}
	for _, h := range g.Health(ctx) {
		if h.err != nil {
			down[h.Name] = h.err
		}
	}
	return down
}

// reachableProbes are the blocks whose other side answers.
func (g *Generation) reachableProbes(down map[string]error) (up []probe) {
	for _, p := range g.probes() {
		if c := p.step.Backend.Connection; c == nil || down[c.Kind+"."+c.Name] == nil {
			up = append(up, p)
		}
	}
	return up
}

// probeWebhooks reports the webhooks to which no connection can be made.
func (g *Generation) probeWebhooks(ctx context.Context) (diags hcl.Diagnostics) {
	hooks, why := enabledWebhooks(g.Config), make([]string, len(g.Config.Webhooks))
	var running sync.WaitGroup
	for i, w := range g.Config.Webhooks {
		if !w.Disabled {
			running.Go(func() { why[i] = webhook.Reach(ctx, hooks[w.Name]) })
		}
	}
	running.Wait()
	for i, w := range g.Config.Webhooks {
		if why[i] != "" {
			diags = append(diags, &hcl.Diagnostic{Summary: "Webhook does not answer", Detail: "No event can be sent to " + w.DisplayAddress() + ": " + why[i] + ".", Subject: w.Range})
		}
	}
	return diags
}

// runProbes probes blocks, a few at a time, and returns what each said. What they tell of their rows is kept.
func (g *Generation) runProbes(ctx context.Context, all []probe) []error {
	errs := make([]error, len(all))
	slots := make(chan struct{}, maxProbes)
	var running sync.WaitGroup
	for i, p := range all {
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			defer failure.Recover(&errs[i])
			ctx, cancel := context.WithTimeout(ctx, probeTimeout)
			defer cancel()
			t, err := p.prober.Probe(ctx)
			if err == nil {
				g.acceptRowType(p.routine, t)
			}
			errs[i] = err
		})
	}
	running.Wait()
	return errs
}
