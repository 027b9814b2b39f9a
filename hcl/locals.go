package hcl

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/eval/hclexpr"
)

// lazyLocals computes the locals of a scope on demand, so that their order does not matter.
type lazyLocals struct {
	attrs   map[string]*hclsyntax.Attribute
	members map[string]*eval.Member // the computed ones, and those of the scope around
	path    []string                // being computed, for cycles
	compute func(a *hclsyntax.Attribute) *eval.Member
	diags   *Diagnostics
}

// resolve computes one local after the locals that it reads.
func (s *lazyLocals) resolve(name string) {
	a := s.attrs[name]
	if a == nil || s.members[name] != nil {
		return
	}
	if slices.Contains(s.path, name) {
		s.diags.Errorf(diag.RangeOf(a.NameRange), "Local refers to itself", "local.%s is part of its own value: %s.",
			name, strings.Join(append(s.path, name), " → "))
		s.members[name] = &eval.Member{Local: true}
		s.members[name].MarkFailed()
		return
	}
	s.path = append(s.path, name)
	for _, t := range a.Expr.Variables() {
		if t.RootName() == "local" && len(t) > 1 {
			if other, ok := hclexpr.TraverserName(t[1]); ok {
				s.resolve(other)
			}
		}
	}
	s.path = s.path[:len(s.path)-1]
	if s.members[name] == nil {
		s.members[name] = s.compute(a)
	}
}

// decodeLocals evaluates the locals blocks of all files.
func (l *loader) decodeLocals() {
	var all []*hclsyntax.Attribute
	files := map[*hclsyntax.Attribute]*sourceFile{}
	set := &lazyLocals{attrs: map[string]*hclsyntax.Attribute{}, members: l.local, diags: &l.diags}
	set.compute = func(a *hclsyntax.Attribute) *eval.Member { return l.evalLocal(a, files[a]) }
	for _, b := range l.blocks["locals"] {
		rejectBlocks(&l.diags, b.Body)
		for _, a := range sortedAttributes(b.Body.Attributes) {
			if l.declareAt("local", a.Name, a.NameRange) {
				all, set.attrs[a.Name], files[a] = append(all, a), a, b.file
			}
		}
	}
	l.base = l.base.With("local", l.knownRoot("local", l.local))
	for _, a := range all {
		set.resolve(a.Name)
	}
	l.resolveTypes()
	l.digestValues()
}

// rejectBlocks reports blocks in a locals block.
func rejectBlocks(diags *Diagnostics, b *hclsyntax.Body) {
	for _, nested := range b.Blocks {
		diags.Errorf(diag.RangeOf(nested.TypeRange), "Unexpected block",
			"A locals block holds names and values: `%s = …`.", nested.Type)
	}
}

// evalLocal evaluates one local at load.
func (l *loader) evalLocal(a *hclsyntax.Attribute, file *sourceFile) *eval.Member {
	d := l.newDecoder(file)
	n := d.CompileKnown(a.Expr, decode.Field{Secret: true})
	l.diags = append(l.diags, d.Diags...)
	if !n.Known && len(d.Diags) == 0 && !l.readsFailedValue(a.Expr) {
		l.errorf(a.Expr.Range(), "Value not known",
			"local.%s must be known at load. For a value of a call, use a locals block inside the tool.", a.Name)
	}
	m := &eval.Member{Type: n.Type, Known: true, Value: n.Value, Sensitive: n.Sensitive}
	switch {
	case !n.Known:
		m.MarkFailed()
	case n.Value == nil:
		m.NullReason = "local." + a.Name + " is null"
	}
	return m
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

// decodeLocals adds the locals of a tool. They are computed on first read, so checks before them do
// not narrow them.
func (w *operationDecoder) decodeLocals(d *decode.Decoder, b *hclsyntax.Block) {
	rejectBlocks(&d.Diags, b.Body)
	around, _ := d.Scope.Find("local")
	set := &lazyLocals{attrs: map[string]*hclsyntax.Attribute{}, members: maps.Clone(around.Members), diags: &d.Diags}
	set.compute = func(a *hclsyntax.Attribute) *eval.Member { return compileLocal(d, a) }
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
		set.resolve(a.Name)
	}
}

// sortedAttributes returns the attributes of a body in written order.
func sortedAttributes(attributes hclsyntax.Attributes) []*hclsyntax.Attribute {
	return slices.SortedFunc(maps.Values(attributes),
		func(a, b *hclsyntax.Attribute) int { return a.SrcRange.Start.Byte - b.SrcRange.Start.Byte })
}

// compileLocal compiles one local of a tool.
func compileLocal(d *decode.Decoder, a *hclsyntax.Attribute) *eval.Member {
	c := d.Compiler(decode.Field{Secret: true})
	n := c.Compile(a.Expr, hclexpr.LexicalEnv{})
	d.Diags = append(d.Diags, c.Diags...)
	m := &eval.Member{Local: true, Type: n.Type, Known: n.Known, Value: n.Value, Sensitive: n.Sensitive,
		CallerSpecific: n.CallerSpecific, Absent: n.Absent, Choices: n.Choices, Dash: n.Dash}
	m.Eval = func(f *eval.Frame) (any, error) { return f.Local(a.Name, n.Eval) }
	if n.NullReason != "" {
		m.NullReason = "local." + a.Name + " may be null"
	}
	return m
}
