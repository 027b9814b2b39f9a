package openapi

import (
	"errors"
	"strings"
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
	op.form = &formOf{multipart: multipart, encoding: b.content.get("encoding")}
	for _, m := range sent(b.schema) {
		s := follow(m.schema)
		required := m.required && b.required
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
		in := op.addInput(m.name, "body", s, required, "")
		in.fallback = s.isScalar() && op.method != "patch"
		op.form.fields = append(op.form.fields, &field{wire: m.name, input: in})
	}
	if len(op.form.fields) == 0 {
		op.form = nil
	}
	return nil
}

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
	wire     string
	input    *input
	constant string
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
	elements := (t.kind == listKind || t.kind == setKind) && !t.elem.isContainer() && t.elem.kind != anyKind
	switch encoding := f.encoding.get(field.wire); {
	case f.multipart && (t.isContainer() && !elements || t.kind == anyKind),
		isJSONType(encoding.get("contentType").text()) && t.isContainer():
		return guarded(field.input, "jsonencode("+ref+")"), true
	case !t.isContainer() && t.kind != anyKind:
		return ref, true
	case elements && encoding.get("style").text() != "deepObject":
		if encoding.get("explode").isFalse() {
			return guarded(field.input, `join(",", `+ref+")"), true
		}
		return ref, true
	}
	return ref, strings.ContainsAny(field.wire, "[]")
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
