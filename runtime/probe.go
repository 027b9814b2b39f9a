package runtime

import (
	"context"
	"sync"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/runtime/webhook"
)

const (
	probeTime = 10 * time.Second // that a block has to answer
	probers   = 4                // at once
)

// probe is a block that can be asked whether it will work.
type probe struct {
	routine *routine
	step    *hcl.Step
	prober  adapters.Prober
}

func (g *Generation) probes() (all []probe) {
	for _, r := range g.routines {
		for _, s := range r.stages {
			if prober, ok := s.action.(adapters.Prober); ok {
				all = append(all, probe{r, s.step, prober})
			}
		}
	}
	return all
}

// Probe asks the other side of every connection and block whether it will work, and reports what it refuses. It is what `validate --connect`
// does beyond a load.
func (g *Generation) Probe(ctx context.Context) hcl.Diagnostics {
	down := g.down(ctx)
	var diags hcl.Diagnostics
	for _, conn := range g.Config.Connections {
		if err := down[conn.Kind+"."+conn.Name]; err != nil {
			diags = append(diags, &hcl.Diagnostic{Summary: "Connection does not answer", Detail: g.scrubber.sentence(err.Error()), Subject: conn.Range})
		}
	}
	diags = append(diags, g.callers.Probe(ctx)...)
	diags = append(diags, g.reach(ctx)...)
	up := g.up(down)
	for i, err := range g.ask(ctx, up) {
		if err != nil {
			diags = append(diags, up[i].step.Backend.Diagnose(err)...)
		}
	}
	g.publish()
	return diags.Sort()
}

// Learn asks the other side of every block that answers what its rows look like, which is a part of the list of tools, and nobody else anything.
func (g *Generation) Learn(ctx context.Context) {
	g.ask(ctx, g.up(g.down(ctx)))
	g.publish()
}

// down is why connections do not answer, by kind and name.
func (g *Generation) down(ctx context.Context) map[string]error {
	down := map[string]error{}
	for _, h := range g.Health(ctx) {
		if h.err != nil {
			down[h.Name] = h.err
		}
	}
	return down
}

// up are the blocks whose other side answers.
func (g *Generation) up(down map[string]error) (up []probe) {
	for _, p := range g.probes() {
		if c := p.step.Backend.Connection; c == nil || down[c.Kind+"."+c.Name] == nil {
			up = append(up, p)
		}
	}
	return up
}

// reach reports the webhooks to which no connection can be made.
func (g *Generation) reach(ctx context.Context) (diags hcl.Diagnostics) {
	hooks, why := hooksOf(g.Config), make([]string, len(g.Config.Webhooks))
	var running sync.WaitGroup
	for i, w := range g.Config.Webhooks {
		if !w.Off {
			running.Go(func() { why[i] = webhook.Reach(ctx, hooks[w.Name]) })
		}
	}
	running.Wait()
	for i, w := range g.Config.Webhooks {
		if why[i] != "" {
			diags = append(diags, &hcl.Diagnostic{Summary: "Webhook does not answer", Detail: "No event can be sent to " + w.Place() + ": " + why[i] + ".", Subject: w.Range})
		}
	}
	return diags
}

// ask probes blocks, a few at a time, and returns what each said. What they tell of their rows is kept.
func (g *Generation) ask(ctx context.Context, all []probe) []error {
	errs := make([]error, len(all))
	slots := make(chan struct{}, probers)
	var running sync.WaitGroup
	for i, p := range all {
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			defer recovered(&errs[i])
			ctx, cancel := context.WithTimeout(ctx, probeTime)
			defer cancel()
			t, err := p.prober.Probe(ctx)
			if err == nil {
				g.infer(p.routine, t)
			}
			errs[i] = err
		})
	}
	running.Wait()
	return errs
}
