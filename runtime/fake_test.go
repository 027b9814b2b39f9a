package runtime

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/runtime/mcp"
)

// world is a backend `fake` and connections `db` whose behaviour a test writes, and the journal of what was opened and closed.
type world struct {
	mu      sync.Mutex
	journal []string                                                      // guarded by mu
	do      map[string]func(context.Context, *adapters.Call) (any, error) // by the block's `do`; without one the value is given back
	probe   func() (*schema.Type, error)
	ping    func() error
	version func(input map[string]any) (string, error) // of what a block would read
}

func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.journal = append(w.journal, fmt.Sprintf(format, args...))
}

func (w *world) read() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.journal
	w.journal = nil
	return out
}

type fakeBlock struct {
	Do     string
	Value  *hcl.Expr
	Refuse bool
	Rows   bool // the value is rows
	Log    bool // its texts are written as things happen
}

func (b *fakeBlock) spec() hcl.Spec {
	return hcl.Spec{
		hcl.Attr(&b.Do, "do", "Which behaviour of the test."),
		hcl.Attr(&b.Value, "value", "What is answered."),
		hcl.Attr(&b.Refuse, "refuse", "Whether it is refused when it is bound."),
		hcl.Attr(&b.Rows, "rows", "Whether it answers rows."),
		hcl.Attr(&b.Log, "log", "Whether its texts are written as things happen."),
	}
}

func (b *fakeBlock) Describe(*hcl.Connection) (hcl.Effects, error) {
	t := &schema.Type{Kind: schema.Any}
	if b.Rows {
		t = schema.ListOf(&schema.Type{Kind: schema.Map, Elem: t})
	}
	return hcl.Effects{
		Output:  schema.ObjectOf(&schema.Member{Name: "value", Type: t}),
		Default: hcl.DefaultResult{Member: "value"},
		Log:     b.Log,
	}, nil
}

type fakeAction struct {
	*fakeBlock
	world *world
}

func (a *fakeAction) Do(ctx context.Context, call *adapters.Call) (any, error) {
	if do := a.world.do[a.fakeBlock.Do]; do != nil {
		v, err := do(ctx, call)
		return map[string]any{"value": v}, err
	}
	var v any
	var err error
	if a.Value != nil {
		v, err = a.Value.Eval(call.Frame)
	}
	return map[string]any{"value": v}, err
}

func (a *fakeAction) Probe(context.Context) (*schema.Type, error) {
	if a.world.probe == nil {
		return nil, nil
	}
	return a.world.probe()
}

func (a *fakeAction) Plan(call *adapters.Call) (string, error) {
	if a.Value == nil {
		return "would do something", nil
	}
	v, err := a.Value.Eval(call.Frame)
	return fmt.Sprintf("would answer %v", v), err
}

type fakeConnection struct{ Name string }

func (c *fakeConnection) spec() hcl.Spec {
	return hcl.Spec{hcl.Attr(&c.Name, "name", "What the journal calls it.")}
}

type fakeHandle struct{ world *world }

func (h fakeHandle) Ping(context.Context) error {
	if h.world.ping == nil {
		return nil
	}
	return h.world.ping()
}

func (w *world) set() adapters.Set {
	bind := func(ctx context.Context, b *fakeBlock, env adapters.Env) (adapters.Action, error) {
		if b.Refuse {
			return nil, hcl.Blame(&b.Refuse, "the test refuses this block")
		}
		w.note("bind %s", b.Do)
		env.Defer(func() error { w.note("undo %s", b.Do); return nil })
		return &fakeAction{b, w}, nil
	}
	open := func(ctx context.Context, c *fakeConnection, env adapters.Env) (any, error) {
		if c.Name == "broken" {
			return nil, errors.New("the test refuses this connection")
		}
		w.note("open %s", c.Name)
		env.Defer(func() error { w.note("close %s", c.Name); return nil })
		return fakeHandle{w}, nil
	}
	return adapters.Set{
		Adapters:   []adapters.Adapter{adapters.New("fake", "A backend of the tests.", (*fakeBlock).spec, bind).WithConnections(false, "db")},
		Connectors: []adapters.Connector{adapters.NewConnector("db", "A connection of the tests.", (*fakeConnection).spec, open)},
	}
}

// holding makes the backend "held", which answers old when it is released, unless its call ends before.
func (w *world) holding() (release chan struct{}) {
	release = make(chan struct{})
	w.do["held"] = func(ctx context.Context, _ *adapters.Call) (any, error) {
		select {
		case <-release:
			return "old", nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return release
}

// host returns a Host over the world that has loaded src, and must have.
func (w *world) host(t testing.TB, src string) *Host {
	t.Helper()
	h := NewHost(t.Context(), HostOptions{Build: Build{Set: w.set(), Dir: t.TempDir()}, Grace: 10 * time.Second, Load: hcl.Options{Vars: nil, Getenv: secrets}})
	load(t, h, src)
	return h
}

func secrets(name string) (string, bool) {
	if name == "TOKEN" {
		return `s3cr3t/"tok"en`, true
	}
	return "", false
}

func load(t testing.TB, h *Host, src string) {
	t.Helper()
	if diags := h.Load(t.Context(), fileSystem(src)); diags.HasErrors() {
		t.Fatalf("load: %s", printed(diags))
	}
}

func fileSystem(src string) fstest.MapFS { return fstest.MapFS{"tools.hcl": {Data: []byte(src)}} }

func printed(diags hcl.Diagnostics) string {
	var b strings.Builder
	diags.Print(&b, nil)
	return b.String()
}

// ask calls a tool and returns the result as a client reads it.
func ask(t testing.TB, h *Host, tool, arguments string) string {
	t.Helper()
	return askAs(t, h, mcp.Revision20251125, tool, arguments)
}

func askAs(t testing.TB, h *Host, r mcp.Revision, tool, arguments string) string {
	t.Helper()
	out, err := h.CallTool(t.Context(), &mcp.CallRequest{Name: tool, Arguments: []byte(arguments), Caller: &mcp.Caller{Revision: r}})
	if err != nil {
		return "error: " + err.Error()
	}
	out.Meta = nil // it differs from call to call
	return string(out.AppendResult(nil, r))
}
