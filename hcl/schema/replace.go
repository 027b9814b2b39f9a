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

// WithoutForms returns the type of values whose texts may be others: texts of which lose their format and pattern, and
// an enum that has one of them according to isOther.
func (t *Type) WithoutForms(isOther func(text string) bool) *Type {
	if t == nil {
		return nil
	}
	whole := t.ReplaceMembers(func(_ []string, m *Type) *Type {
		if plain := m.withoutForm(isOther); plain != m {
			return plain
		}
		return nil
	})
	return whole.withoutForm(isOther)
}

// withoutForm is WithoutForms of a text, and of the elements of a list.
func (t *Type) withoutForm(isOther func(string) bool) *Type {
	c := *t.Unfolded()
	switch {
	case c.Kind == List || c.Kind == Set:
		if elem := c.Elem.WithoutForms(isOther); elem != c.Elem {
			c.Elem, c.def, c.isRef, c.verbatim = elem, nil, false, nil
			return &c
		}
	case c.Kind == String && c.OneOf == nil:
		hasOther := slices.ContainsFunc(c.Enum, func(v EnumValue) bool {
			text, _ := v.Value.(string)
			return isOther(text)
		})
		if c.Format != "" || c.Pattern != nil || c.MinLength != nil || c.MaxLength != nil || hasOther {
			return &Type{Kind: String, Nullable: c.Nullable, Title: c.Title, Description: c.Description,
				Sensitive: c.Sensitive}
		}
	}
	return t
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
