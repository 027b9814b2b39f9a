// Package adaptertest holds what every adapter must keep, as tests. Bind brings a configuration to life the way a server does; Run checks the promises
// of the contract against it: calls end when their context does, run at once without disturbing each other, leave what they were given as it was, clean
// up exactly once, and say nothing in a fault that a model must not read.
package adaptertest

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
)

// A Source is a configuration of one tool with one backend block, without steps.
type Source struct {
	Set adapters.Set
	HCL string            // the configuration
	Dir string            // its folder, for relative paths; a new one when empty
	Env map[string]string // the environment that variables and secrets are read from
}

// Bound is a tool whose backend is ready to be called.
type Bound struct {
	Tool   *hcl.Tool
	Action adapters.Action
	Dir    string
	Log    *Log

	handles  map[*hcl.Connection]any
	cleanups []func() error
}

// Bind loads a source and binds its tool. Diagnostics and bind errors end the test. What was opened is closed at the end of the test, or by Close before.
func Bind(t testing.TB, s Source) *Bound {
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

// Refusal loads a source that must be refused, when it is loaded or when it is bound, and returns what the author is told.
func Refusal(t testing.TB, s Source) string {
	t.Helper()
	b, err := bind(t, s)
	if err == nil {
		_ = b.Close()
		t.Fatal("the configuration was accepted")
	}
	return err.Error()
}

func bind(t testing.TB, s Source) (*Bound, error) {
	t.Helper()
	if s.Dir == "" {
		s.Dir = t.TempDir()
	}
	cfg, diags := hcl.Load(fstest.MapFS{"main.hcl": {Data: []byte(s.HCL)}}, s.Set.Kinds(), s.options())
	if diags.HasErrors() {
		return nil, rendered(diags)
	}
	b := &Bound{Dir: s.Dir, Log: &Log{}, Tool: cfg.Tools[0], handles: map[*hcl.Connection]any{}}
	backend := b.Tool.Steps[0].Backend
	for _, conn := range cfg.Connections {
		connector, ok := s.Set.Connector(conn.Kind)
		if !ok {
			return nil, fmt.Errorf("the set has no connector %q", conn.Kind)
		}
		handle, err := connector.Open(t.Context(), conn, b.env(nil))
		if err != nil {
			return nil, b.abandon(err)
		}
		b.handles[conn] = handle
	}
	adapter, ok := s.Set.Adapter(backend.Kind)
	if !ok {
		return nil, fmt.Errorf("the set has no adapter %q", backend.Kind)
	}
	action, err := adapter.Bind(t.Context(), backend, b.env(b.handles[backend.Connection]))
	if err != nil {
		return nil, b.abandon(rendered(backend.Diagnose(err)))
	}
	b.Action = action
	return b, nil
}

func (s Source) options() hcl.Options {
	return hcl.Options{
		Getenv:     func(name string) (string, bool) { v, ok := s.Env[name]; return v, ok },
		ReadSecret: os.ReadFile,
	}
}

func (b *Bound) env(handle any) adapters.Env {
	return adapters.Env{
		Dir:        b.Dir,
		Connection: handle,
		Log:        slog.New(slog.NewTextHandler(b.Log, nil)),
		Version:    "test",
		Defer:      func(f func() error) { b.cleanups = append(b.cleanups, f) },
	}
}

func (b *Bound) abandon(err error) error {
	if undone := b.Close(); undone != nil {
		return fmt.Errorf("%w; then, cleaning up: %v", err, undone)
	}
	return err
}

// Close retires what was bound, newest first. A second Close does nothing.
func (b *Bound) Close() error {
	var failed []string
	for i := len(b.cleanups) - 1; i >= 0; i-- {
		if err := b.cleanups[i](); err != nil {
			failed = append(failed, err.Error())
		}
	}
	b.cleanups = nil
	if failed != nil {
		return fmt.Errorf("%s", strings.Join(failed, "; "))
	}
	return nil
}

// Handle is what the connection of that name was opened to.
func (b *Bound) Handle(name string) any {
	for conn, handle := range b.handles {
		if conn.Name == name {
			return handle
		}
	}
	return nil
}

// Call makes a call with arguments written as JSON. Arguments that the tool refuses are an error here: they never reach an adapter.
func (b *Bound) Call(ctx context.Context, arguments string) (*adapters.Call, error) {
	input, violations := b.Tool.Validator.Arguments([]byte(arguments))
	if len(violations) > 0 {
		return nil, fmt.Errorf("the arguments %s are refused: %v", arguments, violations)
	}
	frame := hcl.NewFrame(ctx, b.Dir, time.Now)
	frame.Input = input
	return &adapters.Call{Frame: frame, Accept: func(any) error { return nil }, Client: adapters.Nobody{}}, nil
}

// Do makes one call with arguments written as JSON and returns its output.
func (b *Bound) Do(ctx context.Context, arguments string) (map[string]any, error) {
	call, err := b.Call(ctx, arguments)
	if err != nil {
		return nil, err
	}
	res, err := b.Action.Do(ctx, call)
	if err != nil {
		return nil, err
	}
	out, ok := res.Value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the output is a %T, not an object", res.Value)
	}
	return out, nil
}

// Plan says what a call would send.
func (b *Bound) Plan(ctx context.Context, arguments string) (string, error) {
	call, err := b.Call(ctx, arguments)
	if err != nil {
		return "", err
	}
	planner, ok := b.Action.(adapters.Planner)
	if !ok {
		return "", fmt.Errorf("%T plans nothing", b.Action)
	}
	return planner.Plan(call)
}

func rendered(diags hcl.Diagnostics) error {
	var lines []string
	for _, d := range diags {
		if d.Severity == hcl.Error {
			lines = append(lines, fmt.Sprintf("%s:%d:%d: %s: %s", d.Subject.File, d.Subject.Start.Line, d.Subject.Start.Column, d.Summary, d.Detail))
		}
	}
	return fmt.Errorf("%s", strings.Join(lines, "\n"))
}

// Log keeps what an adapter logs.
type Log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// String is everything that was logged.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
