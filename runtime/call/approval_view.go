package call

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hatchel/adapters"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/approval"
	"hatchel/runtime/stage/failure"
	"hatchel/runtime/stage/result"
)

// approvalView is what approvers are shown of a call.
type approvalView struct {
	program   *Program
	call      *adapters.Call
	arguments callArguments
	caller    *mcp.Caller // of the call, or of the one that it is a step of
	callID    string
}

// Limits of what an approver is shown, in bytes.
const (
	maxEffect          = 16 << 10
	maxEffects         = 64 << 10 // with the contents that files have and get
	maxApprovalMessage = 4 << 10
	maxClientName      = 256
)

// request returns what an operator is shown of a call: what it would do, without sensitive
// values and secrets.
func (v *approvalView) request(rules []*ApprovalRule) (*approval.Request, error) {
	effect, effects, err := v.describeEffect()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	r := &approval.Request{
		Tool: v.program.Decl.Name, Title: v.program.tool.Title, Message: v.message(rules),
		Effect: effect, Effects: effects,
		CallID: v.callID, Rules: ruleNames(rules), Caller: v.requester(), Revision: v.program.Env.Revision,
		Seal: v.program.approvalSeal(), RequestedAt: now, Deadline: now.Add(shortestTimeout(rules)),
		Audited: v.program.Env.Audit != nil,
	}
	var record audit.Record
	addArguments(&record, v.arguments)
	r.Arguments = record.Arguments
	r.Partial = record.ArgumentsSize > 0 || isPartialEffect(effect)
	return r, nil
}

// indentLines indents all lines of a text but the first: what a caller has sent must not look like
// a line of the server.
func indentLines(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }

// message returns what is to be approved, in the words of the rules that require it.
func (v *approvalView) message(rules []*ApprovalRule) string {
	var messages []string
	for _, r := range rules {
		if r.decl.Message == nil {
			continue
		}
		text := strings.TrimSpace(v.arguments.hide(failure.Render(r.decl.Message, v.call.Frame)))
		text = indentLines(approval.EscapeText(text))
		if text != "" && !slices.Contains(messages, text) {
			messages = append(messages, text)
		}
	}
	if len(messages) > 0 {
		return string(result.TruncateText([]byte(strings.Join(messages, "\n")), maxApprovalMessage, ""))
	}
	if v.program.tool.Title != "" {
		return fmt.Sprintf("A call of the tool %q (%s).", v.program.tool.Title, v.program.Decl.Name)
	}
	return fmt.Sprintf("A call of the tool %q.", v.program.Decl.Name)
}

// requester returns who makes the call, or the call that it is a step of, with a short name of the
// client.
func (v *approvalView) requester() approval.Requester {
	r := approval.Requester(v.program.Env.AuditedCaller(v.caller))
	r.Client = approval.EscapeText(strings.ReplaceAll(r.Client, "\n", " "))
	if len(r.Client) > maxClientName {
		r.Client = r.Client[:result.CutBefore([]byte(r.Client), maxClientName)] + "…"
	}
	return r
}

// describeEffect returns what the call would send, as its plan says it: as a text, and in parts unless these are too
// large. A call that cannot be shown is not made.
func (v *approvalView) describeEffect() (text string, effects []adapters.Effect, err error) {
	defer failure.Recover(&err)
	if effects, err = v.program.planSteps(v.call); err != nil {
		return "", nil, err
	}
	hide := v.arguments.sentHider()
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
