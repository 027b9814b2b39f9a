package hcl

import "hatchel/hcl/schema"

// decodeValues reads what is known at load: types, variables, secrets, locals, the server.
func (l *loader) decodeValues() {
	l.variables, l.secrets, l.local = map[string]*Member{}, map[string]*Member{}, map[string]*Member{}
	l.base = &Scope{}
	for _, name := range []string{"input", "output", "step", "each", "caller", "error"} {
		l.base = l.base.Without(name, name+" is known only during a call, and this is read once, when the file is loaded.")
	}
	for _, name := range []string{"var", "secret", "local"} {
		l.base = l.base.Without(name, name+" cannot be read here: this is read before any value is known. Write the value itself.")
	}
	l.types = &lazyTypes{loader: l, blocks: map[string]sourceBlock{}, done: map[string]*schema.Type{}}
	for _, b := range l.blocks["type"] {
		l.checkIdentifier("type", b.label(0), b.LabelRanges[0])
		if l.declare("type", b.label(0), b) {
			l.types.blocks[b.label(0)] = b
		}
	}
	for _, b := range l.blocks["variable"] {
		l.decodeVariable(b)
	}
	l.checkStrayVariables()
	l.base = l.base.With("var", l.knownRoot("variable", l.variables))
	for _, b := range l.blocks["secret"] {
		l.decodeSecret(b)
	}
	l.base = l.base.With("secret", &Root{Noun: "secret", Members: l.secrets, Type: AnyType, Hidden: true, Partial: l.partial})
	l.decodeLocals()
	for _, name := range SortedNames(l.types.blocks) {
		b := l.types.blocks[name]
		_, diags := l.types.resolve(name, b.LabelRanges[0])
		l.diags = append(l.diags, FromHCL(diags)...)
	}
	l.decodeServer()
}

// knownRoot is a root whose members are all known at load.
func (l *loader) knownRoot(noun string, members map[string]*Member) *Root {
	return &Root{Noun: noun, Members: members, Type: AnyType, Partial: l.partial, Value: func(*Frame) (any, error) {
		all := make(map[string]any, len(members))
		for name, m := range members {
			all[name] = m.Value
		}
		return all, nil
	}}
}
