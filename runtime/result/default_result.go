package result

import (
	"hatchel/hcl"
	"hatchel/hcl/schema"
)

// defaultResult is the source of the result of a tool that declares none.
type defaultResult struct {
	member  string   // member of the output that is the value
	members []string // members of the output that are the value, as an object
	text    string   // member of the output that is sent as text alone

	schema     *schema.Type // type of the value; nil when unknown
	structured bool         // the value is sent as structuredContent
}

func newDefaultResult(t *hcl.Tool) (d defaultResult) {
	hasText := t.Text != nil || len(t.Content) > 0
	switch {
	case t.Result != nil:
		d.structured = true
		return d
	case len(t.Steps) != 1 || t.HasNamedSteps() || hasText && t.Returns == nil:
		return d
	}
	effects := t.Steps[0].Backend.Effects
	d.member, d.members, d.text = effects.Default.Member, effects.Default.Members, effects.Default.Text
	d.schema = defaultType(effects)
	d.structured = t.Returns != nil || d.schema != nil
	return d
}

// defaultType returns the type of the default result of a backend; nil for text, and for what is
// unknown.
func defaultType(e hcl.Effects) *schema.Type {
	if e.Output == nil {
		return nil
	}
	if e.Default.Member != "" {
		m, ok := e.Output.Lookup(e.Default.Member)
		if !ok || m.Type.Kind == schema.Any || m.Type.Kind == schema.String || m.Type.Kind == schema.Bytes {
			return nil
		}
		return m.Type
	}
	var members []*schema.Member
	for _, name := range e.Default.Members {
		if m, ok := e.Output.Lookup(name); ok {
			members = append(members, m)
		}
	}
	if len(members) == 0 {
		return nil
	}
	return schema.ObjectOf(members...)
}

// value returns the default result of an output.
func (d *defaultResult) value(output any) (any, error) {
	m, err := Members(output)
	if err != nil {
		return nil, err
	}
	if d.member != "" {
		return m[d.member], nil
	}
	out := make(map[string]any, len(d.members))
	for _, name := range d.members {
		if v, ok := m[name]; ok {
			out[name] = v
		}
	}
	return out, nil
}
