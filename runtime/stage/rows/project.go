package rows

import (
	"slices"

	"hatchel/hcl/jsonscan"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// Project returns an encoded value with only some members, in the order of names: of each object of its list, or of
// itself if it is an object without one. Any other value is returned as it is, and so is an object without the list
// that its type has. T is the type of the value, or nil.
func Project(encoded []byte, names []string, t *schema.Type) []byte {
	list, ok := Find(encoded, t)
	if name, _ := listMember(t); !ok && name != "" {
		return encoded
	} else if !ok {
		return appendProjected(nil, encoded, names)
	}
	out := append(make([]byte, 0, len(encoded)), encoded[:list.start+1]...)
	for i := range list.elements {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendProjected(out, list.Element(i), names)
	}
	return append(append(out, ']'), encoded[list.end:]...)
}

// appendProjected appends an object with only some members. Any other value is appended as it is.
func appendProjected(dst, encoded []byte, names []string) []byte {
	s := jsonscan.New(encoded, value.MaxDepth)
	members, err := s.Object()
	if err != nil {
		return append(dst, encoded...)
	}
	dst = append(dst, '{')
	first := true
	for _, name := range names {
		at := slices.IndexFunc(members, func(m jsonscan.Member) bool { return string(m.Name) == name })
		if at < 0 {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(append(jsonscan.AppendString(dst, name), ':'), members[at].Value...)
	}
	return append(dst, '}')
}

// ProjectType returns the type of what Project returns for any of the names. A member that is not in every choice is
// optional.
func ProjectType(t *schema.Type, names []string) *schema.Type {
	switch {
	case t == nil || t.OneOf != nil:
		return t
	case t.Kind == schema.List || t.Kind == schema.Set:
		out := schema.ListOf(projectObject(Elem(t), names))
		out.Nullable, out.Description = t.Nullable, t.Description
		return out
	case t.Kind != schema.Object:
		return t
	}
	member, known := listMember(t)
	if known && member == "" {
		return projectObject(t.Unfolded(), names)
	}
	members := slices.Clone(t.Unfolded().Members)
	for i, m := range members {
		changed := *m
		switch {
		case !known: // the value decides whether it is projected, or the rows of a member without a type
			changed.Optional = true
		case m.Name == member:
			changed.Type = ProjectType(m.Type, names)
		}
		members[i] = &changed
	}
	out := schema.ObjectOf(members...)
	out.Open, out.Nullable, out.Description = t.Open, t.Nullable, t.Description
	return out
}

func projectObject(t *schema.Type, names []string) *schema.Type {
	if t == nil || t.Kind != schema.Object || t.OneOf != nil {
		return t
	}
	out := schema.ObjectOf()
	out.Nullable, out.Description = t.Nullable, t.Description
	for _, name := range names {
		m, ok := t.Lookup(name)
		if !ok {
			continue
		}
		changed := *m
		changed.Optional = m.Optional || len(names) > 1
		out.Members = append(out.Members, &changed)
	}
	return out
}
