package hcl

import (
	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/eval/hclexpr"
	"slices"
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
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
			l.errorf(nested.TypeRange, "Unexpected block", "A locals block holds names and values: `%s = …`.", nested.Type)
		}
		for _, name := range diag.SortedNames(b.Body.Attributes) {
			a := b.Body.Attributes[name]
			key := "local " + name
			if first, twice := l.declared[key]; twice {
				l.errorf(a.NameRange, "Duplicate local", "local.%s is already declared at %s:%d.", name, first.File, first.Start.Line)
				continue
			}
			l.declared[key] = diag.RangeOf(a.NameRange)
			l.lazyLocals.exprs[name] = localExpr{a, b.file}
		}
	}
	l.base = l.base.With("local", l.knownRoot("local", l.local))
	names := diag.SortedNames(l.lazyLocals.exprs)
	sort.SliceStable(names, func(i, j int) bool {
		return l.lazyLocals.exprs[names[i]].attr.SrcRange.Start.Byte < l.lazyLocals.exprs[names[j]].attr.SrcRange.Start.Byte
	})
	for _, name := range names {
		l.evalLocal(name)
	}
}

// evalLocal evaluates one local after the ones it reads.
func (l *loader) evalLocal(name string) {
	e, ok := l.lazyLocals.exprs[name]
	if !ok || l.local[name] != nil {
		return
	}
	if slices.Contains(l.lazyLocals.path, name) {
		l.errorf(e.attr.NameRange, "Local refers to itself", "local.%s is part of its own value: %s.", name, strings.Join(append(l.lazyLocals.path, name), " → "))
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
		l.errorf(e.attr.Expr.Range(), "Value not known", "local.%s must be known when the file is loaded. A value of a call is named in a locals block inside its tool.", name)
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

// readsFailedValue reports whether an expression reads something whose own mistake was reported.
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
