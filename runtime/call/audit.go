package call

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"strings"
	"unicode/utf8"

	"hatchel/hcl"
	"hatchel/runtime/audit"
	"hatchel/runtime/elicit"
	"hatchel/runtime/failure"
	"hatchel/runtime/files"
	"hatchel/runtime/mcp"
	"hatchel/runtime/policy"
	"hatchel/runtime/result"
)

// auditCall is what is recorded of one call. Nil records nothing.
type auditCall struct {
	log           Audit
	common        audit.Common // what all records of the call have
	questions     []string     // to the client
	startRecorded bool
}

// beginAudit begins to record a call; nil where calls are not recorded.
func (o *Operation) beginAudit(caller *mcp.Caller) *auditCall {
	log := o.Env.Audit
	if log == nil {
		return nil
	}
	common := o.Env.auditCommon(caller, nil)
	common.ID, common.Kind, common.Name = rand.Text(), o.Kind, o.Decl.Name
	return &auditCall{log: log, common: common}
}

// auditError is a call that is not made, because it cannot be recorded.
type auditError struct {
	cause error
	acted bool // the call has done something before, which its failure says
}

func (e *auditError) Error() string {
	nothing := "Nothing was done. "
	if e.acted {
		nothing = ""
	}
	return nothing + "This server makes no call that it cannot write to its audit log, and the audit log is " +
		"unavailable at the moment. The server's log has the reason."
}

// Failure implements the interface of package failure.
func (e *auditError) Failure() *failure.Failure {
	return &failure.Failure{Message: e.Error(), Refused: true, Unrecorded: true, Cause: e.cause, ID: failure.NewID()}
}

// unrecordedFailure returns what is answered in place of a result that cannot be recorded.
func (a *auditCall) unrecordedFailure(cause error) *failure.Failure {
	f := failure.Of(&auditError{cause: cause})
	f.Message = "The result is withheld, because the audit log of this server is unavailable at the moment. " +
		"The server's log has the reason."
	if a.startRecorded {
		f.Message = "The call did its work, but its result is withheld, because the audit log of this server is " +
			"unavailable at the moment. Do not call again for the same work. The server's log has the reason."
	}
	return f
}

// addQuestions adds what the client is asked.
func (a *auditCall) addQuestions(questions []mcp.Question) {
	if a == nil {
		return
	}
	for _, q := range questions {
		a.questions = append(a.questions, q.Key)
	}
}

// recordStart records, durably, that the work of a call with effects begins. After an error it must
// not begin.
func (c *call) recordStart() error {
	a := c.audit
	c.progress.began, c.progress.firstStep = true, c.progress.nextStep
	if a == nil {
		return nil
	}
	if !c.operation.hasEffects || c.progress.taskStage == c.progress.nextStep+1 { // a task records its own start
		return nil
	}
	r := audit.NewRecord(audit.EventIntent, a.common)
	r.TraceID, r.Approval = c.traceID(), c.approval.auditRecord()
	c.addDecision(r)
	c.addArguments(r)
	if err := a.log.Append(r, true); err != nil {
		c.progress.began = false
		return &auditError{err, c.mayHaveActed()}
	}
	a.startRecorded = true
	return nil
}

// recordEnd records what the call came to. It returns how the call has failed with that: the given
// failure, or that its result could not be recorded. Interim is the outcome of a call that
// continues later; empty for one that has ended.
func (c *call) recordEnd(ctx context.Context, failed *failure.Failure, interim string) *failure.Failure {
	a := c.audit
	if a == nil {
		return failed
	}
	r := audit.NewRecord(audit.EventCall, a.common)
	r.Outcome, r.Asked, r.TraceID = c.outcome(ctx, failed, interim), a.questions, c.traceID()
	r.Duration, r.Approval = millisecondsSince(c.timing.started), c.approval.auditRecord()
	r.Replayed = c.reuse.replayedFrom
	c.addDecision(r)
	if !a.startRecorded {
		c.addArguments(r)
	}
	if c.progress.began {
		r.Steps = c.stepsRun(interim)
	}
	switch {
	case failed != nil:
		r.Message, r.ErrorID = c.hideInputs(failed.Message), failed.ID
	case interim == "":
		r.Rows, r.Bytes = c.result.Rows(), c.result.Size()
		if f := c.result.Failures; f.Failed > 0 {
			r.Failed, r.Of, r.FailedStep = f.Failed, f.Of, f.Step
			r.FailedKey, r.Message = c.hideInputs(f.Key), c.hideInputs(f.Error)
		}
	}
	err := a.log.Append(r, false)
	switch {
	case err == nil:
		return failed
	case failed == nil && interim != audit.Task: // a task that has begun continues
		return a.unrecordedFailure(err)
	}
	c.operation.Env.LogAuditFailure(ctx, err)
	return failed
}

// LogFailure logs why something has failed, without secrets. Attrs are keys and values.
func (e *Environment) LogFailure(ctx context.Context, level slog.Level, text string, err error, attrs ...any) {
	e.Log.Log(ctx, level, text, append(attrs, "error", e.Scrubber.Text(err.Error()))...)
}

// LogAuditFailure logs that a record is missing in the audit log.
func (e *Environment) LogAuditFailure(ctx context.Context, err error) {
	e.LogFailure(ctx, slog.LevelError, "audit log not writable", err)
}

