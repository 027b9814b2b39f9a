package call

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"strings"

	"hatchel/runtime/durable/audit"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/failure"
	"hatchel/runtime/stage/files"
	"hatchel/runtime/stage/policy"
)

// auditCall is what is recorded of one call. Nil records nothing.
type auditCall struct {
	log           Audit
	common        audit.Common // what all records of the call have
	questions     []string     // to the client
	startRecorded bool
}

// beginAudit begins to record a call; nil where calls are not recorded.
func (o *Operation) beginAudit(caller *mcp.Caller, via string) *auditCall {
	log := o.Env.Audit
	if log == nil {
		return nil
	}
	common := o.Env.auditCommon(caller, nil)
	common.ID, common.Kind, common.Name, common.Via = rand.Text(), cmp.Or(o.auditKind, o.Kind), o.Decl.Name, via
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
func (a *auditCall) recordStart(f *facts, d policy.Decision, approved *audit.Approval) error {
	r := audit.NewRecord(audit.EventIntent, a.common)
	r.TraceID, r.Approval = strings.Clone(traceID(f.traceparent)), approved
	addDecision(r, d, true)
	addArguments(r, f.arguments)
	err := a.log.Append(r, true)
	a.startRecorded = err == nil
	return err
}

// recordEnd records what the call came to, with the steps that were run. It returns how the call has failed with that:
// as it had, or that its result could not be recorded.
func (a *auditCall) recordEnd(ctx context.Context, e *ending, steps []string) *failure.Failure {
	if a == nil {
		return e.failed
	}
	r := audit.NewRecord(audit.EventCall, a.common)
	r.Outcome, r.Asked, r.Steps = e.outcome, a.questions, steps
	r.TraceID = strings.Clone(traceID(e.traceparent))
	for _, u := range e.upstreams.List() {
		r.Upstreams = append(r.Upstreams, audit.Upstream(u))
	}
	r.Duration, r.Approval, r.Replayed = millisecondsSince(e.started), e.approval, e.replayed
	if e.operation.auditKind != "" {
		r.Found = foundNames(e.arguments.frame.Output)
	}
	if e.began {
		r.Masks = e.operation.recordedMasks(e.arguments.frame)
		r.Detected = e.arguments.frame.Detect.Counts()
	}
	addDecision(r, e.decision, e.began || e.replayed != "")
	if !a.startRecorded {
		addArguments(r, e.arguments)
	}
	switch {
	case e.failed != nil:
		r.Message, r.ErrorID = e.arguments.hideMessage(e.failed.Message), e.failed.ID
	case e.interim == "":
		r.Rows, r.Bytes, r.Tokens = e.result.Rows(), e.result.Size(), e.result.Tokens()
		if page := e.result.Page; page != nil {
			r.Page, r.Rows, r.Delivered = page.Number, page.Rows, page.Delivered+page.Rows
		}
		if f := e.result.Failures; f.Failed > 0 {
			r.Failed, r.Of, r.FailedStep = f.Failed, f.Of, f.Step
			r.FailedKey, r.Message = e.arguments.hideMessage(f.Key), e.arguments.hideMessage(f.Error)
		}
	}
	err := a.log.Append(r, false)
	switch {
	case err == nil:
		return e.failed
	case e.failed == nil && e.interim != audit.Task: // a task that has begun continues
		return a.unrecordedFailure(err)
	}
	e.operation.Env.LogAuditFailure(ctx, err)
	return e.failed
}

// LogFailure logs why something has failed, without secrets. Attrs are keys and values.
func (e *Environment) LogFailure(ctx context.Context, level slog.Level, text string, err error, attrs ...any) {
	e.Log.Log(ctx, level, text, append(attrs, "error", e.Scrubber.Text(err.Error()))...)
}

// LogAuditFailure logs that a record is missing in the audit log.
func (e *Environment) LogAuditFailure(ctx context.Context, err error) {
	e.LogFailure(ctx, slog.LevelError, "audit log not writable", err)
}

// addDecision adds to a record which rule has decided. Where no rule is about a call that was made, everybody is
// allowed.
func addDecision(r *audit.Record, d policy.Decision, made bool) {
	r.Decision, r.Rule = string(d.Verdict), d.Rule
	if d.Verdict == policy.Undecided && made {
		r.Decision, r.Rule = string(policy.Allowed), "default"
	}
}

// addArguments adds to a record what the caller has sent. Of large arguments it adds the beginning, the size and a
// digest.
func addArguments(r *audit.Record, sent callArguments) {
	recorded, _ := sent.record(nil)
	r.Arguments, r.ArgumentsSize, r.ArgumentsDigest = recorded.text, recorded.size, recorded.digest
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
	who := e.AuditedCaller(caller)
	if len(e.AuditOmits) > 0 && strings.HasPrefix(who.Key, "os:") { // the claims of a command line are in it
		who.Key, _, _ = strings.Cut(who.Key, " {")
	}
	return audit.Common{Caller: who, Revision: e.Revision, TraceID: traceID(Traceparent(caller.Header, meta))}
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
