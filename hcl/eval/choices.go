package eval

import (
	"slices"
	"strings"

	"hatchel/hcl/template"
)

// AllChoices returns every value that an expression can have if the author wrote all of them: a
// constant, a choice by a condition, an element of a constant list or map, one of an enumeration. It
// is nil for anything else.
func (e TypedExpr) AllChoices() []any {
	switch {
	case e.Known:
		return []any{e.Value}
	case e.Choices != nil:
		return e.Choices()
	case len(e.Type.Enum) == 0:
		return nil
	}
	out := make([]any, 0, len(e.Type.Enum)+1)
	for _, v := range e.Type.Enum {
		out = append(out, v.Value)
	}
	if e.NullReason != "" {
		out = append(out, nil)
	}
	return out
}

// eitherChoice returns the choices of a value that is one of two.
func eitherChoice(a, b TypedExpr) func() []any {
	return func() []any {
		first, second := a.AllChoices(), b.AllChoices()
		if first == nil || second == nil || len(first)+len(second) > template.MaxTexts {
			return nil
		}
		return append(first[:len(first):len(first)], second...)
	}
}

// elementChoices returns the choices of an element of a collection whose key is not known.
func elementChoices(collection TypedExpr) func() []any {
	return collection.eachChoice(func(v any) (elements []any, ok bool) {
		switch v := v.(type) {
		case []any:
			return v, true
		case map[string]any:
			for _, m := range v {
				elements = append(elements, m)
			}
			return elements, true
		}
		return nil, false
	})
}

// memberChoices returns the choices of a member of an object.
func memberChoices(object TypedExpr, name string) func() []any {
	return object.eachChoice(func(v any) ([]any, bool) {
		members, ok := v.(map[string]any)
		return []any{members[name]}, ok
	})
}

// eachChoice returns what parts returns for each choice.
func (e TypedExpr) eachChoice(parts func(any) ([]any, bool)) func() []any {
	return func() (out []any) {
		for _, v := range e.AllChoices() {
			values, ok := parts(v)
			if !ok || len(out)+len(values) > template.MaxTexts {
				return nil
			}
			out = append(out, values...)
		}
		return out
	}
}

// MayBeginWithDash reports whether the author wrote a dash at the beginning of the value, or of an
// element of it, in some calls.
func (e TypedExpr) MayBeginWithDash() bool {
	return e.Dash || slices.ContainsFunc(e.AllChoices(), beginsWithDash)
}

func beginsWithDash(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.HasPrefix(v, "-")
	case []any:
		return slices.ContainsFunc(v, beginsWithDash)
	}
	return false
}

// TemplateType returns what the compilers of templates may know of the value without its source.
func (e TypedExpr) TemplateType() template.Type {
	t := e.Type.TemplateType()
	t.Nullable = e.NullReason != ""
	t.Known, t.Constant, t.Path = e.Known, e.Value, e.AsPath
	if e.Known || t.Kind == template.Enum {
		return t
	}
	t.Dash = e.MayBeginWithDash()
	if values, ok := textsOf(e.AllChoices()); ok {
		return template.Type{Kind: template.Enum, Values: values, Nullable: t.Nullable, Dash: t.Dash}
	}
	var elements []any
	for _, v := range e.AllChoices() {
		list, isList := v.([]any)
		if !isList && v != nil {
			return t
		}
		elements = append(elements, list...)
	}
	if values, ok := textsOf(elements); ok {
		t.Kind, t.Elem = template.List, &template.Type{Kind: template.Enum, Values: values}
	}
	return t
}

// textsOf returns the texts in a list of texts and nulls. It reports false if there are none, or
// other values.
func textsOf(values []any) (texts []string, ok bool) {
	for _, v := range values {
		text, isText := v.(string)
		if !isText && v != nil {
			return nil, false
		}
		if isText && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts, texts != nil
}