// outcome returns what the call came to, in the words of the audit log. Interim is the outcome of a
// call that continues later; empty for one that has ended.
func (c *call) outcome(ctx context.Context, failed *failure.Failure, interim string) string {
	switch {
	case failed == nil && interim != "":
		return interim
	case failed == nil && c.result.Failures.Failed > 0:
		return audit.Partial
	case failed == nil:
		return audit.OK
	case ctx.Err() != nil || c.timing.stopCtx.Err() != nil:
		return audit.Cancelled
	case failed.Protocol != nil && c.progress.began:
		return audit.ProtocolError
	case failed.Refused:
		return audit.Refused
	}
	return audit.Failed
}

// interimOutcome returns the outcome of a call that continues later, because it pauses, becomes a
// task or is one already; empty for another one.
func interimOutcome(err error) string {
	switch {
	case err == nil: // the usual case allocates nothing
	case errors.As(err, new(*elicit.PausedError)):
		return audit.Asked
	case err == errBecomesTask || errors.As(err, new(*existingTaskError)):
		return audit.Task
	}
	return ""
}

// addDecision adds to a record which rule has decided. Where no rule is about the call, everybody
// is allowed.
func (c *call) addDecision(r *audit.Record) {
	d := c.access.decision
	r.Decision, r.Rule = string(d.Verdict), d.Rule
	if d.Verdict == policy.Undecided && (c.progress.began || c.reuse.replayedFrom != "") {
		r.Decision, r.Rule = string(policy.Allowed), "default"
	}
}

// stepsRun returns the steps that this part of the call has run.
func (c *call) stepsRun(interim string) (names []string) {
	steps, next := c.operation.Steps, c.progress.nextStep
	for i := c.progress.firstStep; i < len(steps) && i <= next; i++ {
		s := steps[i].Decl
		finished := i < next
		switch {
		case !finished && interim == audit.Task, finished && s.When != nil && c.frame.Steps[s.Name] == nil:
		case s.Name == "":
			names = append(names, s.Backend.Kind)
		default:
			names = append(names, s.Name)
		}
	}
	return names
}

// addArguments adds to a record what the caller has sent. Of large arguments it adds the beginning, the size and a
// digest.
func (c *call) addArguments(r *audit.Record) {
	recorded, _ := c.recordArguments(nil)
	r.Arguments, r.ArgumentsSize, r.ArgumentsDigest = recorded.text, recorded.size, recorded.digest
}

// cutText returns where a text is cut that has more than n bytes.
func cutText(text []byte, n int) int {
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}

// hideInputs returns a text for a log without secrets and without the sensitive inputs of the call.
func (c *call) hideInputs(text string) string {
	if c.operation.hasSensitiveInput {
		texts, ok := c.sensitiveTexts()
		if !ok {
			return withheldText
		}
		for _, s := range texts {
			text = strings.ReplaceAll(text, s, hcl.Hidden)
		}
	}
	return c.operation.Env.ScrubForReader(text)
}

// hideSentInputs is hideInputs for a text that is sent, in which inputs may be encoded.
func (c *call) hideSentInputs(text string) string { return c.sentInputsHider()(text) }

// sentInputsHider returns hideSentInputs for many texts.
func (c *call) sentInputsHider() func(string) string {
	if !c.operation.hasSensitiveInput {
		return c.hideInputs
	}
	texts, ok := c.sensitiveTexts()
	if !ok {
		return func(string) string { return withheldText }
	}
	encoded := result.NewScrubber(texts)
	return func(text string) string { return c.hideInputs(encoded.Text(text)) }
}

// ScrubForReader returns a text for readers of a log, or approvers: without secrets and without
// signed URLs.
func (e *Environment) ScrubForReader(text string) string {
	return string(e.removeSignatures([]byte(e.Scrubber.Text(text))))
}

// removeSignatures makes the signed URLs of files in a text useless: readers of a log may not have
// the files.
func (e *Environment) removeSignatures(text []byte) []byte {
	if e.Uploads == nil || !bytes.Contains(text, []byte("signature=")) {
		return text
	}
	return []byte(files.RedactSignatures(string(text)))
}

// AuditRecord returns the record of an event of a request.
func (e *Environment) AuditRecord(event string, caller *mcp.Caller, meta []byte) *audit.Record {
	return audit.NewRecord(event, e.auditCommon(caller, meta))
}

// auditCommon returns what all records of a request have.
func (e *Environment) auditCommon(caller *mcp.Caller, meta []byte) audit.Common {
	return audit.Common{
		Caller: e.AuditedCaller(caller), Revision: e.Revision, TraceID: traceID(Traceparent(caller.Header, meta)),
	}
}

// AuditedCaller returns a caller as it is recorded.
func (e *Environment) AuditedCaller(c *mcp.Caller) audit.Caller {
	out := audit.Caller{Subject: c.Subject, Remote: c.Remote}
	if i := c.Identity; i != nil {
		out.Key, out.Groups = i.Key, i.Groups
	}
	if name := mcp.ClientName(c.ClientInfo); name != "" {
		out.Client = e.Scrubber.Text(name)
	}
	return out
}
