package openapi

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// combinators are the keywords that say more about a schema with several types than its types do.
var combinators = []string{"allOf", "oneOf", "anyOf", "$ref"}

// typeAlternatives reads a schema with several types, such as type: [string, integer], as one schema for each. A
// schema that other keywords combine has none.
func (r *schemaReader) typeAlternatives(n node, kinds []kind) (all []*schema) {
	if len(kinds) < 2 || slices.ContainsFunc(combinators, n.has) {
		return nil
	}
	for _, k := range kinds {
		one := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: n.Line, Column: n.Column}
		add := func(name string, v *yaml.Node) {
			word := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name, Line: n.Line}
			one.Content = append(one.Content, word, v)
		}
		add("type", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: typeNames[k], Line: n.Line})
		fits := true
		for name, v := range n.members() {
			switch name {
			case "type", "nullable", "x-nullable", "description", "title", "default", "readOnly", "writeOnly",
				"x-enum-descriptions", "x-enumDescriptions", "x-enum-varnames", "x-enumNames":
			case "enum":
				values := valuesOfKind(v, k)
				if fits = values != nil; fits {
					add(name, &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Line: v.line(), Content: values})
				}
			default:
				add(name, v.Node)
			}
		}
		if fits {
			all = append(all, r.schema(node{n.doc, one}))
		}
	}
	return all
}

// typeNames are the names of kinds in a document.
var typeNames = map[kind]string{stringKind: "string", numberKind: "number", integerKind: "integer", boolKind: "boolean",
	listKind: "array", objectKind: "object", fileKind: "file"}

// valuesOfKind returns the values of an enum that have a type.
func valuesOfKind(values node, k kind) (found []*yaml.Node) {
	for v := range values.list() {
		one := kindOfValues([]node{v})
		if one == k || k == numberKind && one == integerKind {
			found = append(found, v.Node)
		}
	}
	return found
}

// kindsOfValues returns the types of the values of an enum, or nil if one is an object or a list.
func kindsOfValues(values node) (kinds []kind) {
	for v := range values.list() {
		k := kindOfValues([]node{v})
		switch {
		case v.isNull():
		case k == anyKind:
			return nil
		case !slices.Contains(kinds, k):
			kinds = append(kinds, k)
		}
	}
	return kinds
}
