package call

import (
	"maps"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/internal/digest"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/approval"
	"hatchel/runtime/stage/elicit"
)

// approvalState is which approvals a call needs, and how far these are. It belongs to the goroutine
// of the call.
type approvalState struct {
	frozenApproval
	userRules     []*ApprovalRule // to be approved by the user of the client
	operatorRules []*ApprovalRule // to be approved by an operator
	given         *approval.Approval
	consumed      *approval.Approval // was given, and consumed by this call

	maxWait time.Duration // how long a task may wait for an operator
	task    string        // the task that the call has become while it waits
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

// requiredApprovals returns the rules that require an approval of a call: by the user of the client, and by an
// operator. After an error of a condition, rule is its name.
func (p *Program) requiredApprovals(f *hcl.Frame) (user, operator []*ApprovalRule, rule string, err error) {
	f.Tool = p.toolRoot
	for _, r := range p.Approvals {
		if r.when != nil {
			required, err := r.when.Eval(f, nil)
			if err != nil {
				return nil, nil, r.Name, err
			}
			if !required {
				continue
			}
		}
		if r.decl.ByCaller {
			user = append(user, r)
		} else {
			operator = append(operator, r)
		}
	}
	return user, operator, "", nil
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

// approvalFingerprint identifies what is approved: this tool as it is configured, these arguments,
// and this caller, nil in a step of another call, with all that the call can read of them, and as whom its steps act.
// The idempotency key is no part of it.
func (p *Program) approvalFingerprint(call *adapters.Call, caller *mcp.Caller) (string, error) {
	input, err := canonicalInput(call.Frame)
	if err != nil {
		return "", err
	}
	toolset, nested := "", "step"
	if caller != nil {
		toolset, nested = caller.Toolset, "called"
	}
	claims, err := elicit.AppendFrozen(nil, stableClaims(call.Frame.ReadCaller()))
	parts := []string{
		"approval", p.Decl.Name, p.approvalDigest, string(input), call.Owner, string(claims), toolset, nested,
	}
	// The claims of an identity may be among those that are not stable.
	return digest.Of(p.appendIdentity(parts, call)...).String(), err
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
