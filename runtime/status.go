package runtime

import (
	"context"
	"slices"
	"sync"
	"time"

	"hatchel/hcl"
	"hatchel/hcl/surface"
	"hatchel/runtime/durable/store"
	"hatchel/runtime/durable/webhook"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/served"
	"hatchel/runtime/load/access"
	"hatchel/runtime/load/hold"
	"hatchel/runtime/observe/probe"
)

// Report is what one load came to.
type Report struct {
	Revision string `json:"revision"`         // of what is served after it
	Commit   string `json:"commit,omitempty"` // that was to be served, of a repository
	served.Change
	Duration    float64         `json:"duration_ms"`
	Diagnostics hcl.Diagnostics `json:"diagnostics"`
	OK          bool            `json:"-"`
	Held        bool            `json:"held,omitempty"` // by Hold, or only by what a database refuses
	Hold        *hold.Held      `json:"hold,omitempty"` // differences to the lock that wait; nil for none
	Released    *hold.Release   `json:"released,omitempty"`

	// Differences say what the reload means for callers, as `hatchel diff` does.
	Differences []surface.Change `json:"differences,omitempty"`

	OldSecrets bool              `json:"-"` // it has secrets whose commands fail, with their last values
	Sources    map[string][]byte `json:"-"` // what the diagnostics are about
}

// Result returns ok, held or failed.
func (r *Report) Result() string {
	switch {
	case r.Held:
		return "held"
	case !r.OK:
		return "failed"
	}
	return "ok"
}

// Load is one of the last loads.
type Load struct {
	At          time.Time
	Result      string        // as Report.Result returns it
	Revision    string        // of the configuration that was loaded or is held; empty for a load that failed
	Change      served.Change // of what is served
	Errors      int           // diagnostics
	Differences int           // to the lock, that wait
}

// Status is what a Host knows of its loads.
type Status struct {
	Last   Report         // of the last load that was tried
	Loaded time.Time      // when what is served was loaded; zero before the first
	Change *served.Change // of the last load that changed something after the first; nil for none
	Loads  []Load         // the last ones, the newest first; must not be changed
}

// isStale reports whether something that is served is older than what the directory and its secrets say.
func (s *Status) isStale() bool { return !s.Last.OK || s.Last.OldSecrets }

// Readiness is what a probe of a deployment reads.
type Readiness struct {
	Ready       bool                     `json:"ready"` // a configuration is served, whether or not a later one failed
	Revision    string                   `json:"revision,omitempty"`
	Commit      string                   `json:"commit,omitempty"` // that is served, of a repository
	Tools       int                      `json:"tools"`            // that are listed, as all that is counted here
	Prompts     int                      `json:"prompts"`
	Resources   int                      `json:"resources"` // and templates
	Skills      int                      `json:"skills,omitempty"`
	Loaded      *time.Time               `json:"loaded,omitempty"`
	Stale       bool                     `json:"stale"` // the last load has failed, or uses the last values of secrets
	LastChange  *served.Change           `json:"last_change,omitempty"`
	Diagnostics hcl.Diagnostics          `json:"diagnostics"`    // of the last load
	Hold        *hold.Held               `json:"hold,omitempty"` // why the last load waits for its lock; nil if not
	Refused     hcl.Diagnostics          `json:"refused"`        // statements by databases, operations by the start
	Connections []probe.ConnectionHealth `json:"connections"`
	Upstreams   []probe.UpstreamHealth   `json:"upstreams,omitempty"`
	State       *store.Health            `json:"state,omitempty"` // nil when it is in a file, or was not needed
	Audit       *store.Health            `json:"audit,omitempty"` // nil when calls are not written down
	Webhooks    []webhook.Health         `json:"webhooks,omitempty"`
}

// Status returns what the Host knows of its loads.
func (h *Host) Status() Status {
	h.loads.mu.Lock()
	defer h.loads.mu.Unlock()
	return h.loads.status
}

// Readiness asks the connections and says what is served, and what the loads came to when it was.
func (h *Host) Readiness(ctx context.Context) (Readiness, Status) {
	g, s := h.pinWithStatus()
	if g == nil {
		return Readiness{Diagnostics: hcl.Diagnostics{}, Refused: hcl.Diagnostics{}}, s
	}
	defer g.leave()
	r := describeServed(g, s)
	var asked sync.WaitGroup // all at once: each takes up to store.PingTimeout to find out that nothing answers
	r.Upstreams = g.Probes.Upstreams()
	asked.Go(func() { r.Connections = g.Probes.Health(ctx) })
	asked.Go(func() { r.State = h.build.State.Health(ctx) })
	asked.Go(func() { r.Audit = g.AuditHealth(ctx) })
	asked.Go(func() { r.Webhooks = h.build.State.WebhookHealth(ctx, g.Config) })
	asked.Wait()
	return r, s
}

// Served says what is served, as Readiness does, and asks nothing: it has no Connections, State, Audit and Webhooks. It
// takes the locks that calls and loads take for a moment.
func (h *Host) Served() Readiness {
	g, s := h.pinWithStatus()
	if g == nil {
		return Readiness{}
	}
	defer g.leave()
	return describeServed(g, s)
}

