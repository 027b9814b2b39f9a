package runtime

import (
	"encoding/json"

	"hatchel/hcl/eventkind"
	"hatchel/runtime/durable/hook"
	"hatchel/runtime/observe/event"
)

// openEvents makes what publishes the events of the generation, if anything can read them.
func (c *compiler) openEvents() {
	decl, b := c.g.Config.Events, c.build
	isFollowed := decl != nil || c.g.Console != nil
	if !isFollowed && len(c.g.Config.Hooks) == 0 || b.Inspect || b.current == nil {
		return
	}
	p := event.Options{
		Revision: c.g.Config.ID, Process: b.State.Process.Name(), Arguments: true, Scrub: c.g.Env.Scrubber.JSON,
	}
	if isFollowed {
		p.Ring = b.caches.events
	}
	if decl != nil {
		p.Arguments, p.Results = decl.Arguments, decl.Results
	}
	p.KeepResults = p.Results || decl == nil && c.isForAuthor()
	env := hook.Env{
		Queue: b.State.Hooks, Tools: c.g.Config.Tools, Dir: b.Dir, Now: b.Now, Log: b.Log,
		Scrub: c.g.Env.Scrubber.Text, Metrics: c.g.Metrics,
	}
	for _, decl := range c.g.Config.Hooks {
		p.Hooks = append(p.Hooks, hook.New(decl, env))
	}
	c.g.Env.Events, c.g.Env.Refusals = event.NewPublisher(p), &b.caches.refusals
	if c.g.Console != nil && !c.g.Console.KeepNone {
		c.g.Env.Recent = b.caches.recent()
	}
}

// EndEvents publishes that the server begins to stop.
func (h *Host) EndEvents() { h.publishServer("stopping") }

func (h *Host) publishServer(state string) {
	env := h.Current().Env
	env.Events.Publish(env.Running, event.Meta{Kind: eventkind.Server},
		event.Member{Name: "state", Value: state}, event.Member{Name: "version", Value: h.build.Version})
}

// publishLoad publishes what a load came to.
func publishLoad(last, next *Generation, r *Report) {
	p := next.Env.Events
	if p == nil {
		p = last.Env.Events
	}
	if !p.Wants(eventkind.Reload) {
		return
	}
	report, err := json.Marshal(r)
	if err != nil {
		return
	}
	p.Publish(next.Env.Running, event.Meta{Kind: eventkind.Reload}, event.Member{Name: "result", Value: r.Result()},
		event.Member{Name: "report", Value: json.RawMessage(report)})
}

// publishConnection publishes the state of a connection, and why it is down.
func (b *Build) publishConnection(name, state, message string) {
	if b.current != nil {
		env := b.current().Env
		env.Events.Publish(env.Running, event.Meta{Kind: eventkind.Connection},
			event.Member{Name: "connection", Value: name}, event.Member{Name: "state", Value: state},
			event.Member{Name: "message", Value: message})
	}
}
