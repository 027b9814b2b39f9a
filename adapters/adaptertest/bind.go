// Package adaptertest tests adapters. Bind binds a configuration as a server does. Run checks the promises
// of the contract: calls end when their context ends, run concurrently, do not modify what they receive,
// clean up exactly once, and put nothing into a fault that a model must not read.
package adaptertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/schema"
)

// Source is a configuration of one tool with one backend block, without steps.
type Source struct {
	Set adapters.Set
	HCL string            // the configuration
	Dir string            // the configuration directory; a new one if empty
	Env map[string]string // the environment that variables and secrets are read from
	// Files are other files of the configuration directory, by name.
	Files map[string]string
	// Mocks answer in place of what is outside of the process; nil for the real thing.
	Mocks adapters.Mocks
}

// BoundTool is a tool whose backend can be called.
type BoundTool struct {
	Tool   *hcl.Tool
	Action adapters.Action
	Dir    string
	Log    *Log
	Caller hcl.CallerMembers // who makes the calls; nil for nobody
	// Warnings are what was reported with Env.Warn: a summary and a detail.
	Warnings []string

	set      adapters.Set
	tools    []*hcl.Tool // of the configuration
	mocks    adapters.Mocks
	handles  map[*hcl.Connection]any
	cleanups []func() error
}

// Bind loads a source and binds its tool. It ends the test if that fails. The tool is closed at the end of
// the test, unless Close was called before.
func Bind(t testing.TB, s Source) *BoundTool {
	t.Helper()
	b, err := bind(t, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("cleaning up: %v", err)
		}
	})
	return b
}

// MustReject loads and binds a source that must be rejected, and returns the diagnostics.
func MustReject(t testing.TB, s Source) string {
	t.Helper()
	b, err := bind(t, s)
	if err == nil {
		_ = b.Close()
		t.Fatal("the configuration was accepted")
	}
	return err.Error()
}

