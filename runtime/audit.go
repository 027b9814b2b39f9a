package runtime

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"time"

	"hatchel/runtime/audit"
	"hatchel/runtime/elicit"
	"hatchel/runtime/failure"
	"hatchel/runtime/mcp"
	"hatchel/runtime/policy"
)

// auditCall is what the audit log gets to know of one call. A nil entry is that of a call of which nothing is written down.
type auditCall struct {
	log           auditLog
	common        audit.Record // what is the same in every record of the call
	raw           []byte       // the arguments as they came; nil when they were no JSON
	asked         []string     // of the client
	firstStep     int          // the stage that the work began with; -1 before it began
	startRecorded bool         // it was written down that the work begins
}

// beginAudit begins to account for a call, if calls are written down.
func (r *operation) beginAudit(caller *mcp.Caller, meta, raw []byte) *auditCall {
	log := r.generation.audit
	if log == nil {
		return nil
	}
	common := r.generation.auditRecord(caller, meta)
	common.ID, common.Kind, common.Name = rand.Text(), r.kind, r.decl.Name
	return &auditCall{log: log, common: common, raw: raw, firstStep: -1}
}

// auditRecord is what is written down of every request of a caller.
func (g *Generation) auditRecord(caller *mcp.Caller, meta []byte) audit.Record {
	return audit.Record{Event: audit.EventCall, Caller: g.auditedCaller(caller), Revision: g.Config.ID, Trace: traceOf(caller.Header, meta)}
}

// auditError is a call that is not made, because it cannot be written down.
type auditError struct{ cause error }

func (u *auditError) Error() string {
	return "This was not done. The server writes every call down, cannot do that at the moment, and makes no call that it cannot write down. The server's log has the reason."
}

func (u *auditError) Failure() *failure.Failure {
	return &failure.Failure{Message: u.Error(), Refused: true, Unrecorded: true, Cause: u.cause, ID: failure.NewID()}
}

// recordStart writes down that the work of the call begins, if it may change something. With an error it must not begin.
func (c *call) recordStart() error {
	e := c.audit
	if e == nil {
		return nil
	}
	e.firstStep = c.nextStep
	if c.operation.hasEffects && c.taskStage != c.nextStep+1 { // a task says so itself
		r := e.common
		r.Time, r.Event = time.Now(), audit.EventIntent
		r.Approval = c.approval.auditRecord()
		c.addDecision(&r)
		c.addArguments(&r)
		if err := e.log.Append(&r, true); err != nil {
			e.firstStep = -1
			return &auditError{err}
		}
		e.startRecorded = true
	}
	return nil
}

// unrecordedFailure is what is told instead of an answer that cannot be written down.
func (e *auditCall) unrecordedFailure(cause error) *failure.Failure {
	f := failure.Of(&auditError{cause})
	f.Message = "The answer is withheld. The server writes every call down, and cannot do that at the moment. The server's log has the reason."
	if e.startRecorded {
		f.Message = "The call did its work, but what came of it cannot be written down at the moment, so the answer is withheld. Do not call again for the same work. The server's log has the reason."
	}
	return f
}

// recordEnd writes down what the call came to, and returns what it comes to with that: failed, or that it could not be written down. Outcome says what it came to when that is
// neither an answer nor a failure.
func (c *call) recordEnd(ctx context.Context, failed *failure.Failure, outcome string) *failure.Failure {
	e := c.audit
	if e == nil {
		return failed
	}
	r := e.common
	r.Time, r.Outcome, r.Asked = time.Now(), outcome, e.asked
	r.Duration, r.Approval, r.Replayed = millisecondsSince(c.started), c.approval.auditRecord(), c.replayedFrom
	c.addDecision(&r)
	if !e.startRecorded {
		c.addArguments(&r)
	}
	if e.firstStep >= 0 {
		r.Steps = c.stepsRun(outcome)
	}
	switch {
	case failed != nil:
		r.Outcome = c.outcomeOf(ctx, failed)
		r.Message, r.Error = c.hideInputs(failed.Message), failed.ID
	case outcome == "":
		r.Outcome = audit.OK
		r.Rows, r.Bytes = c.result.Rows(), c.result.Size()
	}
	err := e.log.Append(&r, false)
	switch {
	case err == nil:
		return failed
	case failed == nil && outcome != audit.Task: // a task has begun, and goes on
		return e.unrecordedFailure(err)
	}
	c.operation.generation.logAuditFailure(ctx, err)
	return failed
}

// logAuditFailure says in the log that a record is missing.
func (g *Generation) logAuditFailure(ctx context.Context, err error) {
	g.log().LogAttrs(ctx, slog.LevelError, "the audit log cannot be written to", slog.String("error", err.Error()))
}

// outcomeOf is what a call that has failed came to.
func (c *call) outcomeOf(ctx context.Context, failed *failure.Failure) string {
	switch {
	case ctx.Err() != nil || c.stopCtx.Err() != nil:
		return audit.Cancelled
	case failed.Protocol != nil && c.audit.firstStep >= 0:
		return audit.Fault
	case failed.Refused:
		return audit.Refused
	}
	return audit.Failed
}

// addDecision puts into a record which rule decided about the call. Where nothing is declared that decides, everybody may call.
func (c *call) addDecision(r *audit.Record) {
	r.Decision, r.Rule = string(c.decision.Verdict), c.decision.Rule
	if c.decision.Verdict == policy.Undecided && (c.audit.firstStep >= 0 || c.replayedFrom != "") {
		r.Decision, r.Rule = string(policy.Allowed), "default"
	}
}

// stepsRun are the steps of the call that were run, in this part of it.
func (c *call) stepsRun(outcome string) []string {
	stages := c.operation.steps
	var names []string
	for i := c.audit.firstStep; i < len(stages) && i <= c.nextStep; i++ {
		s := stages[i].decl
		over := i < c.nextStep
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

// interimOutcome is what a call came to that goes on later.
func interimOutcome(unfinished error) string {
	if errors.As(unfinished, new(*elicit.PausedError)) {
		return audit.Asked
	}
	return audit.Task
}

// addQuestions notes what the client was asked.
func (e *auditCall) addQuestions(questions []mcp.Question) {
	if e == nil {
		return
	}
	for _, q := range questions {
		e.asked = append(e.asked, q.Key)
	}
}
