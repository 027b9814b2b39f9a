package runtime

import "maps"

// approvalPurpose is what a call is approved for: this tool as it is configured, these arguments, this caller with all that the call can read of them. A key names one piece of work, and
// is no part of what it is.
func (p *Program) approvalPurpose(c *call) (string, error) {
	frozen, err := c.keyless()
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
	caller, err := appendFrozen(nil, lasts(c.frame.Caller))
	return purposeOf("approval", p.decl.Name, p.sealed, string(frozen), c.action.Owner, string(caller), toolset, nested).String(), err
}

// passing are the claims that differ from one token to the next of the same person (RFC 7519, section 4.1).
var passing = []string{"exp", "iat", "nbf", "jti"}

// lasts is what is known of a caller but for what a new token changes.
func lasts(caller map[string]any) map[string]any {
	known, ok := caller["claims"].(claims)
	if !ok {
		return caller
	}
	out := maps.Clone(caller)
	if v, err := known.Value(); err == nil {
		of, _ := v.(map[string]any) // its own, for it was decoded now
		for _, name := range passing {
			delete(of, name)
		}
		out["claims"] = of
	}
	return out
}
