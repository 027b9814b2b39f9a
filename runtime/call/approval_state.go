package call

import (
	"encoding/json"
	"maps"
	"strconv"
	"time"

	"hatchel/hcl"
	"hatchel/runtime/approval"
	"hatchel/runtime/audit"
	"hatchel/runtime/digest"
	"hatchel/runtime/elicit"
	"hatchel/runtime/policy"
)

// ApprovalRule is one approval block of a tool, or the approve rule of a policy.
type ApprovalRule struct {
	Name string         // as decisions name it: tool.refund.approval, policy.large.approve
	when *hcl.Condition // nil for every call
	decl *hcl.Approval
}

// Program returns the condition as it is written.
func (r *ApprovalRule) Program() string {
	if r.when == nil {
		return "true"
	}
	return r.when.Source()
}

// Range returns where the rule is written.
func (r *ApprovalRule) Range() hcl.Range {
	if r.when == nil {
		return r.decl.Range
	}
	return r.when.Range
}

// DeclRange returns where the approval is declared.
func (r *ApprovalRule) DeclRange() hcl.Range { return r.decl.Range }

// AddApprovals adds the approvals that calls of the tool may need: its own, then those of policies.
// The rules of the program must be set.
func (p *Program) AddApprovals(policies []*hcl.Policy) {
	for i, decl := range p.tool.Approvals {
		name := "tool." + p.Decl.Name + ".approval"
		if i > 0 {
			name += "." + strconv.Itoa(i+1)
		}
		p.Approvals = append(p.Approvals, &ApprovalRule{name, decl.When, decl})
	}
	parts := []string{p.Decl.Digest, p.Rules.Digest()}
	var digests []string
	for _, pol := range policies {
		if pol.Approve == nil {
			continue
		}
		digests = append(digests, pol.Digest)
		if pol.AppliesToTool(p.Decl.Name) {
			rule := &ApprovalRule{"policy." + pol.Name + ".approve", pol.Approve, pol.Approval}
			p.Approvals = append(p.Approvals, rule)
		}
	}
	if len(p.Approvals) == 0 {
		return
	}
	p.toolRoot = policy.ToolRoot(p.tool)
	for _, r := range p.Approvals {
		p.AsksClient = p.AsksClient || r.decl.ByCaller
		if r.when != nil {
			parts = append(parts, r.Name, r.when.Digest())
		}
	}
	p.approvalDigest = digest.Of(append(parts, digests...)...).String()
}

func ruleNames(rules []*ApprovalRule) []string {
	names := make([]string, len(rules))
	for i, r := range rules {
		names[i] = r.Name
	}
	return names
}

// approvalState is which approvals a call needs, and how far these are. It belongs to the goroutine
// of the call.
type approvalState struct {
	frozenApproval
	userRules     []*ApprovalRule // to be approved by the user of the client
	operatorRules []*ApprovalRule // to be approved by an operator
	given         *approval.Approval
	consumed      *approval.Approval // was given, and consumed by this call

	maxWait        time.Duration        // how long a task may wait for an operator
	task           string               // the task that the call has become while it waits
	sameKeyStarted func() (bool, error) // whether another call with the same key has started; nil without a key
}

// frozenApproval is the part of an approvalState that is stored with a frozen call, as JSON.
type frozenApproval struct {
	Stage       string          `json:"stage"`
	Fingerprint string          `json:"fingerprint"`      // of what is to be approved
	Record      *audit.Approval `json:"record,omitempty"` // who has decided
}

// The stages of approvals.
const (
	approvalOpen      = ""
	approvalAsked     = "asked"     // the user of the client was asked
	approvalConfirmed = "confirmed" // the user of the client has approved
	approvalWaiting   = "waiting"   // a task waits for an operator
	approvalComplete  = "complete"
)

// findRequiredApprovals finds out which approvals a call needs, unless they are complete.
func (p *Program) findRequiredApprovals(c *call) error {
	if len(p.Approvals) == 0 || c.approval != nil && c.approval.Stage == approvalComplete {
		return nil
	}
	a := c.approval
	if a == nil {
		a = new(approvalState)
	}
	c.frame.Tool = p.toolRoot
	for _, r := range p.Approvals {
		if r.when != nil {
			required, err := r.when.Eval(c.frame, nil)
			if err != nil {
				c.access.decision = policy.Decision{Verdict: policy.Denied, Rule: r.Name, Cause: err}
				return c.denialError()
			}
			if !required {
				continue
			}
		}
		if r.decl.ByCaller {
			a.userRules = append(a.userRules, r)
		} else {
			a.operatorRules = append(a.operatorRules, r)
		}
	}
	if len(a.userRules)+len(a.operatorRules) > 0 {
		c.approval = a
	}
	if c.approval != nil && c.onlyComputes() {
		c.frame.Context = c.timing.compute.Context // the time to compute begins when people have approved
	}
	return nil
}

// rules returns all rules that require an approval.
func (a *approvalState) rules() []*ApprovalRule {
	return append(a.userRules[:len(a.userRules):len(a.userRules)], a.operatorRules...)
}

// isComplete reports whether everybody has approved. The approval of an operator may still have to
// be consumed.
func (a *approvalState) isComplete() bool {
	return a == nil || a.Stage == approvalComplete || a.given != nil
}

// auditRecord returns who has decided; nil when nobody was asked.
func (a *approvalState) auditRecord() *audit.Approval {
	if a == nil {
		return nil
	}
	return a.Record
}

// thawApproval returns the state of which a frozen call has this part.
func thawApproval(frozen string) (*approvalState, error) {
	a := new(approvalState)
	if json.Unmarshal([]byte(frozen), &a.frozenApproval) != nil {
		return nil, errFrozenCall
	}
	return a, nil
}

// approvalFingerprint identifies what is approved: this tool as it is configured, these arguments,
// and this caller with all that the call can read of them. The idempotency key is no part of it.
func (p *Program) approvalFingerprint(c *call) (string, error) {
	input, err := c.canonicalInput()
	if err != nil {
		return "", err
	}
	toolset, nested := "", "called"
	if c.caller != nil {
		toolset = c.caller.Toolset
	}
	if c.nested {
		nested = "step"
	}
	caller, err := elicit.AppendFrozen(nil, stableClaims(c.frame.Caller))
	return digest.Of(
		"approval", p.Decl.Name, p.approvalDigest, string(input), c.action.Owner, string(caller), toolset, nested,
	).String(), err
}

// volatileClaims differ from one token to the next of the same person (RFC 7519, section 4.1).
var volatileClaims = []string{"exp", "iat", "nbf", "jti"}

// stableClaims returns the caller without the claims that every new token changes.
func stableClaims(caller map[string]any) map[string]any {
	token, ok := caller["claims"].(claims)
	if !ok {
		return caller
	}
	out := maps.Clone(caller)
	if v, err := token.Value(); err == nil {
		decoded, _ := v.(map[string]any) // not shared: it was decoded now
		for _, name := range volatileClaims {
			delete(decoded, name)
		}
		out["claims"] = decoded
	}
	return out
}
