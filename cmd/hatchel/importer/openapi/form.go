package openapi

import (
	"cmp"
	"errors"
	"strings"

	"hatchel/cmd/hatchel/importer"
)

// formBody writes a form or a multipart body.
func (g *generator) formBody(op *operation, b *bodyOf) error {
	multipart := bodyRank(b.mediaType) == 5
	if b.schema.kind != objectKind {
		if b.schema.kind != mapKind && b.schema.kind != anyKind || multipart || follow(b.schema).kind == anyKind {
			if b.required {
				return errors.New("a form without declared fields")
			}
			g.lose(op, "body left out", "a form without declared fields", b.content)
			return nil
		}
		in := op.addInput("body", "content", b.schema, b.required, b.text)
		op.body = append(op.body, "form = input."+in.name)
		return nil
	}
	for _, l := range b.schema.losses {
		g.result.Lose(op.label(), l.Kind, l.Detail, l.Origin)
	}
	op.form = &formOf{multipart: multipart, encoding: b.content.get("encoding")}
	for _, m := range sent(b.schema) {
		s := follow(m.schema)
		// a body that may be absent and has required fields is sent by every other client, too
		required := m.required && (b.required || op.method == "post" || op.method == "put")
		if required && len(s.enum) == 1 && s.kind != boolKind {
			op.form.fields = append(op.form.fields, &field{wire: m.name, constant: hclValues(s.enum)[0]})
			continue
		}
		kind := op.form.contentType(m.name)
		if multipart && kind != "" && !isJSONType(kind) && !strings.HasPrefix(kind, "text/") && s.kind == stringKind {
			c := *s
			c.kind = fileKind
			s = &c
		}
		if !multipart {
			s = asForm(s)
		}
		if s.kind == anyKind && s.alternatives == nil {
			c := *s // a field without a type is text
			c.kind, c.plain = stringKind, nil
			s = &c
		}
		if required && (s.kind == listKind || s.kind == setKind) && s.bounds.minItems == "" {
			c := *s // an empty one would not be sent
			c.bounds.minItems = "1"
			s = &c
		}
		if empty := emptyValue(&member{m.name, s, required}, 0); empty != "" && !multipart {
			g.lose(op, "empty value is not sent", empty, s.at)
		}
		in := op.addInput(m.name, "body", s, required, "")
		in.fallback = s.isScalar() && op.method != "patch"
		op.form.fields = append(op.form.fields, &field{m.name, in, "", op.separators[m.name]})
	}
	if len(op.form.fields) == 0 {
		op.form = nil
	}
	return nil
}

// emptyValue returns the path of a member that must be there and may be empty, or "". A form cannot hold it.
func emptyValue(m *member, depth int) string {
	s := follow(m.schema)
	if m.required && (s.kind == mapKind || s.kind == listKind && cmp.Or(s.bounds.minItems, "0") == "0") {
		return m.name
	}
	mayBeEmpty := m.required && s.kind == objectKind
	members := s.members
	if s.kind == listKind || s.kind == setKind {
		members = follow(s.elem).members
	}
	for _, below := range members {
		mayBeEmpty = mayBeEmpty && !below.required
		if depth == maxFormDepth {
			continue
		}
		if path := emptyValue(below, depth+1); path != "" {
			return m.name + "." + path
		}
	}
	if mayBeEmpty {
		return m.name
	}
	return ""
}

// maxFormDepth is how deep a form is searched for values that may be empty.
const maxFormDepth = 4

// asForm replaces a file, which a form cannot hold, by text.
func asForm(s *schema) *schema {
	if s.kind != fileKind {
		return s
	}
	c := *s
	c.kind, c.plain = stringKind, nil
	return &c
}

// formOf is a form or multipart body, which is written when its inputs have trees.
type formOf struct {
	multipart bool
	encoding  node
	fields    []*field
}

type field struct {
	wire      string
	input     *input
	constant  string
	separator string // of the elements of a list in version 2; empty if each is a field
}

func (f *formOf) contentType(name string) string { return f.encoding.at(name, "contentType").text() }

// argument writes the argument of the http block.
func (f *formOf) argument() string {
	word := "form"
	if f.multipart {
		word = "multipart"
	}
	var flat, nested []entry
	for _, field := range f.fields {
		if field.constant != "" {
			flat = append(flat, entry{field.wire, field.constant})
			continue
		}
		value, isFlat := f.value(field)
		if e := (entry{field.wire, value}); isFlat {
			flat = append(flat, e)
		} else {
			nested = append(nested, e)
		}
	}
	return word + " = " + withBrackets(flat, nested)
}

// value returns the value of a field, and whether it is flat: nested values are written with brackets.
func (f *formOf) value(field *field) (value string, flat bool) {
	t, ref := field.input.tree, "input."+field.input.name
	elements := t.hasScalarElements()
	switch encoding := f.encoding.get(field.wire); {
	case f.multipart && (t.isContainer() && !elements || t.kind == anyKind):
		part := "{ content = jsonencode(" + ref + "), type = \"application/json\" }"
		return guarded(field.input, part), true
	case isJSONType(encoding.get("contentType").text()) && t.isContainer():
		return guarded(field.input, "jsonencode("+ref+")"), true
	case !t.isContainer() && t.kind != anyKind:
		return ref, true
	case elements && f.multipart && f.separator(field) != "":
		return joined(field.input, false, f.separator(field)), true
	case elements && encoding.get("style").text() != "deepObject":
		return ref, true
	}
	return ref, strings.ContainsAny(field.wire, "[]")
}

// hasScalarElements reports whether a value is a list of what is no list and no object.
func (t *tree) hasScalarElements() bool {
	return (t.kind == listKind || t.kind == setKind) && !t.elem.isContainer() && t.elem.kind != anyKind
}

// separator returns what separates the elements of a list that is one field; empty if each is a field.
func (f *formOf) separator(field *field) string {
	encoding := f.encoding.get(field.wire)
	switch {
	case field.constant != "" || !field.input.tree.hasScalarElements(), isJSONType(encoding.get("contentType").text()):
		return ""
	case field.separator != "":
		return field.separator
	case encoding.get("style").text() != "deepObject" && encoding.get("explode").isFalse():
		return ","
	}
	return ""
}

// separators returns the entries of the argument separators.
func (f *formOf) separators() (all []entry) {
	if f.multipart {
		return nil
	}
	for _, field := range f.fields {
		if separator := f.separator(field); separator != "" {
			all = append(all, entry{field.wire, importer.Quote(separator)})
		}
	}
	return all
}

// withBrackets writes a map with flat entries and such whose values are nested.
func withBrackets(flat, nested []entry) string {
	switch {
	case len(nested) == 0:
		return entries(flat)
	case len(flat) == 0:
		return "brackets(" + entries(nested) + ")"
	}
	return "merge(" + entries(flat) + ", brackets(" + entries(nested) + "))"
}

func guarded(in *input, expr string) string {
	if in.required && !in.tree.nullable {
		return expr
	}
	return "input." + in.name + " == null ? null : " + expr
}
