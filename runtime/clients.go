package runtime

import (
	"slices"
	"sync/atomic"

	"hatchel/hcl/eventkind"
	"hatchel/runtime/call"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/observe/event"
	"hatchel/runtime/stage/task"
)

// Notifier is notified of changes. Its methods must not block.
type Notifier interface {
	// Changed is called when lists have changed.
	ListsChanged(in func(toolset string) mcp.Changes)

	// ResourceUpdated is called when a document with subscribers may read differently: for those whom of selects, nil
	// for all.
	ResourceUpdated(uri string, of func(*mcp.Caller) bool)

	// TaskChanged is called when a task has changed, with its members as encoded JSON without braces; nil if they
	// depend on who reads them.
	TaskChanged(id string, members []byte)

	// FollowsTask reports whether a task has subscribers.
	FollowsTask(id string) bool

	// Retain is called when other credentials are valid than before. Sessions of the others must be
	// closed.
	Retain(valid func(*mcp.Identity) bool)

	// Connected returns how many sessions and streams of clients there are.
	Connected() (sessions, streams int)
}

// clients are notified of what changes. It implements task.Audience.
type clients struct {
	host     *Host
	notifier atomic.Pointer[Notifier] // nil before there are any
}

func (c *clients) notify(tell func(Notifier)) {
	if n := c.notifier.Load(); n != nil {
		tell(*n)
	}
}

// TaskChanged implements task.Audience.
func (c *clients) TaskChanged(id string, members []byte) {
	c.notify(func(n Notifier) { n.TaskChanged(id, members) })
}

// FollowsTask implements task.Audience.
func (c *clients) FollowsTask(id string) (follows bool) {
	c.notify(func(n Notifier) { follows = n.FollowsTask(id) })
	return follows
}

// listsChanged notifies of the lists that changes names for each toolset.
func (c *clients) listsChanged(changes func(toolset string) mcp.Changes) {
	c.notify(func(n Notifier) { n.ListsChanged(changes) })
}

// toolsChanged notifies that the lists of tools of these toolsets have changed.
func (c *clients) toolsChanged(toolsets []string) {
	c.listsChanged(func(toolset string) mcp.Changes {
		return mcp.Changes{Tools: slices.Contains(toolsets, toolset)}
	})
}

// viewsChanged notifies of the lists that differ between two generations.
func (c *clients) viewsChanged(last, next *Generation) {
	if changes, differ := last.Views.Compare(&next.Views); differ {
		c.listsChanged(changes)
	}
}

// resourcesChanged notifies of the subscribed documents that differ between two generations.
func (c *clients) resourcesChanged(last, next *Generation) {
	c.host.subscriptions.OnReload(func(uri string, toolsets map[string]int) (*call.Resource, bool) {
		before, _ := last.Views.Full.Resource(uri)
		after, _ := next.Views.Full.Resource(uri)
		differs := (before == nil) != (after == nil) || after != nil &&
			(before.Decl.Digest != after.Decl.Digest || before.Rules.Digest() != after.Rules.Digest())
		for toolset := range toolsets {
			before, _ := last.Views.Of(toolset).Resource(uri)
			after, _ := next.Views.Of(toolset).Resource(uri)
			differs = differs || (before == nil) != (after == nil)
		}
		return after, differs
	})
}

// TaskFinished implements task.Audience.
func (c *clients) TaskFinished(t *task.Task) {
	env := c.host.Current().Env
	if !env.Events.Wants(eventkind.TaskFinished) {
		return
	}
	m := event.Meta{Kind: eventkind.TaskFinished, Operation: "tool", Name: t.Tool, Owner: t.Owner}
	if t.Identity != nil {
		m.Subject = t.Identity.Subject
	}
	env.Events.Publish(env.Running, m, event.Member{Name: "tool", Value: t.Tool},
		event.Member{Name: "task", Value: t.ID()}, event.Member{Name: "status", Value: t.Status},
		event.Member{Name: "outcome", Value: t.Outcome}, event.Member{Name: "subject", Value: m.Subject},
		event.Member{Name: "created", Value: t.CreatedTime()})
}
