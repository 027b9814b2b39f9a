// Package hook carries out on blocks: it selects events and stores them for delivery by webhooks.
package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"hatchel/hcl"
	"hatchel/hcl/eventkind"
	"hatchel/hcl/value"
	"hatchel/runtime/durable/webhook"
	"hatchel/runtime/observe/event"
	"hatchel/runtime/observe/metrics"
)

// Hook is an on block of a generation. It implements event.Hook, and its methods may be called
// concurrently.
type Hook struct {
	decl   *hcl.Hook
	env    Env
	series webhook.Series
	tools  map[string]bool // whose events are sent; nil for all events
	logged atomic.Bool     // a failure of the condition was logged
}

// Env is the environment that the hooks of a generation share.
type Env struct {
	Queue   *Queue
	Tools   []*hcl.Tool
	Dir     string           // absolute path of the configuration directory
	Now     func() time.Time // clock of conditions
	Log     *slog.Logger
	Scrub   func(string) string // removes secrets from a text for the log
	Metrics *metrics.Metrics    // nil where nothing is measured
}

// New returns the hook of an on block.
func New(decl *hcl.Hook, env Env) *Hook {
	h := &Hook{decl: decl, env: env, series: webhook.Series{Name: "on-" + decl.ID, Interval: decl.Limit.Every()}}
	env.Metrics.AddHook(decl.Event.String())
	if len(decl.Tools) == 0 {
		return h
	}
	h.tools = map[string]bool{}
	for _, t := range env.Tools {
		if decl.AppliesToTool(t.Name) {
			h.tools[t.Name] = true
		}
	}
	return h
}

// Kinds implements event.Hook.
func (h *Hook) Kinds() eventkind.Set { return eventkind.Of(h.decl.Event) }

// AppliesTo implements event.Hook.
func (h *Hook) AppliesTo(operation, name string) bool {
	return h.tools == nil || operation == "tool" && h.tools[name]
}

// Webhooks implements event.Hook.
func (h *Hook) Webhooks() []string { return h.decl.Notify }

// durable are the kinds of events that Handle stores before it returns. They end a call or a task, or are about an
// approval, so its answer comes after its event is stored. Handle does not wait for events of other kinds.
var durable = eventkind.Of(eventkind.ToolResult, eventkind.PromptGet, eventkind.ResourceRead,
	eventkind.ApprovalRequested, eventkind.ApprovalDecided, eventkind.TaskFinished)

// maxWait limits how long a call waits for its event to be stored.
const maxWait = 5 * time.Second

// Handle implements event.Hook.
func (h *Hook) Handle(ctx context.Context, m *event.Meta, data []byte) {
	if !h.AppliesTo(m.Operation, m.Name) || !h.holds(ctx, data) {
		return
	}
	id := subjectID(m.Kind, data)
	stored := make([]<-chan struct{}, len(h.decl.Notify))
	for i, name := range h.decl.Notify {
		stored[i] = h.env.Queue.add(name, &h.series, m, id, data, h.env.Log)
	}
	if !durable.Has(m.Kind) {
		return
	}
	timeout := time.NewTimer(maxWait)
	defer timeout.Stop()
	for _, done := range stored {
		select {
		case <-done:
		case <-timeout.C:
			return
		}
	}
}

// subjectID returns the ID of the approval or task that ended with an event. Several processes may publish
// such an event, and it is delivered once. It is empty for other events.
func subjectID(k eventkind.Kind, data []byte) string {
	var e struct {
		Approval struct{ ID string }
		Task     string
	}
	switch k {
	case eventkind.ApprovalDecided:
		json.Unmarshal(data, &e)
		return e.Approval.ID
	case eventkind.TaskFinished:
		json.Unmarshal(data, &e)
	}
	return e.Task
}

// holds reports whether the condition holds for an event. The first failure is logged.
func (h *Hook) holds(ctx context.Context, data []byte) bool {
	if h.decl.When == nil {
		return true
	}
	holds, err := h.evaluate(ctx, data)
	if err == nil {
		return holds
	}
	h.env.Metrics.HookFailed(h.decl.Event.String())
	if at := h.decl.When.Range; !h.logged.Swap(true) {
		h.env.Log.LogAttrs(ctx, slog.LevelError, "condition of a hook failed, its event is not sent",
			slog.String("event", h.decl.Event.String()),
			slog.String("at", fmt.Sprintf("%s:%d", at.File, at.Start.Line)),
			slog.String("error", h.env.Scrub(err.Error())))
	}
	return false
}

func (h *Hook) evaluate(ctx context.Context, data []byte) (bool, error) {
	v, err := value.Decode(data)
	if err != nil {
		return false, err
	}
	// The context of a call that was cancelled has ended, and its event is sent all the same.
	frame := hcl.NewFrame(context.WithoutCancel(ctx), h.env.Dir, h.env.Now)
	frame.Event, _ = v.(map[string]any)
	return h.decl.When.Eval(frame, nil)
}
