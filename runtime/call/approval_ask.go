package call

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/approval"
	"hatchel/runtime/stage/elicit"
	"hatchel/runtime/stage/failure"
)

// Approver decides about a call in place of everybody who would be asked.
type Approver func(ctx context.Context, r *approval.Request) (approved bool, by approval.Decision, err error)

type approverKey struct{}

// WithApprover returns a context whose calls are decided by an operator who is present, and calls a
// tool by hand.
func WithApprover(ctx context.Context, decide Approver) context.Context {
	return context.WithValue(ctx, approverKey{}, decide)
}

func approverFrom(ctx context.Context) Approver {
	decide, _ := ctx.Value(approverKey{}).(Approver)
	return decide
}

// askApprover has the operator who is present decide.
func (s *approvals) askApprover(decide Approver) error {
	r, err := s.view.request(s.rules())
	if err != nil {
		return err
	}
	approved := false
	var by approval.Decision
	err = s.clock.whileWaiting(nil, func(ctx context.Context, _ context.CancelCauseFunc) (err error) {
		approved, by, err = decide(ctx, r)
		return err
	})
	if err != nil {
		return failure.Refusal(err.Error())
	}
	s.Record = &audit.Approval{By: by.By, At: by.At, Reason: by.Reason, Rules: r.Rules}
	if !approved {
		return rejectionError(by.Reason)
	}
	s.Stage = approvalComplete
	return nil
}

// approvalKey is the key of the question whether the user of the client approves a call. No ask
// block has such a key.
const approvalKey = "approval.caller"

// shortestTimeout returns how long rules may wait.
func shortestTimeout(rules []*ApprovalRule) time.Duration {
	byTimeout := func(a, b *ApprovalRule) int { return cmp.Compare(a.decl.Timeout, b.decl.Timeout) }
	return slices.MinFunc(rules, byTimeout).decl.Timeout
}

// confirmationAsk returns that question without its text: a form with one box, which is not ticked.
func confirmationAsk(timeout time.Duration) *hcl.Ask {
	box := &schema.Type{Kind: schema.Bool, Title: "Approve", Description: "Whether this call may be made."}
	form := schema.ObjectOf(&schema.Member{
		Name: "approve", Optional: true, HasDefault: true, Default: false, Type: box,
	})
	return &hcl.Ask{
		Key: approvalKey, Timeout: timeout,
		Elicit: &hcl.Elicit{Fields: form, Validator: form.Compile(), ContinueOnDecline: true},
	}
}

var (
	missingConfirmation = failure.NotDone{Message: "The user has not approved this call."}
	noUserToAsk         = failure.NotDone{
		Message: "This call needs the approval of the client's user, who cannot be asked here.",
	}
	stoppedWhileAsking = failure.NotDone{
		Message: "The server is shutting down, and this call waits for the approval of its user.",
		Advice:  "Call again when the server is back.",
	}
)

// askUser asks the user of the client for their approval. Where the client cannot be asked while
// the call waits, it fails with an elicit.PausedError the first time.
func (s *approvals) askUser() error {
	x := s.elicitation
	if x == nil {
		return noUserToAsk
	}
	ask := confirmationAsk(shortestTimeout(s.userRules))
	sent, answered := x.Sent[approvalKey]
	delete(x.Sent, approvalKey)
	before := s.Fingerprint
	var err error
	if s.Fingerprint, err = s.fingerprint(); err != nil {
		return s.clock.evalError(err)
	}
	capability := elicit.CapabilityFor(ask)
	switch {
	case s.Stage == approvalAsked && answered && s.Fingerprint == before: // the user was asked about this very call
	case !elicit.HasCapability(x.Caller, capability):
		return elicit.CapabilityError(x.Caller, capability)
	default:
		if sent, err = s.sendConfirmation(ask); err != nil {
			return err
		}
	}
	s.Record = &audit.Approval{By: "caller", At: time.Now(), Rules: ruleNames(s.userRules)}
	answer, err := ask.ParseResponse(sent, s.call.Frame.Budget())
	if err != nil {
		return missingConfirmation
	}
	content, _ := answer["content"].(map[string]any)
	if yes, _ := content["approve"].(bool); !yes {
		return missingConfirmation
	}
	if !s.isValid() {
		return s.program.supersededError()
	}
	return nil
}

// sendConfirmation asks the user and returns the answer.
func (s *approvals) sendConfirmation(ask *hcl.Ask) (sent any, err error) {
	q, err := s.confirmationQuestion(ask)
	if err != nil {
		return nil, err
	}
	s.Stage = approvalAsked
	if !s.elicitation.Interactive() {
		return nil, &elicit.PausedError{Questions: []mcp.Question{q}, Timeout: ask.Timeout}
	}
	s.waiting.audit.addQuestions([]mcp.Question{q})
	q.Key += "." + s.Fingerprint // a call that resumes waits for the answer about this very call
	err = s.waiting.Wait(ask.Timeout, func() error {
		interrupted := s.awaitInterruption
		return s.clock.whileWaiting(interrupted, func(ctx context.Context, _ context.CancelCauseFunc) (err error) {
			sent, err = s.elicitation.AskOne(ctx, ask, q)
			return err
		})
	})
	switch {
	case errors.Is(err, mcp.ErrSuspended):
		return nil, &elicit.PausedError{Timeout: ask.Timeout}
	case errors.Is(err, errSuperseded):
		return nil, s.program.supersededError()
	case errors.Is(err, errShuttingDown):
		return nil, stoppedWhileAsking
	}
	return sent, err
}

// confirmationQuestion returns the question with the message of the rules and the effect of the
// call.
func (s *approvals) confirmationQuestion(ask *hcl.Ask) (mcp.Question, error) {
	effect, _, err := s.view.describeEffect()
	if err != nil {
		return mcp.Question{}, err
	}
	text := s.view.message(s.userRules) + "\n\nWhat would be done:\n  " + indentLines(effect)
	dst := value.AppendString([]byte(`{"message":`), text)
	dst = ask.Elicit.AppendSchema(append(dst, `,"mode":"form","requestedSchema":`...))
	params := s.program.Env.Scrubber.JSON(append(dst, '}'))
	return mcp.Question{Key: ask.Key, Method: "elicitation/create", Params: params}, nil
}
