package schema

import (
	"cmp"
	"slices"
	"strconv"

	"hatchel/hcl/value"
)

// What a definition under $defs must save at least: readers follow a reference at a cost, and some clients refuse it.
const (
	minSharedBytes        = 200
	minClientsSharedBytes = 4000
)

// refersTo reports whether a type is written as a reference to its definition.
func (o *jsonWriter) refersTo(t *Type) bool {
	d := t.def
	if d == nil || o.form || d.target() == nil || d.target().Nullable && !t.Nullable {
		return false
	}
	return len(d.recursion) > 0 || o.shared[d]
}

// name returns the name of a definition under $defs. Names of type blocks need no escapes in a reference.
func (o *jsonWriter) name(d *Definition) string {
	if name, ok := o.names[d]; ok {
		return name
	}
	name := d.Name
	for n := 2; slices.ContainsFunc(o.defs, func(other *Definition) bool { return o.names[other] == name }); n++ {
		name = d.Name + "_" + strconv.Itoa(n)
	}
	if o.names == nil {
		o.names = map[*Definition]string{}
	}
	o.names[d], o.defs = name, append(o.defs, d)
	return name
}

// writeReference writes a reference with what the place adds to the definition.
func (t *Type) writeReference(o *jsonWriter, m *Member) {
	base, ref := t.def.target(), "#/$defs/"+o.name(t.def)
	if t.Nullable && !base.Nullable {
		o.any("anyOf", []any{map[string]any{"$ref": ref}, map[string]any{"type": "null"}})
	} else {
		o.text("$ref", ref)
	}
	if t.Title != base.Title {
		o.text("title", t.Title)
	}
	if t.Description != base.Description {
		o.text("description", t.Description)
	}
	if m != nil && m.HasDefault {
		o.always("default", m.Default)
	}
	if len(t.Examples) > 0 && !value.Equal(t.Examples, base.Examples) {
		o.any("examples", t.Examples)
	}
	o.text("x-mcp-header", t.Header)
}

// writeDefinitions writes the definitions that were referred to.
func (o *jsonWriter) writeDefinitions() {
	if len(o.defs) == 0 {
		return
	}
	o.key("$defs")
	o.nest("{}", func() {
		for i := 0; i < len(o.defs); i++ { // a definition may refer to others
			d := o.defs[i]
			o.key(o.names[d])
			o.nest("{}", func() { d.target().writeKeywords(o, nil) })
		}
	})
}

// sharedDefinitions returns the definitions that the schema of t refers to because that makes it shorter: the largest
// first, because one that is written once holds its parts once.
func (t *Type) sharedDefinitions(clients bool) map[*Definition]bool {
	minSaved := minSharedBytes
	if clients {
		minSaved = minClientsSharedBytes
	}
	uses := definitionUses{}
	uses.count(t, true)
	var candidates []*Definition
	for d, n := range uses {
		if n > 1 && len(d.recursion) == 0 {
			candidates = append(candidates, d)
		}
	}
	if candidates == nil {
		return nil
	}
	size := map[*Definition]int{}
	for _, d := range candidates {
		o := &jsonWriter{clients: clients}
		d.target().write(o, nil)
		size[d] = len(o.out)
	}
	slices.SortFunc(candidates, func(a, b *Definition) int {
		return cmp.Or(size[b]-size[a], cmp.Compare(a.Name, b.Name))
	})
	shared := map[*Definition]bool{}
	for _, d := range candidates {
		uses := definitionUses{}
		uses.countShared(t, shared, map[*Definition]bool{}, true)
		o := &jsonWriter{shared: shared, clients: clients}
		d.target().writeKeywords(o, nil)
		inline, ref := len(o.out)+len("{}"), len(`{"$ref":"#/$defs/"}`)+len(d.Name)
		if n := uses[d]; n > 1 && (n-1)*inline-n*ref-len(d.Name)-len(`"$defs":{"":}`) > minSaved {
			shared[d] = true
		}
	}
	return shared
}

// definitionUses counts how often each definition is written in a schema.
type definitionUses map[*Definition]int

// count counts the definitions in a type with everything written where it is used.
func (u definitionUses) count(t *Type, root bool) {
	u.countShared(t, nil, map[*Definition]bool{}, root)
}

// countShared counts the definitions in a type, where those that are shared or contain themselves are written once.
func (u definitionUses) countShared(t *Type, shared, seen map[*Definition]bool, root bool) {
	d := t.def
	if d != nil && !root && d.target() != nil {
		u[d]++
		if len(d.recursion) > 0 || shared[d] {
			if seen[d] {
				return
			}
			seen[d] = true
			t = d.target()
		}
	}
	t.eachPart(func(part *Type) { u.countShared(part, shared, seen, false) })
}