func bind(t testing.TB, s Source) (*BoundTool, error) {
	t.Helper()
	if s.Dir == "" {
		s.Dir = t.TempDir()
	}
	files := fstest.MapFS{"main.hcl": {Data: []byte(s.HCL)}}
	for name, content := range s.Files {
		files[name] = &fstest.MapFile{Data: []byte(content)}
	}
	cfg, diags := hcl.Load(files, s.Set.Kinds(), s.options())
	if diags.HasErrors() {
		return nil, toError(diags)
	}
	b := &BoundTool{Dir: s.Dir, Log: &Log{}, Tool: cfg.Tools[0], mocks: s.Mocks, handles: map[*hcl.Connection]any{}}
	b.set, b.tools = s.Set, cfg.Tools
	for _, conn := range cfg.Connections {
		connector, ok := s.Set.Connector(conn.Kind)
		if !ok {
			return nil, fmt.Errorf("the set has no connector %q", conn.Kind)
		}
		handle, err := connector.Open(t.Context(), conn, b.env(nil))
		if err != nil {
			return nil, errors.Join(err, b.Close())
		}
		b.handles[conn] = handle
	}
	if err := b.bindAction(t); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// bindAction binds the backend of the tool.
func (b *BoundTool) bindAction(t testing.TB) error {
	backend := b.Tool.Steps[0].Backend
	adapter, ok := b.set.Adapter(backend.Kind)
	if !ok {
		return fmt.Errorf("the set has no adapter %q", backend.Kind)
	}
	action, err := adapter.Bind(t.Context(), backend, b.env(b.handles[backend.Connection]))
	if err != nil {
		return toError(backend.Diagnose(err))
	}
	b.Action = action
	return nil
}

// Other returns another tool of the configuration, which uses the same connections and is closed with this one.
func (b *BoundTool) Other(t testing.TB, name string) *BoundTool {
	t.Helper()
	for _, tool := range b.tools {
		if tool.Name != name {
			continue
		}
		other := *b
		other.Tool, other.cleanups = tool, nil
		if err := other.bindAction(t); err != nil {
			t.Fatal(err)
		}
		b.cleanups = append(b.cleanups, other.cleanups...)
		return &other
	}
	t.Fatalf("there is no tool %q", name)
	return nil
}

// As returns the tool as a caller uses it.
func (b *BoundTool) As(caller hcl.CallerMembers) *BoundTool {
	as := *b
	as.Caller, as.cleanups = caller, nil
	return &as
}

func (s Source) options() hcl.Options {
	return hcl.Options{
		Dir:        s.Dir,
		Getenv:     func(name string) (string, bool) { v, ok := s.Env[name]; return v, ok },
		ReadSecret: os.ReadFile,
	}
}

func (b *BoundTool) env(handle any) adapters.Env {
	return adapters.Env{
		Dir:        b.Dir,
		Connection: handle,
		Mocks:      b.mocks,
		Log:        slog.New(slog.NewTextHandler(b.Log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Version:    "test",
		ReadOnly:   b.Tool.ReadOnly, Idempotent: b.Tool.ReadOnly || b.Tool.Idempotent,
		Warn: func(_ any, summary, detail string) {
			b.Warnings = append(b.Warnings, summary+": "+detail)
		},
		Defer: func(f func() error) { b.cleanups = append(b.cleanups, f) },
	}
}

// Close runs the cleanups in reverse order. A second Close does nothing.
func (b *BoundTool) Close() error {
	var errs []error
	for _, cleanup := range slices.Backward(b.cleanups) {
		errs = append(errs, cleanup())
	}
	b.cleanups = nil
	return errors.Join(errs...)
}

// Handle returns the handle of a connection by its name.
func (b *BoundTool) Handle(name string) any {
	for conn, handle := range b.handles {
		if conn.Name == name {
			return handle
		}
	}
	return nil
}

// Call returns a call with JSON arguments. It fails if the tool rejects the arguments, because such a call
// never reaches an adapter.
func (b *BoundTool) Call(ctx context.Context, arguments string) (*adapters.Call, error) {
	input, violations, _ := b.Tool.Validator.Arguments([]byte(arguments), schema.Unlimited)
	if len(violations) > 0 {
		return nil, fmt.Errorf("the arguments %s are rejected: %v", arguments, violations)
	}
	frame := hcl.NewFrame(ctx, b.Dir, time.Now)
	frame.Input = input
	if b.Caller != nil {
		frame.Caller = b.Caller
	}
	accept := func(any) error { return nil }
	backend := b.Tool.Steps[0].Backend
	return &adapters.Call{Frame: frame, CheckOutput: accept, Whole: backend.Whole, Delivered: backend.Delivered,
		Client: adapters.NopClient{}}, nil
}

// Do makes one call with JSON arguments and returns its output.
func (b *BoundTool) Do(ctx context.Context, arguments string) (map[string]any, error) {
	call, err := b.Call(ctx, arguments)
	if err != nil {
		return nil, err
	}
	res, err := b.Action.Do(ctx, call)
	if err != nil {
		return nil, err
	}
	out, ok := res.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the output is a %T, not an object", res)
	}
	return out, nil
}

// Plan returns the text of Effects.
func (b *BoundTool) Plan(ctx context.Context, arguments string) (string, error) {
	effects, err := b.Effects(ctx, arguments)
	return adapters.RenderEffects(effects), err
}

// Effects returns the plan of a call with JSON arguments.
func (b *BoundTool) Effects(ctx context.Context, arguments string) ([]adapters.Effect, error) {
	call, err := b.Call(ctx, arguments)
	if err != nil {
		return nil, err
	}
	planner, ok := b.Action.(adapters.Planner)
	if !ok {
		return nil, fmt.Errorf("%T is not a Planner", b.Action)
	}
	return planner.Plan(call)
}

func toError(diags hcl.Diagnostics) error {
	var lines []string
	for _, d := range diags {
		if d.Severity == hcl.Error {
			at := fmt.Sprintf("%s:%d:%d", d.Subject.File, d.Subject.Start.Line, d.Subject.Start.Column)
			lines = append(lines, at+": "+d.Summary+": "+d.Detail)
		}
	}
	return errors.New(strings.Join(lines, "\n"))
}

// Log records what an adapter logs.
type Log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// String returns everything that was logged.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
