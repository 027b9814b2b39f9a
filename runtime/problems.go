package runtime

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/internal/backoff"
	"hatchel/runtime/call"
	"hatchel/runtime/result"
)

const (
	// maxStartWait is how long the first load waits for probes, so that the list of tools need not
	// change right after it.
	maxStartWait = 250 * time.Millisecond
	// maxReloadWait is how long a reload waits for probes of what it adds and changes.
	maxReloadWait = 5 * time.Second
)

// probeBackoff is how often backends that failed are probed again.
var probeBackoff = backoff.Policy{First: time.Second, Max: 30 * time.Second}

// probing is what a generation knows of its connections and backends.
type probing struct {
	running sync.WaitGroup
	begun   chan struct{} // closed when what is new was probed
	left    []probe       // to be probed again; of the goroutine that probes

	mu       sync.Mutex
	problems map[string]problem // by "connection" or an operation's kind, and the name; guarded by mu
}

// problem is why a connection or an operation will not work. The zero problem is none.
type problem struct {
	text    string
	refused []refusedStatement
	diags   hcl.Diagnostics // about refused
}

// refusedStatement is a statement that a backend refuses for what it says.
type refusedStatement struct {
	connection, digest string // empty for a backend without one
	text               string
}

func (p probe) refused(text string) refusedStatement {
	c := p.backend.Connection
	if c == nil {
		return refusedStatement{text: text}
	}
	return refusedStatement{c.Kind + "." + c.Name, c.Digest, text}
}

// startProbing takes over what the generation before knows of operations that did not change, and
// begins to probe the others.
func (g *Generation) startProbing(before *Generation) {
	known := make(map[string]*call.Operation, len(before.operations))
	for _, o := range before.operations {
		known[o.Label()] = o
	}
	before.probing.mu.Lock()
	defer before.probing.mu.Unlock()
	var changed []probe
	for _, p := range g.probes() {
		label := p.operation.Label()
		switch old := known[label]; {
		case old == nil || old.Decl.Digest != p.operation.Decl.Digest:
			changed = append(changed, p)
		case old.Probed.Load():
			g.inheritRows(p.operation, before)
		default:
			g.probing.left = append(g.probing.left, p)
			g.probing.problems[label] = before.probing.problems[label]
		}
	}
	g.probing.running.Go(func() {
		defer close(g.probing.begun)
		g.probeOnce(changed)
	})
}

// inheritRows takes over what the generation before has learned of an operation.
func (g *Generation) inheritRows(o *call.Operation, before *Generation) {
	o.Probed.Store(true)
	if o.Kind != "tool" {
		return
	}
	if rows := before.programs[o.Decl.Name].Shaper.ProbedType(); rows != nil {
		g.programs[o.Decl.Name].Shaper.SetProbedType(rows)
		g.listsStale.Store(true)
	}
}

// probeOnce pings all connections and probes these backends. Those that fail are left.
func (g *Generation) probeOnce(all []probe) {
	found := map[string]problem{}
	answers := g.pingConnections(g.env.Running)
	errs := g.runProbes(g.env.Running, all, answers)
	for _, h := range g.health {
		if err := answers.wait(h.decl); err != nil {
			found["connection "+h.name] = problem{text: g.env.Scrubber.Text(err.Error())}
		} else {
			found["connection "+h.name] = problem{}
		}
	}
	failed := map[*call.Operation]bool{}
	for i, p := range all {
		label, err := p.operation.Label(), errs[i]
		if err != nil {
			failed[p.operation] = true
			g.probing.left = append(g.probing.left, p)
		}
		if err != errNoAnswer { // which is the problem of the connection
			found[label] = found[label].with(p, err, g.env.Scrubber)
		}
	}
	for _, p := range all {
		p.operation.Probed.Store(!failed[p.operation])
	}
	if g.env.Running.Err() != nil {
		return // the errors are about the end of the generation
	}
	g.probing.mu.Lock()
	defer g.probing.mu.Unlock()
	maps.Copy(g.probing.problems, found)
}

