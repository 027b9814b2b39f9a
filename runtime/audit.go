package runtime

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"time"

	"hatchel/hcl/value"
	"hatchel/runtime/audit"
	"hatchel/runtime/mcp"
)

// entry is what the audit log gets to know of one call. A nil entry is that of a call of which nothing is written down.
type entry struct {
	log    recorder
	common audit.Record // what is the same in every record of the call
	raw    []byte       // the arguments as they came; nil when they were no JSON
	asked  []string     // of the client
	from   int          // the stage that the work began with; -1 before it began
	intent bool         // it was written down that the work begins
}

// audited begins to account for a call, if calls are written down.
func (r *routine) audited(caller *mcp.Caller, meta, raw []byte) *entry {
	log := r.generation.audit
	if log == nil {
		return nil
	}
	common := r.generation.common(caller, meta)
	common.ID, common.Kind, common.Name = rand.Text(), r.noun, r.decl.Name
	return &entry{log: log, common: common, raw: raw, from: -1}
}

// common is what is written down of every request of a caller.
func (g *Generation) common(caller *mcp.Caller, meta []byte) audit.Record {
	return audit.Record{Event: audit.EventCall, Caller: g.auditedCaller(caller), Revision: g.Config.ID, Trace: traceOf(caller.Header, meta)}
}

// unrecorded is a call that is not made, because it cannot be written down.
type unrecorded struct{ cause error }

func (u *unrecorded) Error() string {
	return "This was not done. The server writes every call down, cannot do that at the moment, and makes no call that it cannot write down. The server's log has the reason."
}

// intend writes down that the work of the call begins, if it may change something. With an error it must not begin.
func (c *call) intend() error {
	e := c.entry
	if e == nil {
		return nil
	}
	e.from = c.at
	if c.routine.effects && c.becomes != c.at+1 { // a task says so itself
		r := e.common
		r.Time, r.Event = time.Now(), audit.EventIntent
		r.Approval = c.consent.approved()
		c.decided(&r)
		c.arguments(&r)
		if err := e.log.Append(&r, true); err != nil {
			e.from = -1
			return &unrecorded{err}
		}
		e.intent = true
	}
	return nil
}

// withheld is what is told instead of an answer that cannot be written down.
func (e *entry) withheld(cause error) *failure {
	f := failureOf(&unrecorded{cause})
	f.message = "The answer is withheld. The server writes every call down, and cannot do that at the moment. The server's log has the reason."
	if e.intent {
		f.message = "The call did its work, but what came of it cannot be written down at the moment, so the answer is withheld. Do not call again for the same work. The server's log has the reason."
	}
	return f
}

// written writes down what the call came to, and returns what it comes to with that: failed, or that it could not be written down. Outcome says what it came to when that is
// neither an answer nor a failure.
func (c *call) written(ctx context.Context, failed *failure, outcome string) *failure {
	e := c.entry
	if e == nil {
		return failed
	}
	r := e.common
	r.Time, r.Outcome, r.Asked = time.Now(), outcome, e.asked
	r.Duration, r.Approval, r.Replayed = milliseconds(c.began), c.consent.approved(), c.replayed
	c.decided(&r)
	if !e.intent {
		c.arguments(&r)
	}
	if e.from >= 0 {
		r.Steps = c.ran(outcome)
	}
	switch {
	case failed != nil:
		r.Outcome = c.outcomeOf(ctx, failed)
		r.Message, r.Error = c.withoutInputs(failed.message), failed.id
	case outcome == "":
		r.Outcome = audit.OK
		r.Rows, r.Bytes = rowsOf(c.answer.value), len(c.reply.result)+len(c.reply.text)+len(c.reply.blocks)
	}
	err := e.log.Append(&r, false)
	switch {
	case err == nil:
		return failed
	case failed == nil && outcome != audit.Task: // a task has begun, and goes on
		return e.withheld(err)
	}
	c.routine.generation.unwritten(ctx, err)
	return failed
}

// unwritten says in the log that a record is missing.
func (g *Generation) unwritten(ctx context.Context, err error) {
	g.log().LogAttrs(ctx, slog.LevelError, "the audit log cannot be written to", slog.String("error", err.Error()))
}

// outcomeOf is what a call that has failed came to.
func (c *call) outcomeOf(ctx context.Context, failed *failure) string {
	switch {
	case ctx.Err() != nil || c.ends.Err() != nil:
		return audit.Cancelled
	case failed.protocol != nil && c.entry.from >= 0:
		return audit.Fault
	case failed.refused:
		return audit.Refused
	}
	return audit.Failed
}

// decided puts into a record which rule decided about the call. Where nothing is declared that decides, everybody may call.
func (c *call) decided(r *audit.Record) {
	r.Decision, r.Rule = string(c.decision.verdict), c.decision.rule
	if c.decision.verdict == undecided && (c.entry.from >= 0 || c.replayed != "") {
		r.Decision, r.Rule = string(allowed), "default"
	}
}

// ran are the steps of the call that were run, in this part of it.
func (c *call) ran(outcome string) []string {
	stages := c.routine.stages
	var names []string
	for i := c.entry.from; i < len(stages) && i <= c.at; i++ {
		s := stages[i].step
		over := i < c.at
		switch {
		case !over && outcome == audit.Task, over && s.When != nil && c.frame.Steps[s.Name] == nil:
		case s.Name == "":
			names = append(names, s.Backend.Kind)
		default:
			names = append(names, s.Name)
		}
	}
	return names
}

// interimOf is what a call came to that goes on later.
func interimOf(unfinished error) string {
	if errors.As(unfinished, new(*paused)) {
		return audit.Asked
	}
	return audit.Task
}

// asks notes what the client was asked.
func (e *entry) asks(questions []mcp.Question) {
	if e == nil {
		return
	}
	for _, q := range questions {
		e.asked = append(e.asked, q.Key)
	}
}

// rowsOf is how many rows a result has; 0 for what is no list.
func rowsOf(v any) int {
	switch v := v.(type) {
	case []any:
		return len(v)
	case interface{ Len() int }:
		return v.Len()
	case value.Deferred:
		if list, err := v.Value(); err == nil {
			rows, _ := list.([]any)
			return len(rows)
		}
	}
	return 0
}
