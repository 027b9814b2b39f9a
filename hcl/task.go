package hcl

import (
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Task says that calls of a tool may go on after their first answer, where the client can follow that.
type Task struct {
	Required bool          // a client that cannot follow tasks is refused
	TTL      time.Duration // for which the result is kept once there is one
	After    string        // the step after which the call becomes a task; empty when it is one from the beginning
}

const defaultTTL = time.Hour

// A taskBlock is a task block being decoded.
type taskBlock struct {
	Mode  string
	TTL   time.Duration
	After string
}

func (t *taskBlock) spec() Spec {
	return Spec{
		choice(&t.Mode, "mode", `"optional": a client that cannot follow tasks waits for the result. "required": it is refused.`, "optional", "required").Or("optional"),
		lasting(&t.TTL, "ttl", "How long what a task is doing, and its result, are kept after it was made.", "A task that is kept for no time cannot be asked about. Write how long, as in \"10m\".").Or("1h"),
		Attr(&t.After, "after", "The step after which a call becomes a task. Without it a call is a task at once."),
	}
}

// taskField declares that calls become tasks.
func (t *toolDecl) taskField() Field {
	return Field{Name: "task", Doc: "Calls become tasks where the client can follow them: it is told at once that the work has begun, and asks for the result.", nested: func() Spec { return (&taskBlock{}).spec() }, block: t.task}
}

func (t *toolDecl) task(d *decoder, b *hclsyntax.Block) {
	raw := taskBlock{TTL: defaultTTL}
	d.body(b.Body, raw.spec(), b.DefRange())
	t.tool.Task = &Task{Required: raw.Mode == "required", TTL: raw.TTL, After: raw.After}
	if raw.After == "" {
		return
	}
	r := b.Body.Attributes["after"].Expr.Range()
	if t.results[raw.After] == nil {
		names := sortedNames(t.results)
		why := suggestOr(raw.After, names, thereAre(names))
		if len(names) == 0 {
			why = " The tool has no steps: without `after` a call is a task at once."
		}
		d.errorf(r, "Unknown step", "There is no step %q in this tool.%s", raw.After, why)
	}
}
