package probe

import (
	"hatchel/adapters"
	"hatchel/runtime/observe/metrics"
)

// UpstreamHealth says what is known of an upstream server.
type UpstreamHealth struct {
	Connection string              `json:"connection"`
	State      string              `json:"state"` // "ready", "starting", "failed" or "drifted"
	Error      string              `json:"error,omitempty"`
	Protocol   string              `json:"protocol,omitempty"`
	Sessions   int                 `json:"sessions"`
	Restarts   int                 `json:"restarts"`
	Unused     int                 `json:"unused"` // tools that no block uses
	Drift      []DriftedDefinition `json:"drift"`
}

// DriftedDefinition is a definition that is not as reviewed.
type DriftedDefinition struct {
	Name    string   `json:"name"`
	Changed []string `json:"changed"`
	Served  bool     `json:"served"` // on_drift accepts the differences

	Drift adapters.Drift `json:"-"`
}

// Upstreams returns what is known of the upstream servers. It asks nothing.
func (s *Set) Upstreams() (all []UpstreamHealth) {
	for _, c := range s.Connections {
		if c.Upstream != nil {
			all = append(all, s.describeUpstream(c.label(), c.Upstream.UpstreamState()))
		}
	}
	return all
}

func (s *Set) describeUpstream(name string, u adapters.UpstreamState) UpstreamHealth {
	u = u.Scrubbed(s.Scrubber.Text)
	return UpstreamHealth{
		Connection: name, State: u.State, Error: u.Failure, Protocol: u.Protocol, Sessions: u.Sessions,
		Restarts: u.Restarts, Unused: u.Unused, Drift: DescribeDrift(u.Drift),
	}
}

// DescribeDrift returns definitions that are not as reviewed in the form of readiness and events.
func DescribeDrift(drift []adapters.Drift) []DriftedDefinition {
	all := make([]DriftedDefinition, len(drift))
	for i, d := range drift {
		all[i] = DriftedDefinition{Name: d.Name, Changed: d.Changed, Served: d.Served, Drift: d}
	}
	return all
}

// sampleUpstream returns what metrics have of an upstream server; nil for another connection.
func (p Connection) sampleUpstream() *metrics.Upstream {
	if p.Upstream == nil {
		return nil
	}
	u := p.Upstream.UpstreamState()
	return &metrics.Upstream{Drift: len(u.Drift), Sessions: u.Sessions, Restarts: u.Restarts}
}
