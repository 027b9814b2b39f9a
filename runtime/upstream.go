package runtime

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"

	"hatchel/adapters"
	"hatchel/hcl/eventkind"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/observe/event"
	"hatchel/runtime/observe/probe"
)

// upstreamObserver announces what changes of an upstream server: it publishes, records and logs it. It begins when a
// generation with the connection is served; what has happened before is announced then.
type upstreamObserver struct {
	build      *Build
	name       string // of the connection, with its kind
	connection string // its name

	mu        sync.Mutex
	upstream  adapters.Upstream      // guarded by mu, as all below
	served    bool                   // a generation with the connection is or was served
	stopped   bool                   // the connection is being closed
	announced adapters.UpstreamState // its State is empty before the first one
}

// attach sets the connection, before anything is announced.
func (o *upstreamObserver) attach(upstream adapters.Upstream) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.upstream = upstream
}

// observe announces what differs from what was announced.
func (o *upstreamObserver) observe() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.served && !o.stopped {
		o.announce()
	}
}

// serve begins to announce.
func (o *upstreamObserver) serve() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.served && o.build.current != nil {
		o.served = true
		o.upstream.Watch()
		o.announce()
	}
}

// stop ends the announcements, before the connection is closed: that it forgets what it knows is no news of the server.
func (o *upstreamObserver) stop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stopped = true
}

// announce announces the differences to what was announced. The caller holds mu, so that states are announced in order.
func (o *upstreamObserver) announce() {
	g := o.build.current()
	last, next := o.announced, o.upstream.UpstreamState().Scrubbed(g.Env.Scrubber.Text)
	sameDrift := slices.EqualFunc(last.Drift, next.Drift, equalDrift)
	if last.State == next.State && sameDrift {
		return
	}
	o.announced = next
	if last.State == "" && next.State == adapters.UpstreamStarting {
		return // as every server is before its first session
	}
	o.publish(g, &next)
	if !sameDrift {
		recordDrift(g, o.name, next.Drift)
	}
	o.log(g, &last, &next)
}

// equalDrift reports whether two definitions differ from their pins in the same way.
func equalDrift(a, b adapters.Drift) bool {
	return a.Name == b.Name && a.Served == b.Served && a.Found == b.Found && slices.Equal(a.Changed, b.Changed)
}

func (o *upstreamObserver) publish(g *Generation, s *adapters.UpstreamState) {
	if !g.Env.Events.Wants(eventkind.Upstream) {
		return
	}
	members := []event.Member{{Name: "connection", Value: o.name}, {Name: "state", Value: s.State}}
	if len(s.Drift) > 0 {
		if drift, err := json.Marshal(probe.DescribeDrift(s.Drift)); err == nil {
			members = append(members, event.Member{Name: "drift", Value: json.RawMessage(drift)})
		}
	}
	members = append(members, event.Member{Name: "message", Value: s.Failure})
	g.Env.Events.Publish(g.Env.Running, event.Meta{Kind: eventkind.Upstream}, members...)
}

// recordDrift records which definitions are not as reviewed from now on.
func recordDrift(g *Generation, connection string, drift []adapters.Drift) {
	if g.Audit == nil {
		return
	}
	r := audit.NewRecord(audit.EventDrift, audit.Common{Kind: "connection", Name: connection, Revision: g.Config.ID})
	r.Outcome = audit.OK
	for _, d := range drift {
		if !d.Served {
			r.Outcome = audit.Refused
		}
		r.Differences = append(r.Differences, d.String())
	}
	g.Record(g.Env.Running, r)
}

func (o *upstreamObserver) log(g *Generation, last, next *adapters.UpstreamState) {
	level, text := slog.LevelInfo, "upstream server "+next.State
	attributes := []slog.Attr{slog.String("connection", o.name)}
	switch {
	case len(next.Drift) > 0:
		level, text = slog.LevelWarn, "upstream definitions changed"
		for _, d := range next.Drift {
			attributes = append(attributes, slog.String("difference", d.String()), slog.Bool("served", d.Served))
		}
		attributes = append(attributes, slog.String("review", adapters.ReviewCommand(o.connection)))
	case len(last.Drift) > 0:
		text = "upstream definitions as reviewed"
	case next.State == adapters.UpstreamFailed:
		level = slog.LevelWarn
		attributes = append(attributes, slog.String("error", next.Failure))
	}
	g.Env.Log.LogAttrs(context.WithoutCancel(g.Env.Running), level, text, attributes...)
}

// announceUpstreams begins to announce what changes of the upstream servers of a generation.
func (g *Generation) announceUpstreams() {
	for _, o := range g.upstreams {
		o.serve()
	}
}
