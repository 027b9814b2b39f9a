package openapi_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
)

// init replaces the decoder of the judge for forms, which knows no nested values.
func init() { openapi3filter.RegisterBodyDecoder("application/x-www-form-urlencoded", decodeForm) }

// formNode is a field of a form, or what its names with brackets begin with.
type formNode struct {
	values  []string
	members map[string]*formNode
}

// decodeForm reads a form as the values that its schema declares.
func decodeForm(
	body io.Reader, _ http.Header, ref *openapi3.SchemaRef, encoding openapi3filter.EncodingFn,
) (any, error) {
	src, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	values, err := url.ParseQuery(string(src))
	if err != nil {
		return nil, err
	}
	root := nest(values, ref.Value)
	out := map[string]any{}
	for name, n := range root.members {
		property := propertyOf(ref.Value, name)
		e := encoding(name)
		switch {
		case e != nil && strings.Contains(e.ContentType, "json") && len(n.values) == 1:
			var v any
			if err := json.Unmarshal([]byte(n.values[0]), &v); err != nil {
				return nil, err
			}
			out[name] = v
		case e != nil && e.Explode != nil && !*e.Explode && len(n.values) == 1 && isArray(property):
			out[name] = (&formNode{values: strings.Split(n.values[0], ",")}).value(property)
		default:
			out[name] = n.value(property)
		}
	}
	return out, nil
}

// nest groups the values by the parts of their names. Names that the schema declares are whole.
func nest(values url.Values, s *openapi3.Schema) *formNode {
	root := &formNode{members: map[string]*formNode{}}
	for name, texts := range values {
		n := root
		for _, part := range formPath(name, declares(s, name)) {
			if n.members == nil {
				n.members = map[string]*formNode{}
			}
			if n.members[part] == nil {
				n.members[part] = &formNode{}
			}
			n = n.members[part]
		}
		n.values = texts
	}
	return root
}

// judgeNested checks parameters with alternatives or the style deepObject, which the library does not decode, and returns
// the others.
func judgeNested(all openapi3.Parameters, query url.Values) (others openapi3.Parameters, err error) {
	for _, p := range all {
		s := p.Value.Schema
		isUnion := s != nil && s.Value != nil && len(s.Value.OneOf)+len(s.Value.AnyOf) > 0
		if p.Value.In != "query" || p.Value.Style != "deepObject" && !isUnion {
			others = append(others, p)
			continue
		}
		n := nest(query, nil).members[p.Value.Name]
		if n == nil {
			if p.Value.Required {
				return nil, fmt.Errorf("the parameter %s is missing", p.Value.Name)
			}
			continue
		}
		if err := p.Value.Schema.Value.VisitJSON(n.value(p.Value.Schema.Value)); err != nil {
			return nil, fmt.Errorf("the parameter %s: %w", p.Value.Name, err)
		}
	}
	return others, nil
}

func declares(s *openapi3.Schema, name string) bool { return s != nil && s.Properties[name] != nil }

// formPath splits a[b][0] into a, b and 0.
func formPath(name string, isWhole bool) []string {
	first, rest, nested := strings.Cut(name, "[")
	if !nested || isWhole {
		return []string{name}
	}
	return append([]string{first}, strings.Split(strings.TrimSuffix(rest, "]"), "][")...)
}

// propertyOf returns the schema of a member, also of one that a part of an allOf or an alternative declares.
func propertyOf(s *openapi3.Schema, name string) *openapi3.Schema {
	if s == nil {
		return nil
	}
	if p := s.Properties[name]; p != nil {
		return p.Value
	}
	for _, list := range []openapi3.SchemaRefs{s.AllOf, s.AnyOf, s.OneOf} {
		for _, part := range list {
			if p := propertyOf(part.Value, name); p != nil {
				return p
			}
		}
	}
	if s.AdditionalProperties.Schema != nil {
		return s.AdditionalProperties.Schema.Value
	}
	return nil
}

func isArray(s *openapi3.Schema) bool { return s != nil && s.Type.Is("array") }

// value reads a field as its schema says, or as the first alternative that it fits.
func (n *formNode) value(s *openapi3.Schema) any {
	if s != nil {
		for _, alternative := range slices.Concat(s.AnyOf, s.OneOf) {
			if alternative.Value.Type.Is("null") {
				continue
			}
			if v := n.value(alternative.Value); alternative.Value.VisitJSON(v) == nil {
				return v
			}
		}
	}
	if n.members != nil {
		if isArray(s) {
			return n.list(s)
		}
		out := map[string]any{}
		for name, m := range n.members {
			out[name] = m.value(propertyOf(s, name))
		}
		return out
	}
	if isArray(s) {
		out := []any{}
		for _, text := range n.values {
			out = append(out, (&formNode{values: []string{text}}).value(s.Items.Value))
		}
		return out
	}
	if len(n.values) == 0 {
		return nil
	}
	text := n.values[0]
	if s != nil && (s.Type.Is("number") || s.Type.Is("integer")) {
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return f
		}
	}
	if s != nil && s.Type.Is("boolean") && (text == "true" || text == "false") {
		return text == "true"
	}
	return text
}

// list reads members with the names 0, 1 and so on, or "" for a[]=….
func (n *formNode) list(s *openapi3.Schema) any {
	if unindexed := n.members[""]; unindexed != nil {
		return unindexed.value(s)
	}
	out := []any{}
	for i := 0; n.members[strconv.Itoa(i)] != nil; i++ {
		out = append(out, n.members[strconv.Itoa(i)].value(s.Items.Value))
	}
	return out
}
