package eval

import (
	"hatchel/hcl/eval/exprlang"
	"hatchel/hcl/schema"
)

// WithoutNull is a shape in which nothing along a path is null.
func WithoutNull(s *exprlang.Shape, path []string) *exprlang.Shape {
	if s == nil || s.Kind != exprlang.Object || s.Members[path[0]] == nil {
		return s
	}
	inner := *s.Members[path[0]]
	inner.Nullable = false
	out := *s
	out.Members = make(map[string]*exprlang.Shape, len(s.Members))
	for name, m := range s.Members {
		out.Members[name] = m
	}
	out.Members[path[0]] = &inner
	if len(path) > 1 {
		out.Members[path[0]] = WithoutNull(&inner, path[1:])
	}
	return &out
}

// Shape is the root as programs see it.
func (r *Root) Shape() *exprlang.Shape {
	if r.Partial || r.seen != nil {
		return r.seen
	}
	if r.Members == nil {
		r.seen = shapeOf(r.Type)
		return r.seen
	}
	s := &exprlang.Shape{Kind: exprlang.Object, Members: make(map[string]*exprlang.Shape, len(r.Members))}
	for name, m := range r.Members {
		switch {
		case m.Sensitive:
		case m.NullReason != "":
			s.Members[name] = nullableShape(m.Type)
		default:
			s.Members[name] = shapeOf(m.Type)
		}
	}
	r.seen = s
	return s
}

// shapeOf is a type as programs see it.
func shapeOf(t *schema.Type) *exprlang.Shape {
	if t == nil {
		return nil
	}
	s := &exprlang.Shape{Nullable: t.Nullable}
	switch t.Kind {
	case schema.Any:
		return nil
	case schema.String:
		s.Kind = exprlang.String
		for _, e := range t.Enum {
			if text, ok := e.Value.(string); ok {
				s.Values = append(s.Values, text)
			}
		}
	case schema.Number:
		s.Kind = exprlang.Number
	case schema.Integer:
		s.Kind = exprlang.Integer
	case schema.Bool:
		s.Kind = exprlang.Bool
	case schema.File:
		s.Kind, s.Members = exprlang.Object, make(map[string]*exprlang.Shape)
		for _, m := range schema.FileMembers().Members {
			if m.Name != "path" && m.Name != "url" {
				s.Members[m.Name] = shapeOf(m.Type)
			}
		}
	case schema.Bytes:
		s.Kind = exprlang.Bytes
	case schema.Null:
		s.Kind = exprlang.Null
	case schema.List, schema.Set:
		s.Kind, s.Elem = exprlang.List, shapeOf(t.Elem)
	case schema.Map:
		s.Kind, s.Elem = exprlang.Map, shapeOf(t.Elem)
	case schema.Object:
		if t.Open {
			return &exprlang.Shape{Kind: exprlang.Map, Nullable: t.Nullable}
		}
		s.Kind, s.Members = exprlang.Object, make(map[string]*exprlang.Shape, len(t.Members))
		for _, m := range t.Members {
			s.Members[m.Name] = shapeOf(m.Type)
			if m.Optional && !m.HasDefault {
				s.Members[m.Name] = nullableShape(m.Type)
			}
		}
	}
	return s
}

func nullableShape(t *schema.Type) *exprlang.Shape {
	s := shapeOf(t)
	if s == nil || s.Nullable {
		return s
	}
	c := *s
	c.Nullable = true
	return &c
}
