package runtime

import (
	"context"
	"sync"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/runtime/failure"
	"hatchel/runtime/mcp"
	"hatchel/runtime/webhook"
)

// Report is what one load came to. Tools are called by their names, everything else as "prompt
// review", "policy finance" or "connection http shop".
type Report struct {
	Revision    string          `json:"revision"` // of what is served after it
	Added       []string        `json:"added"`
	Removed     []string        `json:"removed"`
	Changed     []string        `json:"changed"`
	Unchanged   int             `json:"unchanged"`
	Duration    float64         `json:"duration_ms"`
	Diagnostics hcl.Diagnostics `json:"diagnostics"`
	OK          bool            `json:"-"`

	Sources map[string][]byte `json:"-"` // what the diagnostics are about
}

// Status is what a Host knows of its loads.
type Status struct {
	Last   Report    // of the last load that was tried
	Loaded time.Time // when what is served was loaded; zero before the first
}

// Readiness is what a probe of a deployment reads.
type Readiness struct {
	Ready       bool               `json:"ready"` // a configuration is served, whether or not a later one failed
	Revision    string             `json:"revision,omitempty"`
	Tools       int                `json:"tools"` // that are listed, as all that is counted here
	Prompts     int                `json:"prompts"`
	Resources   int                `json:"resources"` // and templates
	Loaded      *time.Time         `json:"loaded,omitempty"`
	Stale       bool               `json:"stale"`       // the folder holds a configuration that could not be loaded
	Diagnostics hcl.Diagnostics    `json:"diagnostics"` // of the last load
	Connections []ConnectionHealth `json:"connections"`
	State       *Health            `json:"state,omitempty"` // nil when it is in a file, or nothing had to be remembered
	Audit       *Health            `json:"audit,omitempty"` // nil when calls are not written down
	Webhooks    []webhook.Health   `json:"webhooks,omitempty"`
}

// Status returns what the Host knows of its loads.
func (h *Host) Status() Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.status
}

// Readiness asks the connections and says what is served.
func (h *Host) Readiness(ctx context.Context) Readiness {
	g, s := h.pin(), h.Status()
	if g == nil {
		return Readiness{Diagnostics: hcl.Diagnostics{}}
	}
	defer g.leave()
	r := Readiness{
		Ready:       !s.Loaded.IsZero(),
		Revision:    g.Config.ID,
		Tools:       g.Count("", mcp.Tools),
		Prompts:     g.Count("", mcp.Prompts),
		Resources:   g.Count("", mcp.Resources) + g.Count("", mcp.Templates),
		Stale:       !s.Last.OK,
		Diagnostics: s.Last.Diagnostics,
		Connections: g.Health(ctx),
		State:       h.build.State.health(ctx),
		Audit:       g.auditHealth(ctx),
	}
	r.Webhooks = h.build.State.webhookHealth(ctx, g.Config)
	if r.Ready {
		r.Loaded = &s.Loaded
	}
	return r
}

// recordLoad records what a load came to. A load that has failed serves what was served before: its
// next generation is the last one.
func (h *Host) recordLoad(last, next *Generation, cfg *hcl.Config, diags hcl.Diagnostics, began time.Time) {
	r := compare(last, next)
	r.OK, r.Revision, r.Sources, r.Duration = next != last, next.Config.ID, cfg.Sources, millisecondsSince(began)
	r.Diagnostics = append(hcl.Diagnostics{}, diags...)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.status.Last = r
	if r.OK {
		h.status.Loaded = time.Now()
	}
}

// servedPart is one thing that a generation offers, as it is called in a report.
type servedPart struct{ name, digest string }

// parts are the tools, prompts and resources by name, and then all other blocks.
func (g *Generation) parts() (all []servedPart) {
	for _, p := range g.sorted {
		all = append(all, servedPart{p.Decl.Name, p.Decl.Digest})
	}
	for _, p := range g.prompts {
		all = append(all, servedPart{p.Label(), p.Decl.Digest})
	}
	for _, r := range g.resources {
		all = append(all, servedPart{r.Label(), r.Decl.Digest})
	}
	for _, s := range g.Config.Settings {
		all = append(all, servedPart{s.Name, s.Digest})
	}
	return all
}

// compare says what differs between two generations.
func compare(last, next *Generation) Report {
	r := Report{Added: []string{}, Removed: []string{}, Changed: []string{}}
	before := map[string]string{}
	for _, p := range last.parts() {
		before[p.name] = p.digest
	}
	for _, p := range next.parts() {
		switch digest, ok := before[p.name]; {
		case !ok:
			r.Added = append(r.Added, p.name)
		case digest != p.digest:
			r.Changed = append(r.Changed, p.name)
		default:
			r.Unchanged++
		}
		delete(before, p.name)
	}
	for _, p := range last.parts() {
		if _, gone := before[p.name]; gone {
			r.Removed = append(r.Removed, p.name)
		}
	}
	return r
}

func millisecondsSince(began time.Time) float64 {
	return float64(time.Since(began).Microseconds()) / 1000
}

// pingTimeout is how long a server has to answer a health check.
const pingTimeout = time.Second

// Health says whether the state store, or the audit log, is available.
type Health struct {
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

// connectionProbe is a connection whose health is reported.
type connectionProbe struct {
	name  string
	conn  adapters.Health // nil when it cannot be pinged
	guard *adapters.ConnectionGuard
}

// ConnectionHealth says whether a connection answers.
type ConnectionHealth struct {
	Name    string `json:"name"`
	OK      bool   `json:"ok"`
	Error   string `json:"error,omitempty"`
	Breaker string `json:"breaker,omitempty"` // "closed", "open" or "half-open"; empty for a connection without one
	err     error
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
			out[i] = ConnectionHealth{Name: h.name, OK: err == nil, Breaker: h.guard.State(), err: err}
			if err != nil {
				out[i].Error = g.env.Scrubber.Text(err.Error())
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
