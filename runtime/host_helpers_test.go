package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/durable/store"
	"hatchel/runtime/edge/mcp"
)

// fakeBackend is the backend `fake` and the connections `db`, whose behaviour a test defines. Its journal says what was opened and closed.
type fakeBackend struct {
	mu      sync.Mutex
	journal []string                                                      // guarded by mu
	do      map[string]func(context.Context, *adapters.Call) (any, error) // by the block's `do`; without one the value is returned
	probe   func() (*schema.Type, error)
	ping    func() error
	version func(input map[string]any) (string, error) // of what a block would read
}

func (w *fakeBackend) record(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.journal = append(w.journal, fmt.Sprintf(format, args...))
}

func (w *fakeBackend) takeJournal() []string {
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

		ReadOnly: strings.HasPrefix(b.Do, "look up"),
	}, nil
}

type fakeAction struct {
	*fakeBlock
	backend *fakeBackend
	log     *slog.Logger
}

func (a *fakeAction) Do(ctx context.Context, call *adapters.Call) (any, error) {
	if do := a.backend.do[a.fakeBlock.Do]; do != nil {
		v, err := do(ctx, call)
		if err != nil {
			return map[string]any(nil), err // as a real backend may do
		}
		return map[string]any{"value": v}, nil
	}
	var v any
	var err error
	if a.Value != nil {
		v, err = a.Value.Eval(call.Frame)
	}
	a.log.Debug("value evaluated", "value", v, "cause", fmt.Errorf("of %v", v))
	return map[string]any{"value": v}, err
}

func (a *fakeAction) Probe(context.Context) (*schema.Type, error) {
	if do := a.fakeBlock.Do; strings.HasPrefix(do, "refused") {
		return nil, &adapters.RefusedError{Statements: []string{do}, Errs: []error{errors.New("there is no table " + do)}}
	}
	if a.backend.probe == nil {
		return nil, nil
	}
	return a.backend.probe()
}

// Asks is asked about the block's `do`, as if it were a statement.
func (a *fakeAction) Asks(statement string) bool { return a.fakeBlock.Do == statement }

// MayAsk reports what the backend may ask the client.
func (a *fakeAction) MayAsk() []string {
	if strings.HasPrefix(a.fakeBlock.Do, "ask") {
		return []string{"elicitation", "elicitation.url", "sampling"}
	}
	return nil
}

func (a *fakeAction) Plan(call *adapters.Call) ([]adapters.Effect, error) {
	if a.Value == nil {
		return adapters.PlanEffects("fake", "", "would do something"), nil
	}
	v, err := a.Value.Eval(call.Frame)
	return adapters.PlanEffects("fake", "", fmt.Sprintf("would answer %v", v)), err
}

type fakeConnection struct{ Name string }

func (c *fakeConnection) spec() hcl.Spec {
	return hcl.Spec{hcl.Attr(&c.Name, "name", "What the journal calls it.")}
}

type fakeHandle struct{ backend *fakeBackend }

func (h fakeHandle) Ping(context.Context) error {
	if h.backend.ping == nil {
		return nil
	}
	return h.backend.ping()
}

func (w *fakeBackend) adapters() adapters.Set {
	bind := func(ctx context.Context, b *fakeBlock, env adapters.Env) (adapters.Action, error) {
		if b.Refuse {
			return nil, hcl.Blame(&b.Refuse, "the test refuses this block")
		}
		w.record("bind %s", b.Do)
		env.Defer(func() error { w.record("undo %s", b.Do); return nil })
		return &fakeAction{b, w, env.Log}, nil
	}
	open := func(ctx context.Context, c *fakeConnection, env adapters.Env) (any, error) {
		if c.Name == "broken" {
			return nil, errors.New("the test refuses this connection")
		}
		w.record("open %s", c.Name)
		env.Defer(func() error { w.record("close %s", c.Name); return nil })
		return fakeHandle{w}, nil
	}
	return adapters.Set{
		Adapters:   []adapters.Adapter{adapters.New("fake", "A backend of the tests.", (*fakeBlock).spec, bind).WithConnections(false, "db")},
		Connectors: []adapters.Connector{adapters.NewConnector("db", "A connection of the tests.", (*fakeConnection).spec, open)},
	}
}

// addWaiting adds the action waits, which ends when its context does and sends the cause.
func (w *fakeBackend) addWaiting() (ended chan error) {
	ended = make(chan error, 1)
	w.do["waits"] = func(ctx context.Context, _ *adapters.Call) (any, error) {
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil, ctx.Err()
	}
	return ended
}

