package hcl

import (
	"time"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
)

// Task is the task block: calls of clients that support tasks become tasks.
type Task struct {
	Required bool          // calls of clients without support for tasks are rejected
	TTL      time.Duration // how long the task and its result are kept
	Notify   []string      // the webhooks to notify when a task has ended
	After    string        // the step after which the call becomes a task; empty for at once
}

// DefaultTaskTTL is the default TTL of a task.
const DefaultTaskTTL = time.Hour

func (t *Task) spec() decode.Spec {
	t.TTL = DefaultTaskTTL
	return decode.Spec{
		decode.BoolChoice(&t.Required, "mode", `"optional": a client that does not support tasks waits for the `+
			`result. "required": its calls are rejected.`, "optional", "required").DefaultDoc("optional"),
		decode.PositiveDuration(&t.TTL, "ttl",
			"How long a task and its result are kept after its creation.").DefaultDoc("1h"),
		webhooksField(&t.Notify, "notify", "The webhooks that are notified when a task has ended, with "+
			"task.finished: its status, and its result up to 64 KiB.").RenamedFrom("callback"),
		decode.Attr(&t.After, "after",
			"The step after which a call becomes a task. By default a call becomes a task at once."),
	}
}

// taskField declares the task block.
func (t *toolDecoder) taskField() decode.Field {
	return decode.Block(&t.tool.Task, "task", "Turns calls of clients that support tasks into tasks: the client "+
		"receives a task at once and asks for the result later.", (*Task).spec)
}

// checkTask checks the step after which a call becomes a task.
func (t *toolDecoder) checkTask() {
	if t.tool.Task == nil || t.tool.Task.After == "" {
		return
	}
	if t.results[t.tool.Task.After] != nil {
		written := decode.FindBlock(t.block.Body, "task").Body.Attributes["after"]
		t.dec.NoteReference(eval.Reference{At: diag.RangeOf(written.Expr.Range()), Kind: "step",
			Name: t.tool.Task.After, Local: true})
		return
	}
	after := t.tool.Task.After
	names := diag.SortedNames(t.results)
	why := diag.SuggestOr(after, names, diag.ListAre(names))
	if len(names) == 0 {
		why = why.Says(" The tool has no steps: without `after` a call becomes a task at once.")
	}
	written := decode.FindBlock(t.block.Body, "task").Body.Attributes["after"]
	t.dec.Errorf(written.Expr.Range(), "Unknown step", "There is no step %q in this tool.%s", after, why)
}
