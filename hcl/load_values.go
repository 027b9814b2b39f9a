package hcl

import "hatchel/hcl/schema"

// values reads what is known at load: types, variables, secrets, locals, the server.
func (l *loader) values() {
	l.variables, l.secrets, l.local = map[string]*member{}, map[string]*member{}, map[string]*member{}
	l.base = &scope{}
	for _, name := range []string{"input", "output", "step", "each", "caller", "error"} {
		l.base = l.base.without(name, name+" is known only during a call, and this is read once, when the file is loaded.")
	}
	for _, name := range []string{"var", "secret", "local"} {
		l.base = l.base.without(name, name+" cannot be read here: this is read before any value is known. Write the value itself.")
	}
	l.types = &typeSet{loader: l, blocks: map[string]block{}, done: map[string]*schema.Type{}}
	for _, b := range l.blocks["type"] {
		l.identifier("type", b.label(0), b.LabelRanges[0])
		if l.claim("type", b.label(0), b) {
			l.types.blocks[b.label(0)] = b
		}
	}
	for _, b := range l.blocks["variable"] {
		l.variable(b)
	}
	l.strayVariables()
	l.base = l.base.with("var", l.knownRoot("variable", l.variables))
	for _, b := range l.blocks["secret"] {
		l.secret(b)
	}
	l.base = l.base.with("secret", &root{noun: "secret", members: l.secrets, typ: anyType, sealed: true, partial: l.partial})
	l.locals()
	for _, name := range sortedNames(l.types.blocks) {
		b := l.types.blocks[name]
		_, diags := l.types.get(name, b.LabelRanges[0])
		l.diags = append(l.diags, adopt(diags)...)
	}
	l.server()
}
