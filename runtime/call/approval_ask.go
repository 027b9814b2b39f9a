package call

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
	"hatchel/runtime/approval"
	"hatchel/runtime/audit"
	"hatchel/runtime/elicit"
	"hatchel/runtime/failure"
	"hatchel/runtime/mcp"
	"hatchel/runtime/result"
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
func (p *Program) askApprover(c *call, decide Approver) error {
	a := c.approval
	r, err := p.approvalRequest(c, a.rules())
	if err != nil {
		return err
	}
	approved := false
	var by approval.Decision
	err = p.runWhileWaiting(c, nil, func(ctx context.Context, _ context.CancelCauseFunc) (err error) {
		approved, by, err = decide(ctx, r)
		return err
	})
	if err != nil {
		return failure.Refusal(err.Error())
	}
	a.Record = &audit.Approval{By: by.By, At: by.At, Reason: by.Reason, Rules: r.Rules}
	if !approved {
		return rejectionError(by.Reason)
	}
	a.Stage = approvalComplete
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
func (p *Program) askUser(c *call) error {
	a, x := c.approval, c.elicitation
	if x == nil {
		return noUserToAsk
	}
	ask := confirmationAsk(shortestTimeout(a.userRules))
	sent, answered := x.Sent[approvalKey]
	delete(x.Sent, approvalKey)
	before := a.Fingerprint
	var err error
	if a.Fingerprint, err = p.approvalFingerprint(c); err != nil {
		return c.evalError(err)
	}
	capability := elicit.CapabilityFor(ask)
	switch {
	case a.Stage == approvalAsked && answered && a.Fingerprint == before: // the user was asked about this very call
	case !elicit.HasCapability(x.Caller, capability):
		return elicit.CapabilityError(x.Caller, capability)
	default:
		if sent, err = p.sendConfirmation(c, ask); err != nil {
			return err
		}
	}
	a.Record = &audit.Approval{By: "caller", At: time.Now(), Rules: ruleNames(a.userRules)}
	answer, err := ask.ParseResponse(sent, c.frame.Budget())
	if err != nil {
		return missingConfirmation
	}
	content, _ := answer["content"].(map[string]any)
	if yes, _ := content["approve"].(bool); !yes {
		return missingConfirmation
	}
	if !p.stillValid(c) {
		return p.supersededError()
	}
	return nil
}

// sendConfirmation asks the user and returns the answer.
func (p *Program) sendConfirmation(c *call, ask *hcl.Ask) (sent any, err error) {
	q, err := p.confirmationQuestion(c, ask)
	if err != nil {
		return nil, err
	}
	c.approval.Stage = approvalAsked
	if !c.elicitation.Interactive() {
		return nil, &elicit.PausedError{Questions: []mcp.Question{q}, Timeout: ask.Timeout}
	}
	c.audit.addQuestions([]mcp.Question{q})
	q.Key += "." + c.approval.Fingerprint // a call that resumes waits for the answer about this very call
	err = c.Wait(ask.Timeout, func() error {
		return p.runWhileWaiting(c, p.Env.Waiters, func(ctx context.Context, _ context.CancelCauseFunc) (err error) {
			sent, err = c.elicitation.AskOne(ctx, ask, q)
			return err
		})
	})
	switch {
	case errors.Is(err, mcp.ErrSuspended):
		return nil, &elicit.PausedError{Timeout: ask.Timeout}
	case errors.Is(err, errSuperseded):
		return nil, p.supersededError()
	case errors.Is(err, errShuttingDown):
		return nil, stoppedWhileAsking
	}
	return sent, err
}

// confirmationQuestion returns the question with the message of the rules and the effect of the
// call.
func (p *Program) confirmationQuestion(c *call, ask *hcl.Ask) (mcp.Question, error) {
	effect, _, err := p.describeEffect(c)
	if err != nil {
		return mcp.Question{}, err
	}
	text := p.approvalMessage(c, c.approval.userRules) + "\n\nWhat would be done:\n  " + indentLines(effect)
	dst := value.AppendString([]byte(`{"message":`), text)
	dst = ask.Elicit.AppendSchema(append(dst, `,"mode":"form","requestedSchema":`...))
	params := p.Env.Scrubber.JSON(append(dst, '}'))
	return mcp.Question{Key: ask.Key, Method: "elicitation/create", Params: params}, nil
}

// Limits of what an approver is shown, in bytes.
const (
	maxEffect          = 16 << 10
	maxEffects         = 64 << 10 // with the contents that files have and get
	maxApprovalMessage = 4 << 10
	maxClientName      = 256
)

// approvalRequest returns what an operator is shown of a call: what it would do, without sensitive
// values and secrets.
func (p *Program) approvalRequest(c *call, rules []*ApprovalRule) (*approval.Request, error) {
	effect, effects, err := p.describeEffect(c)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	r := &approval.Request{
		Tool: p.Decl.Name, Title: p.tool.Title, Message: p.approvalMessage(c, rules), Effect: effect, Effects: effects,
		CallID: string(c.callID()), Rules: ruleNames(rules), Caller: p.requester(c), Revision: p.Env.Revision,
		Seal: p.approvalSeal(), RequestedAt: now, Deadline: now.Add(shortestTimeout(rules)),
		Audited: p.Env.Audit != nil,
	}
	var record audit.Record
	c.addArguments(&record)
	r.Arguments = record.Arguments
	r.Partial = record.ArgumentsSize > 0 || isPartialEffect(effect)
	return r, nil
}

// indentLines indents all lines of a text but the first: what a caller has sent must not look like
// a line of the server.
func indentLines(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }

// approvalMessage returns what is to be approved, in the words of the rules that require it.
func (p *Program) approvalMessage(c *call, rules []*ApprovalRule) string {
	var messages []string
	for _, r := range rules {
		if r.decl.Message == nil {
			continue
		}
		text := strings.TrimSpace(c.hideInputs(failure.Render(r.decl.Message, c.frame)))
		text = indentLines(approval.EscapeText(text))
		if text != "" && !slices.Contains(messages, text) {
			messages = append(messages, text)
		}
	}
	if len(messages) > 0 {
		return string(result.TruncateText([]byte(strings.Join(messages, "\n")), maxApprovalMessage, ""))
	}
	if p.tool.Title != "" {
		return fmt.Sprintf("A call of the tool %q (%s).", p.tool.Title, p.Decl.Name)
	}
	return fmt.Sprintf("A call of the tool %q.", p.Decl.Name)
}

// requester returns who makes the call, or the call that it is a step of, with a short name of the
// client.
func (p *Program) requester(c *call) approval.Requester {
	r := approval.Requester(p.Env.AuditedCaller(c.callerOrOuter()))
	r.Client = approval.EscapeText(strings.ReplaceAll(r.Client, "\n", " "))
	if len(r.Client) > maxClientName {
		r.Client = r.Client[:result.CutBefore([]byte(r.Client), maxClientName)] + "…"
	}
	return r
}

// describeEffect returns what the call would send, as its plan says it: as a text, and in parts unless these are too
// large. A call that cannot be shown is not made.
func (p *Program) describeEffect(c *call) (text string, effects []adapters.Effect, err error) {
	defer failure.Recover(&err)
	if effects, err = p.planSteps(c); err != nil {
		return "", nil, err
	}
	hide := c.sentInputsHider()
	text = approval.EscapeText(strings.TrimRight(hide(adapters.RenderEffects(effects)), "\n"))
	size := 0
	for i, e := range effects {
		effects[i] = e.Map(func(text string) string { return approval.EscapeText(hide(text)) })
		size += effects[i].Size()
	}
	if size > maxEffects {
		effects = nil
	}
	if len(text) > maxEffect {
		head := text[:result.CutBefore([]byte(text), maxEffect)]
		const format = "%s\n%s%d bytes more of what would be done]"
		text = fmt.Sprintf(format, head, adapters.OmittedPrefix, len(text)-len(head))
	}
	if isPartialEffect(text) {
		text = partialNotice + "\n\n" + text
	}
	return text, effects, nil
}

// partialNotice stands above a text that is truncated: what is omitted may be what matters.
const partialNotice = "PART OF WHAT WOULD BE DONE IS NOT SHOWN HERE. An approval covers the omitted part, too."

// isPartialEffect reports whether something is omitted from what would be done.
func isPartialEffect(effect string) bool { return strings.Contains(effect, adapters.OmittedPrefix) }
