package schema

import (
	"slices"
	"strings"

	"hatchel/hcl/value"

	hclv2 "github.com/hashicorp/hcl/v2"
)

// resolveRef reads the target of a reference inside the document.
func (n *schemaNode) resolveRef(ref string) *Type {
	for key := range n.raw {
		if key != "$ref" && !slices.Contains(annotationKeywords, key) {
			return n.markInexact()
		}
	}
	path, inside := strings.CutPrefix(ref, "#/")
	if inside && slices.Contains(n.refs, ref) {
		return n.definition(ref).Recursion(hclv2.Range{})
	}
	if !inside || len(n.refs) > 20 {
		return n.markInexact()
	}
	target := n.root
	for _, token := range strings.Split(path, "/") {
		m, ok := target.(map[string]any)
		if !ok {
			return n.markInexact()
		}
		if target, ok = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)]; !ok {
			return n.markInexact()
		}
	}
	n.refs = append(n.refs, ref)
	t := n.read(target)
	n.refs = n.refs[:len(n.refs)-1]
	d := n.definition(ref)
	delete(n.defs, ref)
	if len(d.recursion) == 0 {
		return t
	}
	t, problem := d.Complete(t)
	if problem != "" {
		return n.markInexact()
	}
	return t
}

// definition returns the definition that a reference names.
func (r *schemaReader) definition(ref string) *Definition {
	if r.defs[ref] == nil {
		if r.defs == nil {
			r.defs = map[string]*Definition{}
		}
		r.defs[ref] = &Definition{Name: ref[strings.LastIndexByte(ref, '/')+1:]}
	}
	return r.defs[ref]
}

// alternatives reads anyOf, or returns nil if the schema has no alternatives of several types.
func (n *schemaNode) alternatives() *Type {
	list, _ := n.raw["anyOf"].([]any)
	if len(list) < 2 {
		return nil
	}
	exact, nullable := n.exact, false
	var types []*Type
	n.union++
	for _, raw := range list {
		t := n.read(raw)
		if t.Kind == Null {
			nullable = true
			continue
		}
		types = append(types, t)
	}
	n.union--
	if len(types) == 1 && nullable && !types[0].isAny() && n.raw["type"] == nil {
		take[any](n, "anyOf")
		return types[0].AsNullable()
	}
	if len(types) < 2 || slices.ContainsFunc(types, (*Type).isAny) {
		n.exact = exact // the caller reads the schema otherwise
		return nil
	}
	u := unionOf(types)
	u.Nullable = u.Nullable || nullable
	take[any](n, "anyOf")
	if declared := take[any](n, "type"); declared != nil {
		name := any(kinds[u.Kind].json)
		if u.Nullable {
			name = []any{name, "null"}
		}
		n.exact = n.exact && value.Equal(declared, name)
	}
	return u
}
