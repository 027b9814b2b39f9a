package runtime

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"hatchel/hcl"
	"hatchel/runtime/auth"
	"hatchel/runtime/mcp"
	"hatchel/runtime/result"
)

// Generation is one configuration that is ready to be called. Compile makes it. A generation that was not given to a Host must be closed.
type Generation struct {
	Config *hcl.Config

	build          *Build
	uploads        bool // callers may upload files
	programs       map[string]*Program
	sortedPrograms []*Program   // by name
	operations     []*operation // everything that can be called
	health         []connectionProbe
	scrubber       *result.Scrubber
	authenticator  *auth.Callers      // nil when nobody is asked who they are
	certificates   *auth.Certificates // nil when the server speaks without TLS
	audit          auditLog           // nil when nothing is written down
	listsStale     atomic.Bool        // since the lists of tools were encoded: they are refined when a database first tells what its rows look like

	prompts     []*prompt   // by name
	resources   []*resource // by name
	completions map[*hcl.Completion]*completion
	views       map[string]*view // by toolset
	fullView    *view            // the one of all that is listed, whose name is empty
	publishing  sync.Mutex       // held while lists are encoded

	ctx          context.Context // ends when calls that are still running must stop, but for those that hold the generation
	cancel       context.CancelCauseFunc
	pinnedCtx    context.Context // ends when those must stop, too
	cancelPinned context.CancelCauseFunc
	probing      sync.WaitGroup // what asks databases about their rows
	cleanups     cleanups

	calls       atomic.Int64 // in flight, plus retired once no more are admitted
	once        sync.Once
	drained     chan struct{}  // closed when retired and nothing is in flight
	pinnedCalls sync.WaitGroup // by tasks that are worked on and calls that have asked their clients, which no grace period ends
}

// Tools is how many tools are listed.
func (g *Generation) Tools() int { return g.List(mcp.Tools).Len() }

// List is one of the lists of all that is offered.
func (g *Generation) List(of mcp.Listing) *mcp.List { return g.fullView.lists[of].Load() }

// ListFor is what a caller sees of the list.
func (g *Generation) ListFor(ctx context.Context, caller *mcp.Caller, of mcp.Listing) *mcp.List {
	return g.fullView.listFor(ctx, caller, of)
}

// Info is how the server introduces itself.
func (g *Generation) Info() *mcp.Info { return g.fullView.info }

// Count is how many entries one of the lists of a toolset has, of which a caller may see fewer. Of a toolset that does not exist it is none.
func (g *Generation) Count(toolset string, of mcp.Listing) int {
	if v := g.view(toolset); v != nil {
		return v.lists[of].Load().Len()
	}
	return 0
}

// view is what a toolset shows; nil when there is no such toolset.
func (g *Generation) view(toolset string) *view {
	if toolset == "" {
		return g.fullView
	}
	return g.views[toolset]
}

// Program returns a tool by its name, whether it is listed or not.
func (g *Generation) Program(name string) (*Program, bool) {
	p, ok := g.programs[name]
	return p, ok
}

// Names are the names of all tools, sorted; those that are not listed too.
func (g *Generation) Names() []string {
	names := make([]string, len(g.sortedPrograms))
	for i, p := range g.sortedPrograms {
		names[i] = p.tool.Name
	}
	return names
}

func (g *Generation) log() *slog.Logger { return g.build.Log }
