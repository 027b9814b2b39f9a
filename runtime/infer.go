package runtime

import (
	"time"

	"hatchel/hcl/schema"
	"hatchel/internal/ctxtime"
)

// acceptRowType takes what is known of the rows of a routine.
func (g *Generation) acceptRowType(r *operation, rows *schema.Type) {
	if r.kind == "tool" {
		if g.programs[r.decl.Name].shaper.LearnRows(rows) {
			g.listsStale.Store(true)
		}
	}
}

// inheritProbes takes over what the generation before has learned of what did not change.
func (g *Generation) inheritProbes(before *Generation) {
	known := make(map[string]*operation, len(before.operations))
	for _, r := range before.operations {
		known[r.label()] = r
	}
	for _, r := range g.operations {
		old, ok := known[r.label()]
		if !ok || old.decl.Digest != r.decl.Digest || !old.probed.Load() {
			continue
		}
		r.probed.Store(true)
		if r.kind == "tool" {
			if rows := before.programs[r.decl.Name].shaper.ProbedType(); rows != nil {
				g.programs[r.decl.Name].shaper.SetProbedType(rows)
				g.listsStale.Store(true)
			}
		}
	}
}

// probeRows asks every block that was not asked yet and whose other side answers, closes first, and once committed is closed asks again those whose
// other side did not answer, until all have been asked or the generation is retired. Changed is called with the toolsets whose list of tools reads differently for it.
func (g *Generation) probeRows(first chan<- struct{}, committed <-chan struct{}, changed func(toolsets []string)) {
	var left []probe
	for _, p := range g.probes() {
		if !p.routine.probed.Load() {
			left = append(left, p)
		}
	}
	left = g.probeReachable(left)
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
		if ctxtime.Sleep(g.ctx, pause) != nil {
			return
		}
		left = g.probeReachable(left)
	}
}

// probeReachable asks the blocks whose other side answers and returns the others.
func (g *Generation) probeReachable(all []probe) (left []probe) {
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
	for i, err := range g.runProbes(g.ctx, up) {
		up[i].routine.probed.Store(true)
		if err != nil && g.ctx.Err() == nil {
			g.log().Warn("the other side refuses what a "+up[i].routine.kind+" would send", up[i].routine.kind, up[i].routine.decl.Name, "error", g.scrubber.Text(err.Error()))
		}
	}
	return left
}
