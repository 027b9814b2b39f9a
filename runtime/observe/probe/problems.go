package probe

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/scrub"
	"hatchel/hcl"
	"hatchel/internal/backoff"
	"hatchel/runtime/call"
)

// probeBackoff is how often backends that failed are probed again.
var probeBackoff = backoff.Policy{First: time.Second, Max: 30 * time.Second}

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

// Start takes over what the set before knows of operations that did not change, and begins to probe the others. It
// waits for them as long as maxWait.
func (s *Set) Start(before *Set, maxWait time.Duration) {
	changed := s.takeOver(before)
	s.running.Go(func() {
		defer close(s.begun)
		s.probeOnce(changed)
	})
	select {
	case <-s.begun:
	case <-time.After(maxWait):
	}
}

// takeOver takes over what the set before knows of operations that did not change, and returns the probes of others.
func (s *Set) takeOver(before *Set) (changed []probe) {
	known := make(map[string]*call.Operation, len(before.Operations))
	for _, o := range before.Operations {
		known[o.Label()] = o
	}
	before.mu.Lock()
	defer before.mu.Unlock()
	for _, p := range s.backgroundProbes() {
		label := p.operation.Label()
		switch old := known[label]; {
		case old == nil || old.Decl.Digest != p.operation.Decl.Digest:
			changed = append(changed, p)
		case old.Probed.Load():
			s.inheritRows(p.operation, before)
		default:
			s.left = append(s.left, p)
			s.problems[label] = before.problems[label]
		}
	}
	return changed
}

// inheritRows takes over what the generation before has learned of an operation.
func (s *Set) inheritRows(o *call.Operation, before *Set) {
	o.Probed.Store(true)
	if o.Kind != "tool" {
		return
	}
	if rows := before.Shaper(o.Decl.Name).ProbedType(); rows != nil {
		s.Shaper(o.Decl.Name).SetProbedType(rows)
		s.Learned()
	}
}

// probeOnce pings all connections and probes these backends. Those that fail are left.
func (s *Set) probeOnce(all []probe) {
	found := map[string]problem{}
	pinged := slices.DeleteFunc(slices.Clone(s.Connections), func(c Connection) bool { return c.Upstream != nil })
	answers := s.pingConnections(s.Running, pinged)
	proofs := s.runProofs(s.Running, answers)
	errs := s.runProbes(s.Running, all, answers)
	unusable := map[*hcl.Connection]bool{}
	s.unproved = false
	for i, h := range s.Connections {
		err := answers.find(h).wait()
		if err == nil {
			err = proofs[i].faults
			s.unproved = s.unproved || err != nil
		}
		found["connection "+h.label()] = problem{}
		if err != nil {
			found["connection "+h.label()] = problem{text: s.Scrubber.Text(err.Error())}
			unusable[h.Decl] = true
		}
	}
	failed := map[*call.Operation]bool{}
	for i, p := range all {
		label, err := p.operation.Label(), errs[i]
		if err != nil {
			failed[p.operation] = true
			s.left = append(s.left, p)
		}
		if !p.isReported(err, unusable) {
			found[label] = found[label].with(p, err, s.Scrubber)
		}
	}
	for _, p := range all {
		p.operation.Probed.Store(!failed[p.operation])
	}
	if s.Running.Err() != nil {
		return // the errors are about the end of the generation
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.Copy(s.problems, found)
}

// with returns the problem with the error of one more backend.
func (q problem) with(p probe, err error, scrubber *scrub.Scrubber) problem {
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

// Keep probes what is left, in the background, until nothing is, or the set is not served any more. Probed is called
// after each time, and reports whether it is served.
func (s *Set) Keep(probed func() (served bool)) { s.running.Go(func() { s.keep(probed) }) }

func (s *Set) keep(probed func() (served bool)) {
	<-s.begun
	for attempt := range probeBackoff.Attempts(s.Running) {
		if attempt > 1 {
			left := s.left
			s.left = nil
			s.probeOnce(left)
		}
		if !probed() {
			return
		}
		s.logProblems()
		if len(s.left) == 0 && !s.unproved {
			return
		}
	}
}

// logProblems logs the problems that have come and gone since the last time. Those of what is no longer served are
// forgotten.
func (s *Set) logProblems() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, label := range slices.Sorted(maps.Keys(s.problems)) {
		text := s.problems[label].text
		kind, name, _ := strings.Cut(label, " ")
		subject := "backend probe"
		if kind == "connection" {
			subject = kind
		}
		switch {
		case !s.Logged.Set(label, text):
		case text == "":
			s.Log.Info(subject+" succeeded", kind, name)
		default:
			s.Log.Warn(subject+" failed", kind, name, "error", text)
		}
	}
	s.Logged.Keep(func(label string) bool {
		_, known := s.problems[label]
		return known
	})
}

// Refused returns what is wrong with the statements of the set.
func (s *Set) Refused() hcl.Diagnostics {
	all := hcl.Diagnostics{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.problems {
		all = append(all, p.diags...)
	}
	return all.Sort()
}

// NewRefusals returns what is wrong with the statements that the set before does not serve.
func (s *Set) NewRefusals(before *Set) (diags hcl.Diagnostics) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.problems {
		if !slices.ContainsFunc(p.refused, func(r refusedStatement) bool { return !before.serves(r) }) {
			continue
		}
		diags = append(diags, p.diags...)
	}
	return diags.Sort()
}

// serves reports whether a statement is served: on the same connection, or on one that has refused it
// before it was changed.
func (s *Set) serves(r refusedStatement) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.probes(), func(p probe) bool {
		served := p.refused(r.text)
		return served.connection == r.connection && p.prober.Asks(r.text) && (served.digest == r.digest ||
			slices.Contains(s.problems[p.operation.Label()].refused, served))
	})
}
