package openapi

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// recur ends the expansion of a schema that contains itself: the tree means the one around it.
func (x *expander) recur(p *pendingTree, id *yaml.Node) {
	direct, finite := true, false // nothing is in between; a value can end
	q := p
	for around := p.parent; ; q, around = around, around.parent {
		switch t := around.tree; t.kind {
		case objectKind:
			direct, finite = false, finite || q.optional > around.optional || q.tree.nullable
		case listKind, setKind, mapKind:
			direct, finite = false, finite || q.tree.nullable || t.mayBeEmpty()
		case oneOfKind:
			finite = finite || slices.ContainsFunc(t.options, func(o *tree) bool {
				return o != q.tree && (!o.isContainer() || o.mayBeEmpty())
			})
		}
		if around.source.identity() == id {
			q = around
			break
		}
	}
	if !x.json || p.source.name == "" || direct || !finite {
		x.cutTree(p, "recursive schema")
		return
	}
	p.tree.kind, p.tree.of, p.tree.text = recursionKind, q.tree, ""
	x.recursions = append(x.recursions, p)
}

// settleReferences lets the components that occur again mean their first occurrence, and cuts what cannot be a
// reference to a type block: a tree that was cut differs from tool to tool and has none.
func (x *expander) settleReferences() {
	for _, p := range x.repeated {
		p.tree.kind, p.tree.of, p.tree.again = recursionKind, x.components[p.source.identity()], true
	}
	cut := func(p *pendingTree, why string) {
		p.tree.kind, p.tree.of, p.tree.again = p.source.kind, nil, false
		x.cutTree(p, why)
	}
	for changed := true; changed; {
		changed = false
		for _, p := range x.recursions {
			if of := p.tree.of; of != nil && !of.isComponent() {
				cut(p, "recursive schema")
				changed = true
			}
		}
		for _, p := range x.repeated {
			if of := p.tree.of; of != nil && (!of.isComponent() || of.reaches(p.tree, map[*tree]bool{})) {
				cut(p, "schema too large")
				changed = true
			}
		}
	}
}

// reaches reports whether a tree contains another one, also through the components that it means.
func (t *tree) reaches(part *tree, seen map[*tree]bool) bool {
	if t == part || seen[t] {
		return t == part
	}
	seen[t] = true
	found := t.again && t.of.reaches(part, seen)
	t.eachPart(func(below *tree) { found = found || below.reaches(part, seen) })
	return found
}

// mayBeEmpty reports whether a list or map without elements is a value.
func (t *tree) mayBeEmpty() bool {
	return (t.kind == listKind || t.kind == setKind || t.kind == mapKind) &&
		(t.bounds.minItems == "" || t.bounds.minItems == "0")
}
