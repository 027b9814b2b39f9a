package runtime

import (
	"context"
	"sync"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/internal/ctxtime"
	"hatchel/runtime/call"
	"hatchel/runtime/failure"
	"hatchel/runtime/webhook"
)

const (
	probeTimeout = 10 * time.Second
	maxProbes    = 4 // that run at once
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
	failing := g.failingConnections(ctx)
	var diags hcl.Diagnostics
	for _, conn := range g.Config.Connections {
		if err := failing[conn.Kind+"."+conn.Name]; err != nil {
			detail := g.env.Scrubber.Text(err.Error())
			d := &hcl.Diagnostic{Summary: "Connection does not answer", Detail: detail, Subject: conn.Range}
			diags = append(diags, d)
		}
	}
	diags = append(diags, g.authenticator.Probe(ctx)...)
	diags = append(diags, g.probeWebhooks(ctx)...)
	reachable, _ := splitReachable(g.probes(), failing)
	for i, err := range g.runProbes(ctx, reachable) {
		if err != nil {
			diags = append(diags, reachable[i].backend.Diagnose(err)...)
		}
	}
	g.publish()
	return diags.Sort()
}

// Learn asks the reachable databases about the types of their rows, which are part of the list of
// tools.
func (g *Generation) Learn(ctx context.Context) {
	reachable, _ := splitReachable(g.probes(), g.failingConnections(ctx))
	g.runProbes(ctx, reachable)
	g.publish()
}

// failingConnections returns why connections do not answer, by kind and name.
func (g *Generation) failingConnections(ctx context.Context) map[string]error {
	failing := map[string]error{}
	for _, h := range g.Health(ctx) {
		if h.err != nil {
			failing[h.Name] = h.err
		}
	}
	return failing
}

// splitReachable returns the probes whose connection answers, and the others.
func splitReachable(all []probe, failing map[string]error) (reachable, left []probe) {
	for _, p := range all {
		if c := p.backend.Connection; c != nil && failing[c.Kind+"."+c.Name] != nil {
			left = append(left, p)
		} else {
			reachable = append(reachable, p)
		}
	}
	return reachable, left
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

// inheritProbes takes over what the generation before has learned of operations that did not
// change.
func (g *Generation) inheritProbes(before *Generation) {
	known := make(map[string]*call.Operation, len(before.operations))
	for _, o := range before.operations {
		known[o.Label()] = o
	}
	for _, o := range g.operations {
		old, ok := known[o.Label()]
		if !ok || old.Decl.Digest != o.Decl.Digest || !old.Probed.Load() {
			continue
		}
		o.Probed.Store(true)
		if o.Kind != "tool" {
			continue
		}
		if rows := before.programs[o.Decl.Name].Shaper.ProbedType(); rows != nil {
			g.programs[o.Decl.Name].Shaper.SetProbedType(rows)
			g.listsStale.Store(true)
		}
	}
}

// probeRows probes the backends that were not probed, closes probed, and, once committed is closed,
// probes those again whose connection did not answer, until all have answered or the generation is
// retired. Changed is called with the toolsets whose list of tools has changed.
func (g *Generation) probeRows(probed chan<- struct{}, committed <-chan struct{}, changed func(toolsets []string)) {
	var left []probe
	for _, p := range g.probes() {
		if !p.operation.Probed.Load() {
			left = append(left, p)
		}
	}
	ctx := g.env.Running
	left = g.probeReachable(ctx, left)
	close(probed)
	select {
	case <-committed:
	case <-ctx.Done():
		return
	}
	for pause := time.Second; ; pause = min(2*pause, time.Minute) {
		if toolsets := g.publish(); len(toolsets) > 0 {
			changed(toolsets)
		}
		if len(left) == 0 || ctxtime.Sleep(ctx, pause) != nil {
			return
		}
		left = g.probeReachable(ctx, left)
	}
}

// probeReachable probes the backends whose connection answers, and returns the others.
func (g *Generation) probeReachable(ctx context.Context, all []probe) (left []probe) {
	if len(all) == 0 {
		return nil
	}
	reachable, left := splitReachable(all, g.failingConnections(ctx))
	for i, err := range g.runProbes(ctx, reachable) {
		o := reachable[i].operation
		o.Probed.Store(true)
		if err != nil && ctx.Err() == nil {
			g.log().Warn("backend probe failed", o.Kind, o.Decl.Name, "error", g.env.Scrubber.Text(err.Error()))
		}
	}
	return left
}
