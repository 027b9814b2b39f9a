package runtime

import (
	"context"
	"time"

	"hatchel/hcl"
)

// Report is what one load came to.
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
	Tools       int                `json:"tools"`
	Loaded      *time.Time         `json:"loaded,omitempty"`
	Stale       bool               `json:"stale"`       // the folder holds a configuration that could not be loaded
	Diagnostics hcl.Diagnostics    `json:"diagnostics"` // of the last load
	Connections []ConnectionHealth `json:"connections"`
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
		Tools:       g.Tools(),
		Stale:       !s.Last.OK,
		Diagnostics: s.Last.Diagnostics,
		Connections: g.Health(ctx),
	}
	if r.Ready {
		r.Loaded = &s.Loaded
	}
	return r
}

func (h *Host) failed(cfg *hcl.Config, diags hcl.Diagnostics, began time.Time) {
	g := h.current.Load()
	h.record(Report{
		Revision: g.Config.ID, Unchanged: len(g.order), Added: []string{}, Removed: []string{}, Changed: []string{},
		Diagnostics: diags, Sources: cfg.Sources, Duration: milliseconds(began),
	}, time.Time{})
}

func (h *Host) loaded(last, next *Generation, diags hcl.Diagnostics, began time.Time) {
	r := compare(last, next)
	r.Revision, r.Diagnostics, r.Sources, r.OK = next.Config.ID, diags, next.Config.Sources, true
	r.Duration = milliseconds(began)
	h.record(r, time.Now())
}

func (h *Host) record(r Report, loaded time.Time) {
	if r.Diagnostics == nil {
		r.Diagnostics = hcl.Diagnostics{}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.status.Last = r
	if !loaded.IsZero() {
		h.status.Loaded = loaded
	}
}

// compare says which tools differ between two generations.
func compare(last, next *Generation) Report {
	r := Report{Added: []string{}, Removed: []string{}, Changed: []string{}}
	for _, p := range next.order {
		switch old, ok := last.programs[p.tool.Name]; {
		case !ok:
			r.Added = append(r.Added, p.tool.Name)
		case old.tool.Digest != p.tool.Digest:
			r.Changed = append(r.Changed, p.tool.Name)
		default:
			r.Unchanged++
		}
	}
	for _, p := range last.order {
		if _, ok := next.programs[p.tool.Name]; !ok {
			r.Removed = append(r.Removed, p.tool.Name)
		}
	}
	return r
}

func milliseconds(began time.Time) float64 {
	return float64(time.Since(began).Microseconds()) / 1000
}
