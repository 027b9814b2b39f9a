package hcl

import (
	"slices"
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/eval/hclexpr"
)

// lazyLocals evaluates locals blocks on demand, so that their order does not matter.
type lazyLocals struct {
	exprs map[string]localExpr
	path  []string // being evaluated, for cycles
}

type localExpr struct {
	attr *hclsyntax.Attribute
	file *sourceFile
}

// decodeLocals evaluates the locals blocks of all files.
func (l *loader) decodeLocals() {
	l.lazyLocals = &lazyLocals{exprs: map[string]localExpr{}}
	for _, b := range l.blocks["locals"] {
		for _, nested := range b.Body.Blocks {
			l.errorf(nested.TypeRange, "Unexpected block", "A locals block holds names and values: `%s = …`.",
				nested.Type)
		}
		for _, name := range diag.SortedNames(b.Body.Attributes) {
			a := b.Body.Attributes[name]
			key := "local " + name
			if first, twice := l.declared[key]; twice {
				l.errorf(a.NameRange, "Duplicate local", "local.%s is already declared at %s:%d.", name, first.File,
					first.Start.Line)
				continue
			}
			l.declared[key] = diag.RangeOf(a.NameRange)
			l.lazyLocals.exprs[name] = localExpr{a, b.file}
		}
	}
	l.base = l.base.With("local", l.knownRoot("local", l.local))
	names := diag.SortedNames(l.lazyLocals.exprs)
	sort.SliceStable(names, func(i, j int) bool {
		a, b := l.lazyLocals.exprs[names[i]].attr, l.lazyLocals.exprs[names[j]].attr
		return a.SrcRange.Start.Byte < b.SrcRange.Start.Byte
	})
	for _, name := range names {
		l.evalLocal(name)
	}
	l.resolveTypes()
	l.digestValues()
}

// evalLocal evaluates one local after the ones it reads.
func (l *loader) evalLocal(name string) {
	e, ok := l.lazyLocals.exprs[name]
	if !ok || l.local[name] != nil {
		return
	}
	if slices.Contains(l.lazyLocals.path, name) {
		l.errorf(e.attr.NameRange, "Local refers to itself", "local.%s is part of its own value: %s.", name,
			strings.Join(append(l.lazyLocals.path, name), " → "))
		l.local[name] = &eval.Member{}
		l.local[name].MarkFailed()
		return
	}
	l.lazyLocals.path = append(l.lazyLocals.path, name)
	for _, other := range localsReadBy(e.attr.Expr) {
		l.evalLocal(other)
	}
	l.lazyLocals.path = l.lazyLocals.path[:len(l.lazyLocals.path)-1]
	if l.local[name] != nil {
		return
	}
	d := l.newDecoder(e.file)
	n := d.CompileKnown(e.attr.Expr, decode.Field{Name: name, Secret: true})
	l.diags = append(l.diags, d.Diags...)
	if !n.Known && len(d.Diags) == 0 && !l.readsFailedValue(e.attr.Expr) {
		l.errorf(e.attr.Expr.Range(), "Value not known",
			"local.%s must be known at load. For a value of a call, use a locals block inside the tool.", name)
	}
	m := &eval.Member{Type: n.Type, Known: true, Value: n.Value, Sensitive: n.Sensitive}
	switch {
	case !n.Known:
		m.MarkFailed()
	case n.Value == nil:
		m.NullReason = "local." + name + " is null"
	}
	l.local[name] = m
}

// readsFailedValue reports whether an expression reads a value that failed to load, which was
// reported.
func (l *loader) readsFailedValue(e hclsyntax.Expression) bool {
	for _, t := range e.Variables() {
		r, _ := l.base.Find(t.RootName())
		if r == nil || len(t) < 2 {
			continue
		}
		name, _ := hclexpr.TraverserName(t[1])
		if m := r.Members[name]; m == nil || !m.Known {
			return true
		}
	}
	return false
}

// lazyToolLocals compiles the locals blocks of a tool on demand, so that their order does not
// matter.
type lazyToolLocals struct {
	attrs   map[string]*hclsyntax.Attribute
	members map[string]*eval.Member // including top-level locals
	path    []string                // being compiled, for cycles
}

// decodeLocals adds the locals of a tool. They are computed on first read, so checks before them do
// not narrow them.
func (w *operationDecoder) decodeLocals(d *decode.Decoder, b *hclsyntax.Block) {
	for _, nested := range b.Body.Blocks {
		d.Errorf(nested.TypeRange, "Unexpected block", "A locals block holds names and values: `%s = …`.", nested.Type)
	}
	around, _ := d.Scope.Find("local")
	set := &lazyToolLocals{attrs: map[string]*hclsyntax.Attribute{},
		members: make(map[string]*eval.Member, len(around.Members)+len(b.Body.Attributes))}
	for name, m := range around.Members {
		set.members[name] = m
	}
	attrs := sortedAttributes(b.Body.Attributes)
	for _, a := range attrs {
		if set.members[a.Name] != nil {
			d.Errorf(a.NameRange, "Duplicate local", "There is already a top-level local %q. Choose another name.",
				a.Name)
			continue
		}
		set.attrs[a.Name] = a
	}
	d.Scope = d.Scope.With("local", &eval.Root{Noun: "local", Members: set.members, Type: eval.AnyType,
		Partial: around.Partial})
	for _, a := range attrs {
		if set.attrs[a.Name] == a {
			set.compileLocal(d, a.Name)
		}
	}
}

// sortedAttributes returns the attributes of a body in written order.
func sortedAttributes(attributes hclsyntax.Attributes) []*hclsyntax.Attribute {
	attrs := make([]*hclsyntax.Attribute, 0, len(attributes))
	for _, a := range attributes {
		attrs = append(attrs, a)
	}
	sort.Slice(attrs, func(i, j int) bool { return attrs[i].SrcRange.Start.Byte < attrs[j].SrcRange.Start.Byte })
	return attrs
}

// compileLocal compiles one local, after the locals that it reads.
func (s *lazyToolLocals) compileLocal(d *decode.Decoder, name string) {
	a := s.attrs[name]
	if a == nil || s.members[name] != nil {
		return
	}
	if slices.Contains(s.path, name) {
		d.Errorf(a.NameRange, "Local refers to itself", "local.%s is part of its own value: %s.", name,
			strings.Join(append(s.path, name), " → "))
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
	m := &eval.Member{Local: true, Type: n.Type, Known: n.Known, Value: n.Value, Sensitive: n.Sensitive,
		CallerSpecific: n.CallerSpecific}
	m.Eval = func(f *eval.Frame) (any, error) { return f.Local(name, n.Eval) }
	if n.NullReason != "" {
		m.NullReason = "local." + name + " may be null"
	}
	s.members[name] = m
}

// localsReadBy returns the locals that an expression reads.
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
