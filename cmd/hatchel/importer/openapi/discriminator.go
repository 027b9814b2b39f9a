package openapi

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// isBase reports whether a schema has a discriminator and no alternatives: other schemas extend it by allOf.
func isBase(n node) bool { return n.has("discriminator") && !n.has("oneOf") && !n.has("anyOf") }

// base reads a schema with a discriminator. A value is one of the schemas that its mapping names.
func (r *schemaReader) base(s *schema, n node) {
	var all []*schema
	var seen []*yaml.Node
	for _, entry := range n.at("discriminator", "mapping").members() {
		ref := mappedReference(entry)
		target, err := r.target(entry, ref)
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
		s.lose("discriminator without alternatives", "no mapping names the schemas that extend it, so their members are missing")
		return
	}
	discriminate(all, n.get("discriminator"))
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
