package hcl

import (
	"hatchel/hcl/decode"
	"hatchel/hcl/eval"
	"hatchel/hcl/eval/hclexpr"
	"slices"
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// lazyToolLocals are the locals blocks of a tool. They are compiled on demand, so that their order does not matter.
type lazyToolLocals struct {
	attrs   map[string]*hclsyntax.Attribute
	members map[string]*eval.Member // of the files too
	path    []string                // being compiled, for cycles
}

// decodeLocals adds names for values of the call. They are computed whenever they are first read, so no check around them tells them anything.
func (w *operationDecoder) decodeLocals(d *decode.Decoder, b *hclsyntax.Block) {
	for _, nested := range b.Body.Blocks {
		d.Errorf(nested.TypeRange, "Unexpected block", "A locals block holds names and values: `%s = …`.", nested.Type)
	}
	around, _ := d.Scope.Find("local")
	set := &lazyToolLocals{attrs: map[string]*hclsyntax.Attribute{}, members: make(map[string]*eval.Member, len(around.Members)+len(b.Body.Attributes))}
	for name, m := range around.Members {
		set.members[name] = m
	}
	attrs := sortedAttributes(b.Body.Attributes)
	for _, a := range attrs {
		if set.members[a.Name] != nil {
			d.Errorf(a.NameRange, "Duplicate local", "There is already a local %q. A tool cannot give it another meaning.", a.Name)
			continue
		}
		set.attrs[a.Name] = a
	}
	d.Scope = d.Scope.With("local", &eval.Root{Noun: "local", Members: set.members, Type: eval.AnyType, Partial: around.Partial})
	for _, a := range attrs {
		if set.attrs[a.Name] == a {
			set.compileLocal(d, a.Name)
		}
	}
}

// sortedAttributes are the attributes of a body as they were written.
func sortedAttributes(attributes hclsyntax.Attributes) []*hclsyntax.Attribute {
	attrs := make([]*hclsyntax.Attribute, 0, len(attributes))
	for _, a := range attributes {
		attrs = append(attrs, a)
	}
	sort.Slice(attrs, func(i, j int) bool { return attrs[i].SrcRange.Start.Byte < attrs[j].SrcRange.Start.Byte })
	return attrs
}

// compileLocal compiles one local after those that it reads.
func (s *lazyToolLocals) compileLocal(d *decode.Decoder, name string) {
	a := s.attrs[name]
	if a == nil || s.members[name] != nil {
		return
	}
	if slices.Contains(s.path, name) {
		d.Errorf(a.NameRange, "Local refers to itself", "local.%s is part of its own value: %s.", name, strings.Join(append(s.path, name), " → "))
		m := &eval.Member{Local: true}
		m.MarkFailed()
		s.members[name] = m
		return
	}
	s.path = append(s.path, name)
	for _, other := range localsReadBy(a.Expr) {
		s.compileLocal(d, other)
	}
	s.path = s.path[:len(s.path)-1]
	if s.members[name] != nil {
		return
	}
	c := d.Compiler(decode.Field{Name: name, Secret: true})
	n := c.Compile(a.Expr, hclexpr.LexicalEnv{})
	d.Diags = append(d.Diags, c.Diags...)
	m := &eval.Member{Local: true, Type: n.Type, Known: n.Known, Value: n.Value, Sensitive: n.Sensitive, CallerSpecific: n.CallerSpecific}
	m.Eval = func(f *eval.Frame) (any, error) { return f.Local(name, n.Eval) }
	if n.NullReason != "" {
		m.NullReason = "local." + name + " may be null"
	}
	s.members[name] = m
}

// localsReadBy are the locals that an expression reads.
func localsReadBy(e hclsyntax.Expression) (names []string) {
	for _, t := range e.Variables() {
		if t.RootName() == "local" && len(t) > 1 {
			if name, ok := hclexpr.TraverserName(t[1]); ok {
				names = append(names, name)
			}
		}
	}
	return names
}
