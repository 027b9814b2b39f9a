package hcl

import (
	"maps"
	"slices"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
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
	read := map[*sourceFile]*eval.Dependencies{}
	set := &lazyLocals{attrs: map[string]*hclsyntax.Attribute{}, members: l.local, diags: &l.diags}
	set.compute = func(a *hclsyntax.Attribute) *eval.Member { return l.evalLocal(a, files[a], read[files[a]]) }
	for _, b := range l.blocks["locals"] {
		rejectBlocks(&l.diags, b.Body)
		for _, a := range sortedAttributes(b.Body.Attributes) {
			if l.declareAt("local", a.Name, a.NameRange) {
				all, set.attrs[a.Name], files[a] = append(all, a), a, b.file
			}
			read[b.file] = &eval.Dependencies{}
		}
	}
	l.base = l.base.With("local", l.knownRoot("local", l.local))
	for _, a := range all {
		set.resolve(a.Name)
	}
	for _, b := range l.blocks["locals"] {
		if deps := read[b.file]; deps != nil {
			l.recordBlock(b, deps)
			delete(read, b.file)
		}
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

// evalLocal evaluates one local at load, and records what it reads.
func (l *loader) evalLocal(a *hclsyntax.Attribute, file *sourceFile, read *eval.Dependencies) *eval.Member {
	d := l.newDecoder(file)
	d.Deps = read
	n := d.CompileKnown(a.Expr, decode.Field{Name: a.Name, Secret: true})
	l.diags = append(l.diags, d.Diags...)
	l.config.observe(d.Observer)
	if !n.Known && len(d.Diags) == 0 && !l.readsFailedValue(a.Expr) {
		l.errorf(a.Expr.Range(), "Value not known",
			"local.%s must be known at load. For a value of a call, use a locals block inside the tool.", a.Name)
	}
	m := &eval.Member{Type: n.Type, Facts: eval.Same(n)}
	m.Supplied = m.Supplied || d.Diags.Credentials() != nil // what is reported here is not reported where it is read
	switch {
	case !n.Known:
		m.MarkFailed()
		for _, t := range a.Expr.Variables() {
			m.Missing = append(m.Missing, missingIn(l.membersOf(t))...)
		}
	case n.Value == nil:
		m.NullReason = "local." + a.Name + " is null"
	}
	return m
}

// membersOf returns the member that a traversal names, or all members of its root.
func (l *loader) membersOf(t hclv2.Traversal) []*eval.Member {
	r, _ := l.base.Find(t.RootName())
	if r == nil {
		return nil
	}
	if len(t) > 1 {
		if name, known := hclexpr.TraverserName(t[1]); known {
			if m := r.Members[name]; m != nil {
				return []*eval.Member{m}
			}
			return nil
		}
	}
	return slices.Collect(maps.Values(r.Members))
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
// not narrow them. Those that read steps wait for publishLocals.
func (w *operationDecoder) decodeLocals(d *decode.Decoder, b *hclsyntax.Block) {
	rejectBlocks(&d.Diags, b.Body)
	around, _ := d.Scope.Find("local")
	set := &lazyLocals{attrs: map[string]*hclsyntax.Attribute{}, members: maps.Clone(around.Members), diags: &d.Diags}
	set.compute = func(a *hclsyntax.Attribute) *eval.Member { return compileLocal(d, a, nil) }
	attrs := sortedAttributes(b.Body.Attributes)
	later := maps.Clone(around.Unavailable)
	for _, a := range attrs {
		if set.members[a.Name] != nil || later[a.Name] != "" {
			d.Errorf(a.NameRange, "Duplicate local", "There is already a top-level local %q. Choose another name.",
				a.Name)
			continue
		}
		set.attrs[a.Name] = a
	}
	if decode.FindBlock(w.block.Body, "step") != nil {
		later = w.deferStepLocals(attrs, set, later)
	}
	d.Scope = d.Scope.With("local", localRoot(set.members, later, around))
	for _, a := range attrs {
		set.resolve(a.Name)
	}
}

func localRoot(members map[string]*eval.Member, later map[string]string, around *eval.Root) *eval.Root {
	return &eval.Root{Noun: "local", Members: members, Unavailable: later, Type: eval.AnyType, Partial: around.Partial}
}

// deferStepLocals moves the locals that read results of steps, themselves or through other locals, from a set to
// w.stepLocals, each after those that it reads. It adds to later why they cannot be read yet, and returns that.
func (w *operationDecoder) deferStepLocals(
	attrs []*hclsyntax.Attribute, set *lazyLocals, later map[string]string,
) map[string]string {
	readsSteps := func(t hclv2.Traversal) bool {
		if t.RootName() != "local" || len(t) < 2 {
			return t.RootName() == "step"
		}
		other, _ := hclexpr.TraverserName(t[1])
		return later[other] != ""
	}
	order := &lazyLocals{attrs: map[string]*hclsyntax.Attribute{}, members: map[string]*eval.Member{}, diags: set.diags}
	order.compute = func(a *hclsyntax.Attribute) *eval.Member {
		w.stepLocals = append(w.stepLocals, a)
		return &eval.Member{}
	}
	for found := true; found; {
		found = false
		for _, a := range attrs {
			if set.attrs[a.Name] == nil || !slices.ContainsFunc(a.Expr.Variables(), readsSteps) {
				continue
			}
			if later == nil {
				later = map[string]string{}
			}
			later[a.Name] = "local." + a.Name + " reads results of steps, and no step has run here."
			order.attrs[a.Name], found = a, true
			delete(set.attrs, a.Name)
		}
	}
	for _, a := range attrs {
		if order.resolve(a.Name); order.members[a.Name] != nil && !slices.Contains(w.stepLocals, a) {
			set.members[a.Name] = order.members[a.Name] // it reads itself, which was reported
			delete(later, a.Name)
		}
	}
	return later
}

// publishLocals compiles the locals that read steps, each as soon as what it reads is decoded and proven not
// null. A read before that is an error that says why. With final set, the mistakes of the rest are reported.
//
// A local is tried after each step until it compiles. Its place cannot be found by sorting what it reads: a step that
// ends the call if step.a is null proves step.a not null for what follows, so that a local may compile only after a
// step that it does not read. Which proofs an expression needs, and what they make of its value, is what compiling it
// finds out; a list of preconditions would take the same walk through the expression, and one more when they hold.
func (w *operationDecoder) publishLocals(final bool) {
	d := w.dec
	if len(w.stepLocals) == 0 {
		return
	}
	around, _ := d.Scope.Find("local")
	members, later := maps.Clone(around.Members), maps.Clone(around.Unavailable)
	d.Scope = d.Scope.With("local", localRoot(members, later, around))
	for _, a := range w.stepLocals { // each is after those that it reads
		if members[a.Name] != nil {
			continue
		}
		attempt := *d
		attempt.Diags = nil
		m := compileLocal(&attempt, a, d.NonNull)
		if i := slices.IndexFunc(attempt.Diags, isError); i >= 0 && !final {
			later[a.Name] = "local." + a.Name + " cannot be computed here. " + attempt.Diags[i].Detail
			continue
		}
		d.Diags = append(d.Diags, attempt.Diags...)
		members[a.Name] = m
		delete(later, a.Name)
	}
}

// withoutStepLocals returns the scope of the text of a failure, where the steps that a local reads may not have
// run.
func (w *operationDecoder) withoutStepLocals(s *eval.Scope) *eval.Scope {
	around, _ := s.Find("local")
	members, later := maps.Clone(around.Members), map[string]string{}
	for _, a := range w.stepLocals {
		delete(members, a.Name)
		later[a.Name] = "local." + a.Name + " reads results of steps, and a step has failed. Use error.message."
	}
	return s.With("local", localRoot(members, later, around))
}

func isError(x *Diagnostic) bool { return x.Severity == diag.Error }

// sortedAttributes returns the attributes of a body in written order.
func sortedAttributes(attributes hclsyntax.Attributes) []*hclsyntax.Attribute {
	return slices.SortedFunc(maps.Values(attributes),
		func(a, b *hclsyntax.Attribute) int { return a.SrcRange.Start.Byte - b.SrcRange.Start.Byte })
}

// compileLocal compiles one local of a tool, where known are not null.
func compileLocal(d *decode.Decoder, a *hclsyntax.Attribute, known *eval.NonNull) *eval.Member {
	c := d.Compiler(decode.Field{Secret: true})
	c.NoteParts()
	n := c.Compile(a.Expr, hclexpr.LexicalEnv{NonNull: known})
	c.CheckWritten(a.Name, a.Expr)
	d.Diags = append(d.Diags, c.Diags...)
	m := &eval.Member{Local: true, Type: n.Type, Facts: eval.Same(n)}
	m.Eval = func(f *eval.Frame) (any, error) { return f.Local(a.Name, n.Eval) }
	if m.Written = c.EachWritten(a.Expr); c.Diags.Credentials() != nil {
		m.Supplied, m.Written = true, nil // what is reported here is not reported where it is read
	}
	if n.NullReason != "" {
		m.NullReason = "local." + a.Name + " may be null"
	}
	return m
}
