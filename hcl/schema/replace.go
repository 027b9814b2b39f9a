package schema

import "slices"

// maxReplacedDepth is how deep ReplaceMembers looks. A type may contain itself.
const maxReplacedDepth = 32

// ReplaceMembers returns the type in which the types of members at any depth are what replace returns for them: nil
// leaves one as it is. The path has the names of the members around, outermost first; lists have no part in it.
func (t *Type) ReplaceMembers(replace func(path []string, t *Type) *Type) *Type {
	return t.replaceMembers(nil, replace, 0)
}

func (t *Type) replaceMembers(path []string, replace func([]string, *Type) *Type, depth int) *Type {
	if t == nil || depth > maxReplacedDepth {
		return t
	}
	whole := t.Unfolded()
	c, changed := *whole, false
	part := func(p *Type, path []string) *Type {
		q := p.replaceMembers(path, replace, depth+1)
		changed = changed || q != p
		return q
	}
	c.Elem = part(whole.Elem, path)
	c.OneOf, c.Members = slices.Clone(whole.OneOf), slices.Clone(whole.Members)
	for i, one := range c.OneOf {
		c.OneOf[i] = part(one, path)
	}
	for i, m := range c.Members {
		below := append(path[:len(path):len(path)], m.Name)
		q := replace(below, m.Type)
		if q == nil {
			q = part(m.Type, below)
		} else {
			changed = true
		}
		if q != m.Type {
			other := *m
			other.Type = q
			c.Members[i] = &other
		}
	}
	if !changed {
		return t
	}
	if c.OneOf != nil {
		c = *unionOf(c.OneOf)
		c.Nullable, c.Title, c.Description = whole.Nullable, whole.Title, whole.Description
	}
	c.def, c.isRef, c.verbatim = nil, false, nil
	return &c
}

// Masked returns the type of values in whose place others are given: a text, or null for what is no text. With asText
// each scalar becomes a text. The elements of a list are replaced, and an object as a whole.
func (t *Type) Masked(asText bool) *Type {
	t = t.Unfolded()
	m := Type{Kind: t.Kind, Nullable: true, Title: t.Title, Description: t.Description}
	switch {
	case t.Kind == List || t.Kind == Set:
		m.Kind, m.Elem, m.Nullable = List, t.Elem.Masked(asText), t.Nullable
	case t.OneOf != nil || t.Kind == Any:
		m.Kind = Any
	case t.Kind == String:
		m.Nullable = t.Nullable
	case asText && (t.Kind == Number || t.Kind == Integer || t.Kind == Bool):
		m.Kind, m.Nullable = String, t.Nullable
	case t.Kind == Object || t.Kind == Map:
		m.Kind = Null
	}
	return &m
}
