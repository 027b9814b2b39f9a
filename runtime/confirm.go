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
	"hatchel/runtime/mcp"
)

// approvalKey is the key of the question whether the user of the client agrees to a call. No question of a tool has it: those are called as values are.
const approvalKey = "approval.caller"

// agreement is that question but for its words: a form with one box, which is not ticked.
func agreement(timeout time.Duration) *hcl.Ask {
	form := schema.ObjectOf(&schema.Member{Name: "approve", Optional: true, HasDefault: true, Default: false, Type: &schema.Type{
		Kind: schema.Bool, Title: "Approve", Description: "Whether this call may be made.",
	}})
	return &hcl.Ask{Key: approvalKey, Timeout: timeout, Elicit: &hcl.Elicit{Fields: form, Answer: form.Compile(), Declined: true}}
}

const unconfirmed = refusal("The user has not approved this call. Nothing was done.")

// confirm asks the user of the client whether they agree. Where the client cannot be asked while the call is under way, the error is *paused the first time.
func (p *Program) confirm(c *call) error {
	n, t := c.consent, c.talk
	if t == nil {
		return refusal("This call needs the approval of the client's user, who cannot be asked here. Nothing was done.")
	}
	timeout := slices.MinFunc(n.caller, func(a, b *approvalRule) int { return int(a.decl.Timeout - b.decl.Timeout) }).decl.Timeout
	ask := agreement(timeout)
	sent, answered := t.sent[approvalKey]
	delete(t.sent, approvalKey)
	before := n.of
	var err error
	if n.of, err = p.approvalPurpose(c); err != nil {
		return c.broken(err)
	}
	switch {
	case n.stage == consentAsked && answered && n.of == before: // what they were asked is what would be done
	case !capable(t.caller, needOf(ask)):
		return incapable(t.caller, needOf(ask))
	default:
		q, err := p.confirmation(c, ask)
		if err != nil {
			return err
		}
		if n.stage = consentAsked; t.req == nil {
			return &paused{[]mcp.Question{q}, timeout}
		}
		c.entry.asks([]mcp.Question{q})
		err = p.idle(c, p.generation.build.memory.waits, func(ctx context.Context, _ context.CancelCauseFunc) (err error) {
			sent, err = t.askOne(ctx, ask, q)
			return err
		})
		if errors.Is(err, errOvertaken) {
			return p.overtaken()
		}
		if errors.Is(err, errLeaving) {
			return refusal("The server is being stopped, and this call waits for the approval of its user. Nothing was done. Call again when the server is back.")
		}
		if err != nil {
			return err
		}
	}
	n.record = &audit.Approval{By: "caller", At: time.Now(), Rules: namesOf(n.caller)}
	answer, err := ask.Answer(sent)
	if err != nil {
		return unconfirmed // whatever it was, it was no yes
	}
	content, _ := answer["content"].(map[string]any)
	if yes, _ := content["approve"].(bool); !yes {
		return unconfirmed
	}
	if !p.stands(c) {
		return p.overtaken()
	}
	return nil
}

// confirmation is the question with what is to be agreed to, and what it would do.
func (p *Program) confirmation(c *call, ask *hcl.Ask) (mcp.Question, error) {
	effect, err := p.effect(c)
	if err != nil {
		return mcp.Question{}, err
	}
	text := p.sentenceOf(c, c.consent.caller) + "\n\nWhat would be done:\n  " + inset(effect)
	dst := value.AppendString([]byte(`{"message":`), text)
	dst = ask.Elicit.AppendSchema(append(dst, `,"mode":"form","requestedSchema":`...))
	return mcp.Question{Key: ask.Key, Method: "elicitation/create", Params: p.generation.scrubber.json(append(dst, '}'))}, nil
}
