package hcl

import (
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
)

// decodeValues reads what is known at load: types, variables, secrets, locals, the server.
func (l *loader) decodeValues() {
	l.variables, l.secrets, l.local = map[string]*eval.Member{}, map[string]*eval.Member{}, map[string]*eval.Member{}
	l.base = &eval.Scope{}
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
	l.base = l.base.With("secret", &eval.Root{Noun: "secret", Members: l.secrets, Type: eval.AnyType, Hidden: true, Partial: l.partial})
	l.decodeLocals()
	for _, name := range diag.SortedNames(l.types.blocks) {
		b := l.types.blocks[name]
		_, diags := l.types.resolve(name, b.LabelRanges[0])
		l.diags = append(l.diags, diag.FromHCL(diags)...)
	}
	l.decodeServer()
}

// knownRoot is a root whose members are all known at load.
func (l *loader) knownRoot(noun string, members map[string]*eval.Member) *eval.Root {
	return &eval.Root{Noun: noun, Members: members, Type: eval.AnyType, Partial: l.partial, Value: func(*eval.Frame) (any, error) {
		all := make(map[string]any, len(members))
		for name, m := range members {
			all[name] = m.Value
		}
		return all, nil
	}}
}
