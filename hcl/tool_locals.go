package hcl

import (
	"slices"
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// callLocalSet are the locals blocks of a tool. They are compiled on demand, so that their order does not matter.
type callLocalSet struct {
	attrs   map[string]*hclsyntax.Attribute
	members map[string]*member // of the files too
	path    []string           // being compiled, for cycles
}

// localsBlock adds names for values of the call. They are computed whenever they are first read, so no check around them tells them anything.
func (w *workDecl) localsBlock(d *decoder, b *hclsyntax.Block) {
	for _, nested := range b.Body.Blocks {
		d.errorf(nested.TypeRange, "Unexpected block", "A locals block holds names and values: `%s = …`.", nested.Type)
	}
	around, _ := d.scope.find("local")
	set := &callLocalSet{attrs: map[string]*hclsyntax.Attribute{}, members: make(map[string]*member, len(around.members)+len(b.Body.Attributes))}
	for name, m := range around.members {
		set.members[name] = m
	}
	attrs := inOrder(b.Body.Attributes)
	for _, a := range attrs {
		if set.members[a.Name] != nil {
			d.errorf(a.NameRange, "Duplicate local", "There is already a local %q. A tool cannot give it another meaning.", a.Name)
			continue
		}
		set.attrs[a.Name] = a
	}
	d.scope = d.scope.with("local", &root{noun: "local", members: set.members, typ: anyType, partial: around.partial})
	for _, a := range attrs {
		if set.attrs[a.Name] == a {
			set.compile(d, a.Name)
		}
	}
}

// inOrder are the attributes of a body as they were written.
func inOrder(attributes hclsyntax.Attributes) []*hclsyntax.Attribute {
	attrs := make([]*hclsyntax.Attribute, 0, len(attributes))
	for _, a := range attributes {
		attrs = append(attrs, a)
	}
	sort.Slice(attrs, func(i, j int) bool { return attrs[i].SrcRange.Start.Byte < attrs[j].SrcRange.Start.Byte })
	return attrs
}

// compile compiles one local after those that it reads.
func (s *callLocalSet) compile(d *decoder, name string) {
	a := s.attrs[name]
	if a == nil || s.members[name] != nil {
		return
	}
	if slices.Contains(s.path, name) {
		d.errorf(a.NameRange, "Local refers to itself", "local.%s is part of its own value: %s.", name, strings.Join(append(s.path, name), " → "))
		m := &member{own: true}
		m.fail()
		s.members[name] = m
		return
	}
	s.path = append(s.path, name)
	for _, other := range localsIn(a.Expr) {
		s.compile(d, other)
	}
	s.path = s.path[:len(s.path)-1]
	if s.members[name] != nil {
		return
	}
	c := d.compiler(Field{Name: name, Secret: true})
	n := c.expr(a.Expr, env{})
	d.diags = append(d.diags, c.diags...)
	m := &member{own: true, typ: n.typ, known: n.known, value: n.value, sensitive: n.sensitive, caller: n.caller}
	m.eval = func(f *Frame) (any, error) { return f.local(name, n.eval) }
	if n.null != "" {
		m.nullable = "local." + name + " may be null"
	}
	s.members[name] = m
}

// localsIn are the locals that an expression reads.
func localsIn(e hclsyntax.Expression) (names []string) {
	for _, t := range e.Variables() {
		if t.RootName() == "local" && len(t) > 1 {
			if name, ok := stepName(t[1]); ok {
				names = append(names, name)
			}
		}
	}
	return names
}
