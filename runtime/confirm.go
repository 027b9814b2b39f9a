package runtime

import (
	"context"
	"errors"
	"slices"
	"time"

	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
	"hatchel/runtime/audit"
	"hatchel/runtime/elicit"
	"hatchel/runtime/failure"
	"hatchel/runtime/mcp"
)

// approvalKey is the key of the question whether the user of the client agrees to a call. No question of a tool has it: those are called as values are.
const approvalKey = "approval.caller"

// confirmationAsk is that question but for its words: a form with one box, which is not ticked.
func confirmationAsk(timeout time.Duration) *hcl.Ask {
	form := schema.ObjectOf(&schema.Member{Name: "approve", Optional: true, HasDefault: true, Default: false, Type: &schema.Type{
		Kind: schema.Bool, Title: "Approve", Description: "Whether this call may be made.",
	}})
	return &hcl.Ask{Key: approvalKey, Timeout: timeout, Elicit: &hcl.Elicit{Fields: form, Validator: form.Compile(), ContinueOnDecline: true}}
}

const missingConfirmation = failure.Refusal("The user has not approved this call. Nothing was done.")

// askUser asks the user of the client whether they agree. Where the client cannot be asked while the call is under way, the error is *paused the first time.
func (p *Program) askUser(c *call) error {
	n, t := c.approval, c.elicitation
	if t == nil {
		return failure.Refusal("This call needs the approval of the client's user, who cannot be asked here. Nothing was done.")
	}
	timeout := slices.MinFunc(n.callerRules, func(a, b *approvalRule) int { return int(a.decl.Timeout - b.decl.Timeout) }).decl.Timeout
	ask := confirmationAsk(timeout)
	sent, answered := t.Sent[approvalKey]
	delete(t.Sent, approvalKey)
	before := n.fingerprint
	var err error
	if n.fingerprint, err = p.approvalFingerprint(c); err != nil {
		return c.evalError(err)
	}
	switch {
	case n.stage == approvalAsked && answered && n.fingerprint == before: // what they were asked is what would be done
	case !elicit.HasCapability(t.Caller, elicit.CapabilityFor(ask)):
		return elicit.CapabilityError(t.Caller, elicit.CapabilityFor(ask))
	default:
		q, err := p.confirmationQuestion(c, ask)
		if err != nil {
			return err
		}
		if n.stage = approvalAsked; !t.Interactive() {
			return &elicit.PausedError{Questions: []mcp.Question{q}, Timeout: timeout}
		}
		c.audit.addQuestions([]mcp.Question{q})
		err = p.runWhileWaiting(c, p.generation.build.caches.waiters, func(ctx context.Context, _ context.CancelCauseFunc) (err error) {
			sent, err = t.AskOne(ctx, ask, q)
			return err
		})
		if errors.Is(err, errSuperseded) {
			return p.supersededError()
		}
		if errors.Is(err, errShuttingDown) {
			return failure.Refusal("The server is being stopped, and this call waits for the approval of its user. Nothing was done. Call again when the server is back.")
		}
		if err != nil {
			return err
		}
	}
	n.record = &audit.Approval{By: "caller", At: time.Now(), Rules: namesOf(n.callerRules)}
	answer, err := ask.ParseResponse(sent)
	if err != nil {
		return missingConfirmation // whatever it was, it was no yes
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

// confirmationQuestion is the question with what is to be agreed to, and what it would do.
func (p *Program) confirmationQuestion(c *call, ask *hcl.Ask) (mcp.Question, error) {
	effect, err := p.describeEffect(c)
	if err != nil {
		return mcp.Question{}, err
	}
	text := p.approvalMessage(c, c.approval.callerRules) + "\n\nWhat would be done:\n  " + indentLines(effect)
	dst := value.AppendString([]byte(`{"message":`), text)
	dst = ask.Elicit.AppendSchema(append(dst, `,"mode":"form","requestedSchema":`...))
	return mcp.Question{Key: ask.Key, Method: "elicitation/create", Params: p.generation.scrubber.JSON(append(dst, '}'))}, nil
}
