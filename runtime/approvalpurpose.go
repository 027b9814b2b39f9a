package runtime

import (
	"maps"

	"hatchel/runtime/digest"
	"hatchel/runtime/elicit"
)

// approvalFingerprint is what a call is approved for: this tool as it is configured, these arguments, this caller with all that the call can read of them. A key names one piece of work, and
// is no part of what it is.
func (p *Program) approvalFingerprint(c *call) (string, error) {
	frozen, err := c.canonicalInput()
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
	return digest.Of("approval", p.decl.Name, p.approvalDigest, string(frozen), c.action.Owner, string(caller), toolset, nested).String(), err
}

// volatileClaims are the claims that differ from one token to the next of the same person (RFC 7519, section 4.1).
var volatileClaims = []string{"exp", "iat", "nbf", "jti"}

// stableClaims is what is known of a caller but for what a new token changes.
func stableClaims(caller map[string]any) map[string]any {
	known, ok := caller["claims"].(claims)
	if !ok {
		return caller
	}
	out := maps.Clone(caller)
	if v, err := known.Value(); err == nil {
		of, _ := v.(map[string]any) // its own, for it was decoded now
		for _, name := range volatileClaims {
			delete(of, name)
		}
		out["claims"] = of
	}
	return out
}
