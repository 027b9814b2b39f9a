package runtime

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hatchel/adapters"
	"hatchel/runtime/approval"
	"hatchel/runtime/audit"
)

// What is shown to who must agree is bounded.
const (
	largestEffect  = 16 << 10
	largestMessage = 4 << 10
	largestClient  = 256
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
		Revision: p.generation.Config.ID, Seal: p.seal(), Asked: now, Until: now.Add(patience), Audited: p.generation.audit != nil,
	}
	var written audit.Record
	c.arguments(&written)
	r.Arguments = written.Arguments
	r.Partial = written.Size > 0 || partly(effect)
	return r, nil
}

// inset is a text whose lines after the first are indented: what a caller has sent does not look like a line of ours.
func inset(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }

// sentenceOf is what is to be agreed to, in the words of the rules that want it.
func (p *Program) sentenceOf(c *call, rules []*approvalRule) string {
	var said []string
	for _, r := range rules {
		text := ""
		if r.decl.Message != nil {
			text = inset(approval.Legible(strings.TrimSpace(c.withoutInputs(c.message(r.decl.Message)))))
		}
		if text != "" && !slices.Contains(said, text) {
			said = append(said, text)
		}
	}
	if len(said) > 0 {
		return string(cut([]byte(strings.Join(said, "\n")), largestMessage, ""))
	}
	if p.tool.Title != "" {
		return fmt.Sprintf("The tool %q (%s) is to be called.", p.tool.Title, p.decl.Name)
	}
	return fmt.Sprintf("The tool %q is to be called.", p.decl.Name)
}

// whoAsks is who makes the call, also when it is a step of another.
func (p *Program) whoAsks(c *call) approval.Who {
	if caller := c.asker(); caller != nil {
		who := p.generation.auditedCaller(caller)
		return approval.Who{Subject: who.Subject, Key: who.Key, Groups: who.Groups, Client: clientOf(who), Remote: who.Remote}
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

// clientOf is what the client of a caller says it is, as far as that is worth reading.
func clientOf(who audit.Caller) string {
	name := approval.Legible(strings.ReplaceAll(who.Client, "\n", " "))
	if len(name) > largestClient {
		name = name[:boundary([]byte(name), largestClient)] + "…"
	}
	return name
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
