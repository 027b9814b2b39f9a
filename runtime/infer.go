package runtime

import (
	"time"

	"hatchel/hcl/schema"
)

// infer takes what is known of the rows of a routine.
func (g *Generation) infer(r *routine, rows *schema.Type) {
	if r.noun == "tool" {
		g.programs[r.decl.Name].infer(rows)
	}
}

// infer takes what is known of the rows of the default result.
func (p *Program) infer(rows *schema.Type) {
	known := p.defaults.typ
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
