package runtime

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hatchel/adapters"
	"hatchel/runtime/approval"
	"hatchel/runtime/audit"
	"hatchel/runtime/failure"
	"hatchel/runtime/result"
)

// What is shown to who must agree is bounded.
const (
	maxEffect          = 16 << 10
	maxApprovalMessage = 4 << 10
	maxClientName      = 256
)

// approvalRequest is what an operator is shown of a call: what it would do, without what is sensitive and without secrets.
func (p *Program) approvalRequest(c *call, rules []*approvalRule) (*approval.Request, error) {
	effect, err := p.describeEffect(c)
	if err != nil {
		return nil, err
	}
	patience := slices.MinFunc(rules, func(a, b *approvalRule) int { return int(a.decl.Timeout - b.decl.Timeout) }).decl.Timeout
	now := time.Now()
	r := &approval.Request{
		Tool: p.decl.Name, Title: p.tool.Title, Message: p.approvalMessage(c, rules), Effect: effect, Rules: namesOf(rules), Caller: p.requester(c),
		Revision: p.generation.Config.ID, Seal: p.approvalSeal(), Asked: now, Until: now.Add(patience), Audited: p.generation.audit != nil,
	}
	var written audit.Record
	c.addArguments(&written)
	r.Arguments = written.Arguments
	r.Partial = written.Size > 0 || isPartialEffect(effect)
	return r, nil
}

// indentLines is a text whose lines after the first are indented: what a caller has sent does not look like a line of ours.
func indentLines(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }

// approvalMessage is what is to be agreed to, in the words of the rules that want it.
func (p *Program) approvalMessage(c *call, rules []*approvalRule) string {
	var said []string
	for _, r := range rules {
		text := ""
		if r.decl.Message != nil {
			text = indentLines(approval.Legible(strings.TrimSpace(c.hideInputs(failure.Render(r.decl.Message, c.frame)))))
		}
		if text != "" && !slices.Contains(said, text) {
			said = append(said, text)
		}
	}
	if len(said) > 0 {
		return string(result.TruncateText([]byte(strings.Join(said, "\n")), maxApprovalMessage, ""))
	}
	if p.tool.Title != "" {
		return fmt.Sprintf("The tool %q (%s) is to be called.", p.tool.Title, p.decl.Name)
	}
	return fmt.Sprintf("The tool %q is to be called.", p.decl.Name)
}

// requester is who makes the call, also when it is a step of another.
func (p *Program) requester(c *call) approval.Who {
	if caller := c.callerOrOuter(); caller != nil {
		who := p.generation.auditedCaller(caller)
		return approval.Who{Subject: who.Subject, Key: who.Key, Groups: who.Groups, Client: clientName(who), Remote: who.Remote}
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

// clientName is what the client of a caller says it is, as far as that is worth reading.
func clientName(who audit.Caller) string {
	name := approval.Legible(strings.ReplaceAll(who.Client, "\n", " "))
	if len(name) > maxClientName {
		name = name[:result.CutBefore([]byte(name), maxClientName)] + "…"
	}
	return name
}

// describeEffect is what the call would send, as a plan says it. What cannot be shown is not done.
func (p *Program) describeEffect(c *call) (text string, err error) {
	defer failure.Recover(&err)
	if text, err = p.planSteps(c); err != nil {
		return "", err
	}
	if c.operation.hasSensitiveInput {
		text = result.NewScrubber(result.SensitiveTexts(nil, c.frame.Input, p.decl.Input, false)).Text(text)
	}
	text = approval.Legible(strings.TrimRight(c.hideInputs(text), "\n"))
	if len(text) > maxEffect {
		head := text[:result.CutBefore([]byte(text), maxEffect)]
		text = fmt.Sprintf("%s\n%s%d bytes more of what would be done]", head, adapters.NotShown, len(text)-len(head))
	}
	if isPartialEffect(text) {
		text = partialNotice + "\n\n" + text
	}
	return text, nil
}

// partialNotice stands above what is not shown to its end: what is left out may be what matters.
const partialNotice = "NOT ALL OF WHAT WOULD BE DONE IS SHOWN HERE. Who agrees, agrees to what is left out, too."

// isPartialEffect reports whether something is left out of what would be done.
func isPartialEffect(effect string) bool { return strings.Contains(effect, adapters.NotShown) }
