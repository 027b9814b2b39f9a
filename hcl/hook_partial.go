package hcl

import (
	"strconv"
	"strings"
	"time"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/eventkind"
)

// warnOfPartial warns of a hook whose condition holds for failures and not for an event of the outcome partial, of
// which it says nothing, if an operation that it is about can fail in part.
func (l *loader) warnOfPartial(d *decode.Decoder, h *Hook) {
	if h.When == nil || h.When.Type() == nil || strings.Contains(h.When.Source(), "partial") {
		return
	}
	var missed []string
	for _, name := range l.partialOperations(h) {
		if h.missesPartial(name) {
			missed = append(missed, strconv.Quote(name))
		}
	}
	if len(missed) == 0 {
		return
	}
	d.Diags.Warnf(h.When.Range, "Failures not seen", "A call of %s can fail in part, because of on_error = "+
		"\"continue\". The outcome of its event is partial then, for which this does not hold. Write event.outcome in "+
		"['failed', 'partial'].", diag.JoinOr(missed))
}

// partialOperations returns the names of the operations with events of the hook that can fail in part.
func (l *loader) partialOperations(h *Hook) (names []string) {
	add := func(op *Operation) {
		if op.failsInPart() && h.AppliesToTool(op.Name) {
			names = append(names, op.Name)
		}
	}
	switch h.Event {
	case eventkind.ToolResult, eventkind.ToolStep:
		for _, t := range l.config.Tools {
			add(&t.Operation)
		}
	case eventkind.PromptGet:
		for _, p := range l.config.Prompts {
			add(&p.Operation)
		}
	case eventkind.ResourceRead:
		for _, r := range l.config.Resources {
			add(&r.Operation)
		}
	}
	return names
}

// failsInPart reports whether a call of the operation can go on after a failure of a step, or of a step of a tool that
// it calls. Tools do not call each other in a circle.
func (o *Operation) failsInPart() bool {
	for _, s := range o.Steps {
		if s.ContinueOnError {
			return true
		}
		if t, ok := s.Backend.Config.(*ToolCall); ok && t.Tool != nil && t.Tool.failsInPart() {
			return true
		}
	}
	return false
}

// missesPartial reports whether the condition holds for an event about a failure, and not for one that differs in the
// outcome alone.
func (h *Hook) missesPartial(name string) bool {
	declared := h.Event.Declare()
	holds := func(outcome string, ms float64) bool {
		event := map[string]any{"type": h.Event.String()}
		for _, f := range declared.Fields {
			switch f.Type {
			case "string":
				event[f.Name] = f.Name
			case "integer":
				event[f.Name] = 1
			}
		}
		event["outcome"], event["ms"] = outcome, ms
		for _, operation := range []string{"tool", "prompt", "resource"} {
			if _, ok := declared.Find(operation); ok {
				event[operation] = name
			}
		}
		frame := eval.NewLoadFrame("", time.Now)
		frame.Event = event
		ok, err := h.When.Eval(frame, nil)
		return ok && err == nil
	}
	for _, ms := range []float64{0, 1e9} {
		if holds("failed", ms) && !holds("partial", ms) {
			return true
		}
	}
	return false
}
