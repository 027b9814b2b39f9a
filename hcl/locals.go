package hcl

import (
	"slices"
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// A localSet evaluates locals blocks on demand, so that their order does not matter.
type localSet struct {
	exprs map[string]localExpr
	path  []string // being evaluated, for cycles
}

type localExpr struct {
	attr *hclsyntax.Attribute
	file *source
}

// locals evaluates the locals blocks of all files.
func (l *loader) locals() {
	l.localSet = &localSet{exprs: map[string]localExpr{}}
	for _, b := range l.blocks["locals"] {
		for _, nested := range b.Body.Blocks {
			l.errorf(nested.TypeRange, "Unexpected block", "A locals block holds names and values: `%s = …`.", nested.Type)
		}
		for _, name := range sortedNames(b.Body.Attributes) {
			a := b.Body.Attributes[name]
			key := "local " + name
			if first, twice := l.declared[key]; twice {
				l.errorf(a.NameRange, "Duplicate local", "local.%s is already declared at %s:%d.", name, first.File, first.Start.Line)
				continue
			}
			l.declared[key] = at(a.NameRange)
			l.localSet.exprs[name] = localExpr{a, b.file}
		}
	}
	l.base = l.base.with("local", l.knownRoot("local", l.local))
	names := sortedNames(l.localSet.exprs)
	sort.SliceStable(names, func(i, j int) bool {
		return l.localSet.exprs[names[i]].attr.SrcRange.Start.Byte < l.localSet.exprs[names[j]].attr.SrcRange.Start.Byte
	})
	for _, name := range names {
		l.evalLocal(name)
	}
}

// evalLocal evaluates one local after the ones it reads.
func (l *loader) evalLocal(name string) {
	e, ok := l.localSet.exprs[name]
	if !ok || l.local[name] != nil {
		return
	}
	if slices.Contains(l.localSet.path, name) {
		l.errorf(e.attr.NameRange, "Local refers to itself", "local.%s is part of its own value: %s.", name, strings.Join(append(l.localSet.path, name), " → "))
		l.local[name] = &member{}
		l.local[name].fail()
		return
	}
	l.localSet.path = append(l.localSet.path, name)
	for _, other := range localsIn(e.attr.Expr) {
		l.evalLocal(other)
	}
	l.localSet.path = l.localSet.path[:len(l.localSet.path)-1]
	if l.local[name] != nil {
		return
	}
	d := l.decoder(e.file)
	n := d.compileKnown(e.attr.Expr, Field{Name: name, Secret: true})
	l.diags = append(l.diags, d.diags...)
	if !n.known && len(d.diags) == 0 && !l.failed(e.attr.Expr) {
		l.errorf(e.attr.Expr.Range(), "Value not known", "local.%s must be known when the file is loaded. A value of a call is named in a locals block inside its tool.", name)
	}
	m := &member{typ: n.typ, known: true, value: n.value, sensitive: n.sensitive}
	switch {
	case !n.known:
		m.fail()
	case n.value == nil:
		m.nullable = "local." + name + " is null"
	}
	l.local[name] = m
}

// failed reports whether an expression reads something whose own mistake was reported.
func (l *loader) failed(e hclsyntax.Expression) bool {
	for _, t := range e.Variables() {
		r, _ := l.base.find(t.RootName())
		if r == nil || len(t) < 2 {
			continue
		}
		name, _ := stepName(t[1])
		if m := r.members[name]; m == nil || !m.known {
			return true
		}
	}
	return false
}