// addHeld adds the backend "held", which returns "old" when release is closed, unless its call ends before.
func (w *fakeBackend) addHeld() (release chan struct{}) {
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

// use makes the backend that of a Host.
func (w *fakeBackend) use(o *HostOptions) { o.Build.Set = w.adapters() }

// newHost returns a Host that has loaded src. Its backend is a new one unless an option says
// otherwise. It is closed with the test.
func newHost(t testing.TB, src string, options ...func(*HostOptions)) *Host {
	t.Helper()
	o := HostOptions{Build: Build{Dir: t.TempDir()}, Grace: 10 * time.Second, Load: hcl.Options{Getenv: getenv}}
	newFakeBackend().use(&o)
	for _, set := range options {
		set(&o)
	}
	h := NewHost(context.WithoutCancel(t.Context()), o)
	t.Cleanup(h.Close)
	load(t, h, src)
	return h
}

// inBubble runs a test with a Host in a bubble of synctest.
func inBubble(t *testing.T, src string, option func(*HostOptions), test func(t *testing.T, h *Host)) {
	synctest.Test(t, func(t *testing.T) { test(t, newHost(t, src, option)) })
}

// maxWait is how long a test waits for anything on a busy machine.
const maxWait = 30 * time.Second

// callWithin makes a call and returns its result. Outside a bubble, whose clock begins in the year 2000, the call ends
// after maxWait: a test in which nobody decides about an approval must fail before the approval expires.
func callWithin(ctx context.Context, h *Host, req *mcp.CallRequest) string {
	if time.Now().Year() > 2000 {
		bounded, cancel := context.WithCancelCause(ctx)
		defer time.AfterFunc(maxWait, func() { cancel(errTooLong) }).Stop()
		ctx = bounded
	}
	out, err := requestTool(ctx, h, req)
	switch {
	case context.Cause(ctx) == errTooLong:
		return "error: " + errTooLong.Error()
	case err != nil:
		return "error: " + err.Error()
	}
	return string(out.AppendResult(nil, req.Caller.Revision))
}

var errTooLong = fmt.Errorf("the call has no result within %v", maxWait)

// storedIn keeps the state of a Host in a file.
func storedIn(t testing.TB, path string) func(*HostOptions) {
	return withStore(t, func(ctx context.Context) (state.Store, error) { return state.Open(ctx, path) })
}

// logTo has a Host write its log to a writer.
func logTo(w io.Writer, level slog.Level) func(*HostOptions) {
	log := slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
	return func(o *HostOptions) { o.Build.Log = log }
}

// inDir sets the configuration directory of a Host.
func inDir(dir string) func(*HostOptions) { return func(o *HostOptions) { o.Build.Dir = dir } }

// withStore keeps the state of a Host in a store.
func withStore(t testing.TB, open func(context.Context) (state.Store, error)) func(*HostOptions) {
	s := store.New(t.Context(), open)
	t.Cleanup(func() { s.Close() })
	return func(o *HostOptions) { o.Build.State = s }
}

func getenv(name string) (string, bool) {
	switch name {
	case "TOKEN":
		return `s3cr3t/"tok"en`, true
	case "OPS":
		return "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", true
	}
	return "", false
}

func load(t testing.TB, h *Host, src string) {
	t.Helper()
	if diags := h.Load(t.Context(), fileSystem(src)); diags.HasErrors() {
		t.Fatalf("load: %s", printDiagnostics(diags))
	}
}

func fileSystem(src string) fstest.MapFS {
	return fstest.MapFS{"tools.hcl": {Data: []byte(throughSearch.addToolset(src))}}
}

func printDiagnostics(diags hcl.Diagnostics) string {
	var b strings.Builder
	diags.Print(&b, nil)
	return b.String()
}

// callTool calls a tool and returns the result as a client reads it.
func callTool(t testing.TB, h *Host, tool, arguments string) string {
	t.Helper()
	return callToolAt(t, h, mcp.Revision20251125, tool, arguments)
}

func callToolAt(t testing.TB, h *Host, r mcp.Revision, tool, arguments string) string {
	t.Helper()
	out, err := requestTool(t.Context(), h, &mcp.CallRequest{Name: tool, Arguments: []byte(arguments), Caller: &mcp.Caller{Revision: r}})
	if err != nil {
		return "error: " + err.Error()
	}
	out.Meta = nil // it differs from call to call
	return string(out.AppendResult(nil, r))
}

// newRepeatedCall returns a function that makes a call and reads its answer as a transport does, which gives the memory
// of the call back. Where that is left out, a call takes what others have given back, and allocates when there is no more.
func newRepeatedCall(t testing.TB, h *Host, req *mcp.CallRequest) func() {
	var dst []byte
	ctx := context.WithoutCancel(t.Context())
	return func() {
		out, err := requestTool(ctx, h, req)
		if err != nil || out.IsError {
			t.Fatal(err)
		}
		dst = out.AppendResult(dst[:0], mcp.Revision20251125)
	}
}

// leastAllocs returns the fewest allocations of a call of f, which it makes 200 times. An average differs from run to
// run with the race detector, because a sync.Pool then forgets at random.
func leastAllocs(f func()) float64 {
	least := testing.AllocsPerRun(1, f)
	for range 99 {
		least = min(least, testing.AllocsPerRun(1, f)) // calls f twice
	}
	return least
}
