package call

import (
	"encoding/json"
	"slices"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/runtime/durable/audit"
)

// identifiedStep is a step, of an operation or of a tool that it calls, which acts in its backend as the caller.
type identifiedStep struct {
	action     adapters.Identified
	connection *hcl.Connection
	certain    bool // every call runs the step, and fails if it fails
}

// FindIdentities finds the steps that act as the caller, also in the tools that steps call. It must be called when all
// operations have their steps.
func (o *Operation) FindIdentities() { o.identified = o.identifiedSteps(nil, true) }

// identifiedSteps appends the steps that act as the caller. Certain is set if every call runs the operation.
func (o *Operation) identifiedSteps(found []identifiedStep, certain bool) []identifiedStep {
	for _, s := range o.Steps {
		certain := certain && s.Decl.When == nil && s.Decl.Each == nil && !s.Decl.ContinueOnError
		switch action := s.Action.(type) {
		case *toolCall:
			found = action.target.identifiedSteps(found, certain)
		case adapters.Identified:
			if !action.IdentityNeeded() {
				continue
			}
			of := s.Decl.Backend.Connection
			known := slices.IndexFunc(found, func(f identifiedStep) bool { return f.connection == of })
			if known >= 0 {
				found[known].certain = found[known].certain || certain
				continue
			}
			found = append(found, identifiedStep{action, of, certain})
		}
	}
	return found
}

// identities returns as whom the steps of a call act, one for each connection. It leaves out those that the caller does
// not have. The error is that of a step which every call runs.
func (o *Operation) identities(call *adapters.Call) (all []*adapters.Identity, err error) {
	for _, s := range o.identified {
		identity, failed := s.action.Identity(call)
		switch {
		case failed == nil:
			all = append(all, identity)
		case s.certain && err == nil:
			err = failed
		}
	}
	return all, err
}

// checkIdentities rejects a call some of whose steps cannot act as its caller, before an earlier step does anything.
// A call of one step finds that out itself.
func (c *engine) checkIdentities() error {
	if len(c.operation.identified) == 0 || len(c.operation.Steps) == 1 {
		return nil
	}
	if _, err := c.operation.identities(&c.action); err != nil {
		return c.clock.cause(err)
	}
	return nil
}

// appendIdentity appends to the parts of a name what is different for calls that act as others; nothing for those that
// act as the logins of their connections.
func (o *Operation) appendIdentity(parts []string, call *adapters.Call) []string {
	if len(o.identified) == 0 {
		return parts
	}
	all, _ := o.identities(call)
	text, _ := json.Marshal(all) // texts
	return append(parts, string(text))
}

// recordIdentities adds to the common part of the records of a call as whom its steps act: without secrets, sensitive
// values and what the configuration omits.
func (c *engine) recordIdentities() {
	o := c.operation
	if c.audit == nil || len(o.identified) == 0 {
		return
	}
	omitted := func(name string) bool { return slices.Contains(o.Env.AuditOmits, name) }
	all, _ := o.identities(&c.action)
	for _, i := range all {
		r := audit.Identity{Connection: i.Kind + "." + i.Connection}
		if !omitted("instance") {
			r.Instance = i.Instance
		}
		if !omitted("role") {
			r.Role = i.Role
		}
		for _, v := range i.Session {
			switch {
			case omitted(v.Name):
				continue
			case v.Sensitive:
				v.Value = hcl.Hidden
			}
			if r.Session == nil {
				r.Session = map[string]string{}
			}
			r.Session[v.Name] = o.Env.Scrubber.Text(v.Value)
		}
		c.audit.common.Identities = append(c.audit.common.Identities, r)
	}
}

// recordCredentials adds to the common part of the records of a call whose credentials the connections of its steps
// have by then. Steps may have fetched them.
func (c *engine) recordCredentials() {
	common := &c.audit.common
	common.Identities = c.operation.addCredentials(slices.Clone(common.Identities))
}

// addCredentials adds the credentials of the steps of an operation, and of the tools that they call, to the identities
// of their connections.
func (o *Operation) addCredentials(all []audit.Identity) []audit.Identity {
	for _, s := range o.Steps {
		switch action := s.Action.(type) {
		case *toolCall:
			all = action.target.addCredentials(all)
		case adapters.SignedIn:
			state := action.Credential()
			if state == nil || state.Identity == "" {
				continue
			}
			of := slices.IndexFunc(all, func(i audit.Identity) bool { return i.Connection == s.connection })
			if of < 0 {
				of = len(all)
				all = append(all, audit.Identity{Connection: s.connection})
			}
			all[of].Credential = o.Env.Scrubber.Text(state.Identity)
		}
	}
	return all
}
