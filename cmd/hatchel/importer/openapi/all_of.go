package openapi

import (
	"cmp"
	"fmt"
	"slices"
)

// allOf adds one part of an allOf.
func (r *schemaReader) allOf(s *schema, part node) {
	sub := r.schema(part)
	if !sub.done {
		s.lose("recursive allOf", "")
		return
	}
	text := s.text
	if len(s.losses) < 20 {
		s.losses = append(s.losses, sub.losses...)
	}
	if !intersect(s, sub) {
		s.lose("allOf cannot be fulfilled", fmt.Sprintf("%s and %s", s.kind, sub.kind))
		*s = schema{kind: anyKind, at: s.at, losses: s.losses, text: s.text}
	}
	s.text = cmp.Or(text, s.text)
}

// intersect restricts s to what also fits other. It reports false if nothing fits both.
func intersect(s, other *schema) bool {
	s.text, s.title = cmp.Or(s.text, other.text), cmp.Or(s.title, other.title)
	s.readOnly, s.writeOnly = s.readOnly || other.readOnly, s.writeOnly || other.writeOnly
	if !s.fallback.exists() {
		s.fallback = other.fallback
	}
	if other.kind == anyKind && other.alternatives == nil {
		return true
	}
	if s.kind == anyKind && s.alternatives == nil {
		text, title, at, losses := s.text, s.title, s.at, s.losses
		ro, wo, fallback := s.readOnly, s.writeOnly, s.fallback
		*s = *other
		s.text, s.title, s.at, s.losses, s.name = text, title, at, losses, ""
		s.readOnly, s.writeOnly, s.fallback = ro, wo, fallback
		s.members = slices.Clone(other.members)
		return true
	}
	if s.kind == mapKind && other.kind == objectKind {
		s.kind, s.members, s.elem = objectKind, slices.Clone(other.members), nil
		return true
	}
	if s.kind == objectKind && other.kind == mapKind {
		return true
	}
	if s.kind == numberKind && other.kind == integerKind {
		s.kind = integerKind
	}
	if s.kind != other.kind && !(s.kind == integerKind && other.kind == numberKind) {
		return s.kind == anyKind || other.kind == anyKind
	}
	s.nullable = s.nullable && other.nullable
	s.pattern, s.format = cmp.Or(s.pattern, other.pattern), cmp.Or(s.format, other.format)
	s.bounds.narrow(other.bounds)
	if s.enum == nil {
		s.enum, s.enumTitles = other.enum, other.enumTitles
	} else if other.enum != nil {
		s.enumTitles = nil
		s.enum = slices.DeleteFunc(slices.Clone(s.enum), func(v string) bool { return !slices.Contains(other.enum, v) })
		if len(s.enum) == 0 {
			return false
		}
	}
	if s.kind == objectKind {
		mergeObjects(s, other)
	}
	s.elem = cmp.Or(s.elem, other.elem)
	return true
}

// mergeObjects adds the members of another part of an allOf.
func mergeObjects(s, other *schema) {
	for _, m := range other.members {
		old := s.lookup(m.name)
		if old == nil {
			s.members = append(s.members, m)
			continue
		}
		c := *old
		c.required = c.required || m.required
		if old.schema.kind == anyKind && old.schema.done && old.schema.alternatives == nil {
			c.schema = m.schema
		}
		s.members[slices.Index(s.members, old)] = &c
	}
}

func (b *bounds) narrow(o bounds) {
	for _, pair := range [][2]*string{{&b.min, &o.min}, {&b.above, &o.above}, {&b.minLength, &o.minLength},
		{&b.minItems, &o.minItems}} {
		if *pair[0] == "" || less(*pair[0], *pair[1]) {
			*pair[0] = *pair[1]
		}
	}
	for _, pair := range [][2]*string{{&b.max, &o.max}, {&b.below, &o.below}, {&b.maxLength, &o.maxLength},
		{&b.maxItems, &o.maxItems}} {
		if *pair[0] == "" || less(*pair[1], *pair[0]) && *pair[1] != "" {
			*pair[0] = *pair[1]
		}
	}
	b.multipleOf = cmp.Or(b.multipleOf, o.multipleOf)
}
