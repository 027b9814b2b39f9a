package shelltext

import "hatchel/hcl/template"

// Bindings returns how the interpolations of the command are bound. It is empty for a nil Argv.
func (a *Argv) Bindings() []template.Binding {
	if a == nil {
		return nil
	}
	return argvBindings(a.elements)
}

func argvBindings(elements []argvElement) (all []template.Binding) {
	for i := range elements {
		e := &elements[i]
		switch {
		case e.Value != nil && e.Value.Type.Kind == template.List:
			all = append(all, template.Binding{Range: e.Value.Range,
				How: "argv elements, one for each element of the list", Kind: template.Apart})
		case e.Value != nil:
			all = append(all, template.Binding{Range: e.Value.Range, How: "one argv element", Kind: template.Apart})
		case e.Text != nil:
			for _, h := range interpolations(e.Text.Nodes) {
				all = append(all, template.Binding{
					Range: h.Range, How: "a part of one argv element", Kind: template.Apart,
				})
			}
		case e.Group != nil:
			all = append(all, argvBindings(e.group)...)
		case e.Cond != nil:
			all = append(all, argvBindings([]argvElement{*e.then, *e.els})...)
		}
	}
	return all
}

// Bindings returns how the interpolations of the commands are bound. It is empty for a nil Pipe.
func (p *Pipe) Bindings() (all []template.Binding) {
	if p == nil {
		return nil
	}
	for i := range p.stages {
		all = append(all, p.stages[i].bindings()...)
	}
	return all
}

func (s *stage) bindings() []template.Binding {
	if s == nil {
		return nil
	}
	return append(append(s.argv.Bindings(), s.then.bindings()...), s.els.bindings()...)
}

// scriptPlaces describes how the shell reads a variable in its context.
var scriptPlaces = map[quoteContext]string{
	ctxBare:           ", expanded as one word",
	ctxQuoted:         ", expanded inside double quotes",
	ctxSingleQuoted:   ", expanded between the quotes",
	ctxDollarQuoted:   ", expanded between the quotes",
	ctxArithmetic:     ", read as a number",
	ctxHereDocPattern: ", expanded in the here-document",
}

// Bindings returns how the interpolations of the script are bound. It is empty for a nil Script.
func (s *Script) Bindings() (all []template.Binding) {
	if s == nil {
		return nil
	}
	for _, h := range s.values {
		how := "an environment variable" + scriptPlaces[h.context]
		all = append(all, template.Binding{Range: h.Range, How: how, Kind: template.Apart})
	}
	return all
}
