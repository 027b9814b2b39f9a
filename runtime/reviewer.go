package runtime

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/runtime/approval"
	"hatchel/runtime/audit"
)

// What is shown to who must agree is bounded.
const (
	largestEffect  = 16 << 10
	largestMessage = 4 << 10
)

// request is what an operator is shown of a call: what it would do, without what is sensitive and without secrets.
func (p *Program) request(c *call, rules []*approvalRule) (*approval.Request, error) {
	effect, err := p.effect(c)
	if err != nil {
		return nil, err
	}
	patience := slices.MinFunc(rules, func(a, b *approvalRule) int { return int(a.decl.Timeout - b.decl.Timeout) }).decl.Timeout
	now := time.Now()
	r := &approval.Request{
		Tool: p.decl.Name, Title: p.tool.Title, Message: p.sentenceOf(c, rules), Effect: effect, Rules: namesOf(rules), Caller: p.whoAsks(c),
		Revision: p.generation.Config.ID, Asked: now, Until: now.Add(patience), Audited: p.generation.audit != nil,
	}
	var written audit.Record
	c.arguments(&written)
	r.Arguments = written.Arguments
	r.Partial = written.Size > 0 || partly(effect)
	return r, nil
}

// whoAsks is who makes the call, also when it is a step of another.
func (p *Program) whoAsks(c *call) approval.Who {
	if c.caller != nil {
		who := p.generation.auditedCaller(c.caller)
		return approval.Who{Subject: who.Subject, Key: who.Key, Groups: who.Groups, Client: who.Client, Remote: who.Remote}
	}
	var who approval.Who
	who.Subject, _ = c.frame.Caller["subject"].(string)
	groups, _ := c.frame.Caller["groups"].([]any)
	for _, g := range groups {
		if text, ok := g.(string); ok {
			who.Groups = append(who.Groups, text)
		}
	}
	return who
}

// effect is what the call would send, as a plan says it. What cannot be shown is not done.
func (p *Program) effect(c *call) (text string, err error) {
	defer recovered(&err)
	if text, err = p.planned(c); err != nil {
		return "", err
	}
	if c.routine.hides {
		text = newScrubber(hiddenTexts(nil, c.frame.Input, p.decl.Input, false)).sentence(text)
	}
	text = approval.Legible(strings.TrimRight(c.withoutInputs(text), "\n"))
	if len(text) > largestEffect {
		head := text[:boundary([]byte(text), largestEffect)]
		text = fmt.Sprintf("%s\n%s%d bytes more of what would be done]", head, adapters.NotShown, len(text)-len(head))
	}
	if partly(text) {
		text = notAll + "\n\n" + text
	}
	return text, nil
}

// notAll stands above what is not shown to its end: what is left out may be what matters.
const notAll = "NOT ALL OF WHAT WOULD BE DONE IS SHOWN HERE. Who agrees, agrees to what is left out, too."

// partly reports whether something is left out of what would be done.
func partly(effect string) bool { return strings.Contains(effect, adapters.NotShown) }

// keyless are the inputs of the call without its key, encoded so that equal ones read alike.
func (c *call) keyless() ([]byte, error) {
	input := make(map[string]any, len(c.frame.Input))
	for name, v := range c.frame.Input {
		if name != hcl.KeyInput {
			input[name] = v
		}
	}
	return appendFrozen(nil, input)
}

// Approver decides about a call in the place of those who would be asked.
type Approver func(ctx context.Context, r *approval.Request) (approved bool, by approval.Decision, err error)

type approverKey struct{}

// WithApprover has the calls that are made with the context ask somebody who is there: who operates the server, and calls a tool of it by hand.
func WithApprover(ctx context.Context, decide Approver) context.Context {
	return context.WithValue(ctx, approverKey{}, decide)
}

func approverOf(ctx context.Context) Approver {
	decide, _ := ctx.Value(approverKey{}).(Approver)
	return decide
}

// decided has who is there decide for everybody who would be asked.
func (p *Program) decided(c *call, decide Approver) error {
	n := c.consent
	r, err := p.request(c, n.rules())
	if err != nil {
		return err
	}
	approved := false
	var by approval.Decision
	err = c.idle(nil, func(ctx context.Context, _ context.CancelCauseFunc) (err error) {
		approved, by, err = decide(ctx, r)
		return err
	})
	if err != nil {
		return refusal(err.Error())
	}
	n.record = &audit.Approval{By: by.By, At: by.At, Reason: by.Reason, Rules: r.Rules}
	if !approved {
		return rejected(by.Reason)
	}
	n.stage = consentGiven
	return nil
}

// rawJSON is JSON that is there already.
type rawJSON []byte

// MarshalJSON implements json.Marshaler.
func (b rawJSON) MarshalJSON() ([]byte, error) { return b, nil }
