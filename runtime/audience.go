package runtime

import (
	"slices"

	"hatchel/runtime/mcp"
)

// Notifier is told what changes. Its methods must not block.
type Notifier interface {
	// Changed is called when lists read differently than before.
	Changed(in func(toolset string) mcp.Changes)

	// ResourceUpdated is called when a document that is followed may read differently than before.
	ResourceUpdated(uri string)

	// TaskChanged is called when a task is something else than before: its members as encoded JSON, without braces.
	TaskChanged(id string, members []byte)

	// Retain is called when other credentials are good than before. Who does not stand any more has to be let go.
	Retain(stands func(*mcp.Identity) bool)
}

// SetNotifier says who is told of changes from now on.
func (h *Host) SetNotifier(a Notifier) { h.notifier.Store(&a) }

func (h *Host) taskChanged(id string, members []byte) {
	h.notify(func(a Notifier) { a.TaskChanged(id, members) })
}

// toolsChanged says that the list of tools reads differently in these toolsets.
func (h *Host) toolsChanged(toolsets []string) {
	h.notify(func(a Notifier) {
		a.Changed(func(toolset string) mcp.Changes { return mcp.Changes{Tools: slices.Contains(toolsets, toolset)} })
	})
}

// listsChanged says which lists read differently in next than they did in last, if any does.
func (h *Host) listsChanged(last, next *Generation) {
	differs := false
	for _, g := range []*Generation{last, next} {
		for name := range g.views {
			differs = differs || changedLists(last.view(name), next.view(name)) != (mcp.Changes{})
		}
	}
	if differs {
		h.notify(func(a Notifier) {
			a.Changed(func(toolset string) mcp.Changes { return changedLists(last.view(toolset), next.view(toolset)) })
		})
	}
}

// notify has the audience told, if there is one.
func (h *Host) notify(of func(Notifier)) {
	if a := h.notifier.Load(); a != nil {
		of(*a)
	}
}
