package openapi

import (
	"cmp"
	"fmt"
	"slices"
)

// addPart adds one part of an allOf.
func (s *schema) addPart(sub *schema) {
	if target := follow(sub); !target.done { // an object that contains s has read its properties before
		if target.identity() == s.identity() {
			return
		}
		if sub = target; sub.kind == anyKind {
			s.lose("recursive allOf", "")
		}
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
func intersect(s, other *schema) bool { return intersectAt(s, other, 0) }

// intersectAt is intersect for a schema in depth others. Members that both declare are merged one level deep.
func intersectAt(s, other *schema, depth int) bool {
	s.text, s.title = cmp.Or(s.text, other.text), cmp.Or(s.title, other.title)
	s.readOnly, s.writeOnly = s.readOnly || other.readOnly, s.writeOnly || other.writeOnly
	for _, name := range other.requires {
		if !slices.Contains(s.requires, name) && len(s.requires) < maxRequired {
			s.requires = append(slices.Clip(s.requires), name)
		}
	}
	if !s.fallback.exists() {
		s.fallback = other.fallback
	}
	if other.kind == anyKind && other.alternatives == nil {
		return true
	}
	if s.isObject() && other.kind == anyKind {
		s.addAlternatives(other.alternatives)
		return true
	}
	if alternatives := s.alternatives; s.kind == anyKind && alternatives != nil && other.isObject() {
		s.alternatives = nil
		intersectAt(s, other, depth)
		s.addAlternatives(alternatives)
		return true
	}
	if s.kind == anyKind && s.alternatives == nil {
		text, title, at, target, losses := s.text, s.title, s.at, s.target, s.losses
		requires := s.requires
		ro, wo, fallback := s.readOnly, s.writeOnly, s.fallback
		*s = *other
		s.text, s.title, s.at, s.target, s.losses, s.name = text, title, at, target, losses, ""
		s.readOnly, s.writeOnly, s.fallback = ro, wo, fallback
		s.members, s.requires = slices.Clone(other.members), requires
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
		mergeObjects(s, other, depth)
	}
	s.elem = cmp.Or(s.elem, other.elem)
	return true
}

// maxRequired bounds the names of required members.
const maxRequired = 1000

// require makes members required, which another part of an allOf may declare. One that is declared nowhere is any.
func (s *schema) require(names []string) {
	for _, name := range names {
		m := s.lookup(name)
		switch {
		case s.kind != objectKind:
			if s.kind == mapKind {
				s.lose(undeclaredLoss, name)
			}
		case m == nil:
			s.members = append(s.members, &member{name, &schema{kind: anyKind, at: s.at, done: true}, true})
		case !m.required:
			c := *m
			c.required = true
			s.members[slices.Index(s.members, m)] = &c
		}
	}
}

// undeclaredLoss is the loss of a map in which a member is required.
const undeclaredLoss = "required member that is not declared"

// mergeObjects adds the members of another part of an allOf.
func mergeObjects(s, other *schema, depth int) {
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
		} else if merged := *old.schema; depth == 0 && old.schema.done && m.schema.done && old.schema != m.schema {
			merged.members, merged.name = slices.Clone(old.schema.members), "" // no longer the component
			if intersectAt(&merged, m.schema, 1) {
				merged.require(merged.requires)
				c.schema = &merged
			}
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
