package runtime

import (
	"slices"

	"hatchel/hcl"
)

// needs looks at all that is bound together: what a client must be able to do for it, and whether what must be remembered can be kept.
func (c *compiler) needs() {
	for _, r := range c.g.routines {
		r.requires = requirements(r)
	}
	for _, r := range c.g.routines {
		if err := c.remembered(r); err != nil {
			c.diags = append(c.diags, err)
			return // it would be said of every other one, too
		}
	}
}

// requirements are what the client of a routine must be able to do.
func requirements(r *routine) []string {
	all := slices.Clone(r.decl.Requires)
	for _, s := range r.stages {
		if call, ok := s.action.(*toolCall); ok {
			for _, name := range requirements(&call.target.routine) {
				if !slices.Contains(all, name) {
					all = append(all, name)
				}
			}
		}
	}
	return all
}

// remembered sees to it that what a routine has to remember can be kept.
func (c *compiler) remembered(r *routine) *hcl.Diagnostic {
	state := c.build.State
	if p := c.g.programs[r.decl.Name]; r.noun == "tool" && p.tool.Task != nil {
		p.handover = 1 + slices.IndexFunc(p.decl.Steps, func(s *hcl.Step) bool { return s.Name == p.tool.Task.After && s.Name != "" })
		if err := state.tasks.begin(c.ctx); err != nil {
			return unkept(r.decl.Range, "Calls of this tool become tasks", err)
		}
	}
	if r.asks {
		if err := state.ready(c.ctx); err != nil {
			asks := slices.IndexFunc(r.stages, func(s *stage) bool { _, ok := s.action.(*round); return ok })
			return unkept(r.stages[asks].step.Range, "This asks the client", err)
		}
	}
	return nil
}

func unkept(at hcl.Range, why string, err error) *hcl.Diagnostic {
	return &hcl.Diagnostic{Summary: "State cannot be kept", Detail: why + ", so something must be remembered between requests, and " + err.Error() + ".", Subject: at}
}