// pinWithStatus enters the current generation, as pin does, and returns the status of the loads of the same moment.
func (h *Host) pinWithStatus() (*Generation, Status) {
	h.loads.mu.Lock() // which a generation that is swapped needs
	defer h.loads.mu.Unlock()
	return h.pin(), h.loads.status
}

func describeServed(g *Generation, s Status) Readiness {
	r := Readiness{
		Ready:       !s.Loaded.IsZero(),
		Revision:    g.Config.ID,
		Commit:      g.build.Commit,
		Tools:       g.Count("", mcp.Tools),
		Prompts:     g.Count("", mcp.Prompts),
		Resources:   g.Count("", mcp.Resources) + g.Count("", mcp.Templates) - g.Count("", mcp.Skills),
		Skills:      g.Count("", mcp.Skills),
		Stale:       s.isStale(),
		LastChange:  s.Change,
		Diagnostics: s.Last.Diagnostics,
		Hold:        s.Last.Hold,
		Refused:     append(g.Probes.Refused(), g.RefusedOperations()...).Sort(),
	}
	if r.Ready {
		r.Loaded = &s.Loaded
	}
	return r
}

// loads are what a Host knows of its loads.
type loads struct {
	mu     sync.Mutex
	status Status            // guarded by mu
	served []served.Revision // the latest, in order; guarded by mu
}

// recordLoad completes, records and announces what a load came to that serves what was served before.
func (h *Host) recordLoad(last *Generation, r Report, began time.Time) Report {
	r = completeReport(last, last, r, began)
	h.serve(last, r)
	announceLoad(last, last, r, began)
	return r
}

// completeReport says what a load changes. One that has failed serves what was served before: its next generation is
// the last one.
func completeReport(last, next *Generation, r Report, began time.Time) Report {
	r.Revision, r.Change, r.OK = next.Config.ID, last.Revision().Compare(next.Revision()), r.OK || next != last
	r.Diagnostics, r.Duration = append(hcl.Diagnostics{}, r.Diagnostics...), millisecondsSince(began)
	if r.replaces() {
		r.Differences = hold.Differences(last.Config, next.Config)
	}
	return r
}

// replaces reports whether another configuration is served since.
func (r *Report) replaces() bool { return r.OK && r.Previous != "" && r.Previous != r.Revision }

// serve makes next the current generation, in the same moment in which the status has the load.
func (h *Host) serve(next *Generation, r Report) {
	h.loads.mu.Lock()
	defer h.loads.mu.Unlock()
	h.loads.set(r, h.latest.id, next)
	h.current.Store(next)
}

// announceLoad measures, publishes and writes down a load.
func announceLoad(last, next *Generation, r Report, began time.Time) {
	next.measureLoad(r, time.Since(began))
	publishLoad(last, next, &r)
	if r.replaces() {
		recordReload(last, next, &r)
	}
}

// set records a load. Loaded is the configuration that was loaded or is held. The caller holds mu.
func (ls *loads) set(r Report, loaded string, now *Generation) {
	ls.status.Last = r
	ls.keep(&r, loaded)
	if !r.OK {
		return
	}
	ls.status.Loaded = time.Now()
	if r.Previous == r.Revision {
		return
	}
	if r.Previous != "" {
		ls.status.Change = &r.Change
	}
	ls.served = append(ls.served, now.Revision())
	ls.served = ls.served[max(0, len(ls.served)-maxServed):]
}

// maxLoads is how many of the last loads a Host keeps.
const maxLoads = 20

// keep adds a load to the last ones. A held configuration that is tried again is the same load. The caller holds
// mu.
func (ls *loads) keep(r *Report, loaded string) {
	l := Load{At: time.Now(), Result: r.Result(), Change: r.Change}
	l.Errors, _ = r.Diagnostics.Counts()
	if r.Hold != nil {
		l.Differences = len(r.Hold.Changes)
	}
	if l.Result != "failed" {
		l.Revision = loaded
	}
	last := ls.status.Loads
	if l.Result == "held" && len(last) > 0 && last[0].Result == "held" && last[0].Revision == l.Revision {
		return
	}
	ls.status.Loads = slices.Concat([]Load{l}, last[:min(len(last), maxLoads-1)])
}

// maxServed is how many of the latest revisions a Host can report the differences to.
const maxServed = 64

// ChangeSince returns how the served configuration differs from the one with a revision. It reports
// whether this Host has served that revision lately.
func (h *Host) ChangeSince(revision string) (served.Change, bool) {
	h.loads.mu.Lock()
	defer h.loads.mu.Unlock()
	for _, s := range h.loads.served {
		if s.ID == revision {
			return s.Compare(h.loads.served[len(h.loads.served)-1]), true
		}
	}
	return served.Change{Added: []string{}, Removed: []string{}, Changed: []string{}}, false
}

// Surface returns the surface of what is served.
func (h *Host) Surface() *surface.Surface {
	return access.Surface(h.Current().Config, h.options.Load.Parallel)
}

func millisecondsSince(began time.Time) float64 {
	return float64(time.Since(began).Microseconds()) / 1000
}
