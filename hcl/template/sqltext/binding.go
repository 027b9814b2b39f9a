package sqltext

import (
	"fmt"

	"hatchel/hcl/template"
)

// Bindings returns how the interpolations of the program are bound. One that became text at load is not among them. It
// is empty for a nil Program.
func (p *Program) Bindings() (all []template.Binding) {
	if p == nil {
		return nil
	}
	p.root.bindings(func(h *template.Interpolation, how string, kind template.BindingKind, isParam bool) {
		if isParam && p.static {
			how = fmt.Sprintf("%s %d", how, len(all)+1)
		}
		all = append(all, template.Binding{Range: h.Range, How: how, Kind: kind})
	})
	return all
}

// bindings calls note with each interpolation, and with whether it is one parameter.
func (steps block) bindings(note func(*template.Interpolation, string, template.BindingKind, bool)) {
	for _, s := range steps {
		switch s := s.(type) {
		case *param:
			how := "SQL parameter"
			if s.kind == listOnly {
				how = "SQL array parameter"
			}
			note(s.of, how, template.Apart, true)
		case *listParam:
			note(s.of, "SQL parameters, one for each element", template.Apart, false)
		case *rowsParam:
			note(s.of, "SQL parameters, one row for each element", template.Apart, false)
		case *namesOp:
			note(s.of, "a quoted SQL name, one of those that the type lists", template.Name, false)
		case *rawOp:
			note(s.arg, "SQL text, one of those known at load", template.Listed, false)
		case *branch:
			s.then.bindings(note)
			s.other.bindings(note)
		case *loop:
			s.body.bindings(note)
		}
	}
}
