package openapi

import (
	"errors"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// oneOf reads the alternatives of oneOf or anyOf. What has one meaning in the language becomes that; the others
// become any, with the alternatives kept for a description.
func (r *schemaReader) oneOf(s *schema, n, list node) {
	var all []*schema
	conditions := 0
	for part := range list.list() {
		if part.isMap() && !part.has("$ref") && !hasShape(part) {
			conditions++ // as in anyOf: [{required: [a]}, {required: [b]}]
			continue
		}
		sub := r.schema(part)
		switch {
		case part.get("type").text() == "null" || sub.done && isNullOnly(part):
			s.nullable = true
		case sub.done && sub.kind == stringKind && sub.enum == nil && part.get("enum").isList():
			s.nullable = s.nullable || sub.nullable // an enum of the empty text, for "unset"
		default:
			all = append(all, sub)
		}
	}
	if conditions > 0 {
		s.lose("condition between members", "oneOf or anyOf without types")
	}
	if len(all) == 0 {
		return
	}
	if s.isObject() {
		s.addAlternatives(all)
		return
	}
	if len(all) == 1 {
		if all[0].done {
			name := all[0].name
			if s.isScalar() {
				intersect(s, all[0])
			} else if s.kind == anyKind {
				nullable, text := s.nullable || all[0].nullable, s.text
				intersect(s, all[0])
				s.nullable = nullable
				s.described = text != "" && text != all[0].text || nullable != all[0].nullable || all[0].described
				s.name = name
			}
			return
		}
		s.alternatives = all
		return
	}
	discriminate(all, n.get("discriminator"))
	if union := scalarUnion(all); union != nil && (s.kind == anyKind || s.kind == union.kind) {
		nullable := s.nullable || union.nullable
		s.kind, s.enum, s.enumTitles = union.kind, union.enum, union.enumTitles
		s.nullable = nullable
		s.limitEnum()
		return
	}
	if s.kind != anyKind {
		return
	}
	s.alternatives = all
}

// discriminate gives the member that tells alternatives apart the values that stand for each.
func discriminate(all []*schema, discriminator node) {
	name := discriminator.get("propertyName").text()
	for i, sub := range all {
		m := sub.lookup(name)
		if !sub.done || m == nil || sub.name == "" || !m.schema.done ||
			m.schema.kind != stringKind && m.schema.kind != anyKind {
			continue
		}
		var values []string
		for value, target := range discriminator.get("mapping").members() {
			named := componentName(target.text()) == sub.name || target.text() == sub.name
			if named && value != "" {
				values = append(values, quoteJSON(value))
			}
		}
		if values == nil && !discriminator.has("mapping") {
			values = []string{quoteJSON(sub.name)}
		}
		if values == nil || len(m.schema.enum) > 0 && len(m.schema.enum) <= len(values) {
			continue
		}
		c, property := *sub, *m.schema
		property.kind, property.enum, property.enumTitles, property.plain = stringKind, values, nil, nil
		property.pattern, property.format, property.bounds, property.fallback = "", "", bounds{}, node{}
		c.members, c.name = slices.Clone(sub.members), "" // no longer the component that others share
		c.members[slices.Index(c.members, m)] = &member{name, &property, true}
		all[i] = &c
	}
}

// hasShape reports whether a schema says more than a condition on members that others declare.
func hasShape(n node) bool {
	for _, word := range []string{"type", "properties", "enum", "const", "items", "allOf", "oneOf", "anyOf", "format",
		"additionalProperties", "pattern"} {
		if n.has(word) {
			return true
		}
	}
	return n.has("title") && !n.has("required")
}

func isNullOnly(n node) bool {
	values := n.get("enum")
	return values.isList() && values.size() == 1 && values.member("0").isNull()
}

// addAlternatives adds the members of alternatives to an object with members of its own. They are optional.
func (s *schema) addAlternatives(all []*schema) {
	added := false
	for _, sub := range all {
		if sub = follow(sub); !sub.done && sub.identity() != s.identity() {
			s.lose("recursive alternative left out", sub.name)
		}
		if !sub.done || sub.kind != objectKind {
			continue
		}
		for _, m := range sub.members {
			if s.lookup(m.name) == nil {
				s.kind, s.elem = objectKind, nil
				s.members = append(s.members, &member{name: m.name, schema: m.schema})
				added = true
			}
		}
	}
	if added {
		s.lose("alternatives became one object", "members of oneOf or anyOf are optional")
	}
}

// scalarUnion returns the type of alternatives that are all of one scalar type, or nil.
func scalarUnion(all []*schema) *schema {
	u := &schema{kind: all[0].kind, nullable: all[0].nullable}
	enums, seen := true, map[string]bool{}
	for _, sub := range all {
		k := sub.kind
		if !sub.done || !sub.isScalar() {
			return nil
		}
		if k == integerKind && u.kind == numberKind {
			k = numberKind
		}
		if k == numberKind && u.kind == integerKind {
			u.kind = numberKind
		}
		if k != u.kind {
			return nil
		}
		u.nullable = u.nullable || sub.nullable
		enums = enums && sub.enum != nil
		for _, v := range sub.enum {
			if !seen[v] {
				seen[v] = true
				u.enum = append(u.enum, v)
			}
		}
		if len(sub.enum) == 1 && sub.title != "" { // a constant with a title, the form that names values
			u.enumTitles = append(u.enumTitles, plainText(sub.title, 80))
		}
	}
	if !enums {
		u.enum = nil
	}
	if len(u.enumTitles) != len(u.enum) {
		u.enumTitles = nil
	}
	return u
}

// describeAlternatives names what may stand for an any.
func describeAlternatives(s *schema) string {
	var names []string
	for _, sub := range s.alternatives {
		name := sub.name
		if name == "" {
			name = sub.title
		}
		if name == "" && len(sub.enum) > 0 && len(sub.enum) <= 8 {
			name = strings.Join(sub.enum, ", ")
		}
		if name == "" {
			name = string(sub.kind)
		}
		if slices.Contains(names, name) {
			continue
		}
		if len(names) == 8 {
			names = append(names, "…")
			break
		}
		names = append(names, name)
	}
	return "One of: " + strings.Join(names, ", ") + "."
}

// isBase reports whether a schema has a discriminator and no alternatives: other schemas extend it by allOf.
func isBase(n node) bool { return n.has("discriminator") && !n.has("oneOf") && !n.has("anyOf") }

// base reads a schema with a discriminator. A value is one of the schemas that its mapping names.
func (r *schemaReader) base(s *schema, n node) {
	var all []*schema
	var seen []*yaml.Node
	for _, entry := range n.at("discriminator", "mapping").members() {
		ref := mappedReference(entry)
		target, err := r.target(entry, ref)
		if !entry.isString() || ref == "" {
			err = errors.New("it has an entry that is no reference")
		}
		switch {
		case err != nil:
			s.lose("broken reference", "mapping of a discriminator: "+err.Error())
		case slices.Contains(seen, target.Node): // several values stand for it
		case target.Node == n.Node:
			own := *r.extended(n)
			own.name = componentName(ref)
			all = append(all, &own)
		default:
			all = append(all, r.schema(referenceNode(entry, ref)))
		}
		seen = append(seen, target.Node)
	}
	if len(all) == 0 {
		r.keywords(s, n)
		s.lose("discriminator without alternatives",
			"no mapping names the schemas that extend it, so their members are missing")
		return
	}
	if len(all) > 1 {
		discriminate(all, n.get("discriminator"))
	}
	own := r.extended(n)
	s.title, s.text, s.nullable, s.fallback = own.title, own.text, own.nullable, own.fallback
	s.readOnly, s.writeOnly, s.alternatives = own.readOnly, own.writeOnly, all
}

// extended reads a schema with a discriminator as the schemas that extend it see it.
func (r *schemaReader) extended(n node) *schema {
	s := r.bases[n.Node]
	if s == nil {
		s = &schema{kind: anyKind, at: n}
		r.bases[n.Node] = s
		r.keywords(s, n)
		s.done = true
	}
	return s
}

// partOf reads a part of the allOf of n. A base is what n extends, unless n only describes it.
func (r *schemaReader) partOf(n, part node) *schema {
	target := r.follow(part)
	describes := n.get("allOf").size() == 1 && !n.has("properties") && !r.mapsTo(target, n)
	if !isBase(target) || describes {
		return r.schema(part)
	}
	return r.extended(target)
}

// mapsTo reports whether the mapping of a base names a schema.
func (r *schemaReader) mapsTo(base, n node) bool {
	for _, entry := range base.at("discriminator", "mapping").members() {
		if target, err := r.target(entry, mappedReference(entry)); err == nil && target.Node == n.Node {
			return true
		}
	}
	return false
}

// mappedReference returns the reference of an entry of a mapping, which may be the name of a component.
func mappedReference(entry node) string {
	name := entry.text()
	if (node{entry.doc, entry.doc.root}).at("components", "schemas").has(name) {
		return "#/components/schemas/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	}
	return name
}

// referenceNode returns a schema that is a reference, at the place of a node.
func referenceNode(at node, ref string) node {
	scalar := func(text string) *yaml.Node {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Line: at.Line}
	}
	return node{at.doc, &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: at.Line,
		Content: []*yaml.Node{scalar("$ref"), scalar(ref)}}}
}