// with returns the problem with the error of one more backend.
func (q problem) with(p probe, err error, scrubber *result.Scrubber) problem {
	if err == nil {
		return q
	}
	if q.text != "" {
		q.text += "; "
	}
	q.text += scrubber.Text(err.Error())
	if refused, ok := errors.AsType[*adapters.RefusedError](err); ok {
		for _, d := range p.backend.Diagnose(err) {
			d.Detail = scrubber.Text(d.Detail)
			q.diags = append(q.diags, d)
		}
		for _, text := range refused.Statements {
			q.refused = append(q.refused, p.refused(text))
		}
	}
	return q
}

// keepProbing probes what is left until nothing is, or the generation is replaced. Changed is called
// with the toolsets whose list of tools has changed.
func (g *Generation) keepProbing(changed func(toolsets []string)) {
	<-g.probing.begun
	for attempt := range probeBackoff.Attempts(g.env.Running) {
		if attempt > 1 {
			left := g.probing.left
			g.probing.left = nil
			g.probeOnce(left)
		}
		if g.build.current() != g {
			return
		}
		if toolsets := g.publish(); len(toolsets) > 0 {
			changed(toolsets)
		}
		g.logProblems()
		if len(g.probing.left) == 0 {
			return
		}
	}
}

// logProblems logs the problems that have come and gone since the last time. Those of what is no longer served are
// forgotten.
func (g *Generation) logProblems() {
	g.probing.mu.Lock()
	defer g.probing.mu.Unlock()
	logged := g.build.caches.logged
	for _, label := range slices.Sorted(maps.Keys(g.probing.problems)) {
		text := g.probing.problems[label].text
		kind, name, _ := strings.Cut(label, " ")
		subject := "backend probe"
		if kind == "connection" {
			subject = kind
		}
		switch {
		case !logged.Set(label, text):
		case text == "":
			g.log().Info(subject+" succeeded", kind, name)
		default:
			g.log().Warn(subject+" failed", kind, name, "error", text)
		}
	}
	logged.Keep(func(label string) bool {
		_, known := g.probing.problems[label]
		return known
	})
}

// refusedStatements returns what is wrong with the statements that are served.
func (g *Generation) refusedStatements() hcl.Diagnostics {
	all := hcl.Diagnostics{}
	g.probing.mu.Lock()
	defer g.probing.mu.Unlock()
	for _, p := range g.probing.problems {
		all = append(all, p.diags...)
	}
	return all.Sort()
}

// RefusedOperations reports the operations that the start has refused, because the server lacks what they need.
func (g *Generation) RefusedOperations() (diags hcl.Diagnostics) {
	for _, o := range g.operations {
		if o.Missing != "" {
			const text = "The %s %s is refused, because the server lacks %s."
			diags.Warnf(o.Decl.Range, "Not available", text, o.Kind, o.Decl.Name, o.Missing)
		}
	}
	return diags
}

// newRefusals returns what is wrong with the statements that the generation before does not serve.
func (g *Generation) newRefusals(before *Generation) (diags hcl.Diagnostics) {
	g.probing.mu.Lock()
	defer g.probing.mu.Unlock()
	for _, p := range g.probing.problems {
		if !slices.ContainsFunc(p.refused, func(s refusedStatement) bool { return !before.serves(s) }) {
			continue
		}
		diags = append(diags, p.diags...)
	}
	return diags.Sort()
}

// serves reports whether a statement is served: on the same connection, or on one that has refused it
// before it was changed.
func (g *Generation) serves(s refusedStatement) bool {
	g.probing.mu.Lock()
	defer g.probing.mu.Unlock()
	return slices.ContainsFunc(g.probes(), func(p probe) bool {
		served := p.refused(s.text)
		return served.connection == s.connection && p.prober.Asks(s.text) && (served.digest == s.digest ||
			slices.Contains(g.probing.problems[p.operation.Label()].refused, served))
	})
}
