package runtime

import (
	"context"
	"sync"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/schema"
)

const (
	pingTime  = time.Second      // that a connection has to answer
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
	down := map[string]error{}
	var diags hcl.Diagnostics
	for _, h := range g.Health(ctx) {
		if h.err != nil {
			down[h.Name] = h.err
		}
	}
	for _, conn := range g.Config.Connections {
		if err := down[conn.Kind+"."+conn.Name]; err != nil {
			diags = append(diags, &hcl.Diagnostic{Summary: "Connection does not answer", Detail: g.scrubber.sentence(err.Error()), Subject: conn.Range})
		}
	}
	var up []probe
	for _, p := range g.probes() {
		if c := p.step.Backend.Connection; c == nil || down[c.Kind+"."+c.Name] == nil {
			up = append(up, p)
		}
	}
	for i, err := range g.ask(ctx, up) {
		if err != nil {
			diags = append(diags, up[i].step.Backend.Diagnose(err)...)
		}
	}
	g.publish()
	return diags.Sort()
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

// infer takes what is known of the rows of a routine.
func (g *Generation) infer(r *routine, rows *schema.Type) {
	if r.noun == "tool" {
		g.programs[r.decl.Name].infer(rows)
	}
}

// infer takes what is known of the rows of the default result.
func (p *Program) infer(rows *schema.Type) {
	known := p.answers.typ
	if rows == nil || known == nil || p.tool.Returns != nil {
		return
	}
	if known.Kind == schema.List && rows.Kind == schema.Object {
		rows = schema.ListOf(rows)
	}
	if known.Kind == rows.Kind {
		p.learn(rows)
	}
}

func (p *Program) learn(rows *schema.Type) {
	if rows != nil {
		p.inferred.Store(rows)
		p.generation.learned.Store(true)
	}
}

// inherit takes over what the generation before has learned of what did not change.
func (g *Generation) inherit(before *Generation) {
	known := make(map[string]*routine, len(before.routines))
	for _, r := range before.routines {
		known[r.title()] = r
	}
	for _, r := range g.routines {
		old, ok := known[r.title()]
		if !ok || old.decl.Digest != r.decl.Digest || !old.asked.Load() {
			continue
		}
		r.asked.Store(true)
		if r.noun == "tool" {
			g.programs[r.decl.Name].learn(before.programs[r.decl.Name].inferred.Load())
		}
	}
}

// learn asks every block that was not asked yet and whose other side answers, closes first, and once committed is closed asks again those whose
// other side did not answer, until all have been asked or the generation is retired. Changed is called with the toolsets whose list of tools reads differently for it.
func (g *Generation) learn(first chan<- struct{}, committed <-chan struct{}, changed func(toolsets []string)) {
	var left []probe
	for _, p := range g.probes() {
		if !p.routine.asked.Load() {
			left = append(left, p)
		}
	}
	left = g.learnFrom(left)
	close(first)
	select {
	case <-committed:
	case <-g.ctx.Done():
		return
	}
	for pause := time.Second; ; pause = min(2*pause, time.Minute) {
		if toolsets := g.publish(); len(toolsets) > 0 {
			changed(toolsets)
		}
		if len(left) == 0 {
			return
		}
		wait := time.NewTimer(pause)
		select {
		case <-wait.C:
		case <-g.ctx.Done():
			wait.Stop()
			return
		}
		left = g.learnFrom(left)
	}
}

// learnFrom asks the blocks whose other side answers and returns the others.
func (g *Generation) learnFrom(all []probe) (left []probe) {
	if len(all) == 0 {
		return nil
	}
	down := map[string]bool{}
	for _, h := range g.Health(g.ctx) {
		down[h.Name] = h.err != nil
	}
	var up []probe
	for _, p := range all {
		if c := p.step.Backend.Connection; c != nil && down[c.Kind+"."+c.Name] {
			left = append(left, p)
		} else {
			up = append(up, p)
		}
	}
	for i, err := range g.ask(g.ctx, up) {
		up[i].routine.asked.Store(true)
		if err != nil && g.ctx.Err() == nil {
			g.log().Warn("the other side refuses what a "+up[i].routine.noun+" would send", up[i].routine.noun, up[i].routine.decl.Name, "error", g.scrubber.sentence(err.Error()))
		}
	}
	return left
}

// ConnectionHealth says whether a connection answers.
type ConnectionHealth struct {
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
	err   error
}

// Health asks every connection that can be asked, all at once.
func (g *Generation) Health(ctx context.Context) []ConnectionHealth {
	out := make([]ConnectionHealth, len(g.health))
	ctx, cancel := context.WithTimeout(ctx, pingTime)
	defer cancel()
	var running sync.WaitGroup
	for i, h := range g.health {
		running.Go(func() {
			err := ping(ctx, h.conn)
			out[i] = ConnectionHealth{Name: h.name, OK: err == nil, err: err}
			if err != nil {
				out[i].Error = g.scrubber.sentence(err.Error())
			}
		})
	}
	running.Wait()
	return out
}

func ping(ctx context.Context, h adapters.Health) (err error) {
	defer recovered(&err)
	return h.Ping(ctx)
}
