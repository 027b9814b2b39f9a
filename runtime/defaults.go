package runtime

import (
	"hatchel/hcl"
	"hatchel/hcl/schema"
)

// defaultResult say where the answer of a tool comes from when it does not say so itself, decided once at compile.
type defaultResult struct {
	member  string   // of output, that is the value
	members []string // of output, that are the value as an object
	text    string   // member of output that is sent as text alone

	schema     *schema.Type // of the value that a member or members are; nil when unknown
	structured bool         // the value is sent as structuredContent
}

func newDefaultResult(t *hcl.Tool) (a defaultResult) {
	worded := t.Text != nil || len(t.Content) > 0
	switch {
	case t.Result != nil:
		a.structured = true
		return a
	case len(t.Steps) != 1 || t.HasNamedSteps() || worded && t.Returns == nil:
		return a
	}
	facts := t.Steps[0].Backend.Effects
	a.member, a.members, a.text = facts.Default.Member, facts.Default.Members, facts.Default.Text
	a.schema = defaultType(facts)
	a.structured = t.Returns != nil || a.schema != nil
	return a
}

// defaultType is what is known of the default result, as far as it says anything; text is not structured.
func defaultType(f hcl.Effects) *schema.Type {
	if f.Output == nil {
		return nil
	}
	d := f.Default
	if d.Member != "" {
		m, ok := f.Output.Lookup(d.Member)
		if !ok || m.Type.Kind == schema.Any || m.Type.Kind == schema.String || m.Type.Kind == schema.Bytes {
			return nil
		}
		return m.Type
	}
	var members []*schema.Member
	for _, name := range d.Members {
		if m, ok := f.Output.Lookup(name); ok {
			members = append(members, m)
		}
	}
	if len(members) == 0 {
		return nil
	}
	return schema.ObjectOf(members...)
}

// outputType is what the tool advertises as its outputSchema, nil for none.
func (p *Program) outputType() *schema.Type {
	if p.tool.Returns != nil {
		return p.tool.Returns
	}
	if t := p.probedType.Load(); t != nil {
		return t
	}
	return p.defaults.schema
}
