package runtime

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/runtime/mcp"
)

// Generation is one configuration that is ready to be called. Compile makes it. A generation that was not given to a Host must be closed.
type Generation struct {
	Config *hcl.Config

	build    *Build
	programs map[string]*Program
	order    []*Program // by name
	routines []*routine // everything that can be called
	health   []health
	scrubber *scrubber
	learned  atomic.Bool // since the lists of tools were encoded: they are refined when a database first tells what its rows look like

	prompts     []*prompt   // by name
	resources   []*resource // by name
	completions map[*hcl.Completion]*completion
	views       map[string]*view // by toolset
	whole       *view            // the one of all that is listed, whose name is empty
	publishing  sync.Mutex       // held while lists are encoded

	ctx        context.Context // ends when calls that are still running must stop
	cancel     context.CancelFunc
	background sync.WaitGroup // what asks databases about their rows
	held       sync.WaitGroup // tasks that are worked on, which neither a grace period nor ctx ends
	cleanups   cleanups

	calls   atomic.Int64 // in flight, plus retired once no more are admitted
	once    sync.Once
	drained chan struct{} // closed when retired and nothing is in flight
}

// health is a connection that can be asked whether it works.
type health struct {
	name string
	conn adapters.Health
}

const retired = 1 << 40

// enter admits a call, unless the generation is retired. Who entered must leave.
func (g *Generation) enter() bool {
	if g.calls.Add(1) < retired {
		return true
	}
	g.leave()
	return false
}

func (g *Generation) leave() {
	if g.calls.Add(-1) == retired {
		g.once.Do(func() { close(g.drained) })
	}
}

// deaf is how long a call that was cancelled has to end before its backends are closed under it.
const deaf = 10 * time.Second

// retire admits no further call, waits for those in flight, cancels what is left of them after the grace period or once hurry is closed, and undoes
// the generation.
func (g *Generation) retire(grace time.Duration, hurry <-chan struct{}) {
	if g.calls.Add(retired) == retired {
		g.once.Do(func() { close(g.drained) })
	}
	if !g.wait(grace, hurry) {
		g.cancel()
		if !g.wait(deaf, nil) {
			g.build.Log.Warn("calls of a replaced configuration do not end; its backends are closed under them", "calls", g.calls.Load()-retired)
		}
	}
	g.release(hurry)
	g.undo()
}

// release waits for the tasks that are worked on. Once hurry is closed their contexts have ended, so they have only so long.
func (g *Generation) release(hurry <-chan struct{}) {
	idle := make(chan struct{})
	go func() {
		defer close(idle)
		g.held.Wait()
	}()
	select {
	case <-idle:
		return
	case <-hurry:
	}
	late := time.NewTimer(deaf)
	defer late.Stop()
	select {
	case <-idle:
	case <-late.C:
		g.build.Log.Warn("tasks do not end; their backends are closed under them")
	}
}

// wait reports whether everything drained in time.
func (g *Generation) wait(d time.Duration, hurry <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-g.drained:
		return true
	case <-timer.C:
	case <-hurry:
	}
	select {
	case <-g.drained:
		return true
	default:
		return false
	}
}

// Close undoes a generation that no Host has.
func (g *Generation) Close() {
	now := make(chan struct{})
	close(now)
	g.retire(0, now)
}

func (g *Generation) undo() {
	g.cancel()
	g.background.Wait()
	if err := g.cleanups.run(); err != nil {
		g.build.Log.Warn("a replaced configuration did not close cleanly", "error", err)
	}
}

// Tools is how many tools are listed.
func (g *Generation) Tools() int { return g.List(mcp.Tools).Len() }

// List is one of the lists of all that is offered.
func (g *Generation) List(of mcp.Listing) *mcp.List { return g.whole.lists[of].Load() }

// view is what a toolset shows; nil when there is no such toolset.
func (g *Generation) view(toolset string) *view {
	if toolset == "" {
		return g.whole
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
	names := make([]string, len(g.order))
	for i, p := range g.order {
		names[i] = p.tool.Name
	}
	return names
}

func (g *Generation) log() *slog.Logger { return g.build.Log }
