package hcl

import (
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
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
		decode.BoolChoice(&t.Required, "mode",
			`"optional": a client that does not support tasks waits for the result. "required": its calls `+
				`are rejected.`, "optional", "required").DefaultDoc("optional"),
		decode.PositiveDuration(&t.TTL, "ttl",
			"How long a task and its result are kept after its creation.").DefaultDoc("1h"),
		webhooksField(&t.Notify, "notify",
			"The webhooks that are notified when a task has ended, with task.finished: its status, and its "+
				"result up to 64 KiB.").RenamedFrom("callback"),
		decode.Attr(&t.After, "after",
			"The step after which a call becomes a task. By default a call becomes a task at once."),
	}
}

// taskField declares the task block.
func (t *toolDecoder) taskField() decode.Field {
	return decode.Field{Name: "task",
		Doc: "Turns calls of clients that support tasks into tasks: the client receives a task at once and " +
			"asks for the result " +
			"later.", NestedSpec: func() decode.Spec { return (&Task{}).spec() }, DecodeBlock: t.decodeTask}
}

func (t *toolDecoder) decodeTask(d *decode.Decoder, b *hclsyntax.Block) {
	task := &Task{}
	t.tool.Task = task
	d.Body(b.Body, task.spec(), b.DefRange())
	if task.After == "" || t.results[task.After] != nil {
		return
	}
	names := diag.SortedNames(t.results)
	why := diag.SuggestOr(task.After, names, diag.ListAre(names))
	if len(names) == 0 {
		why = " The tool has no steps: without `after` a call becomes a task at once."
	}
	d.Errorf(b.Body.Attributes["after"].Expr.Range(), "Unknown step", "There is no step %q in this tool.%s",
		task.After, why)
}
