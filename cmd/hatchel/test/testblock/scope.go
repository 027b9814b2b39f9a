package testblock

import (
	"hatchel/hcl"
	"hatchel/hcl/eval"
	"hatchel/hcl/mock"
	"hatchel/hcl/schema"
)

// conditionScope is the scope of conditions: what has come of the call. Their values are the members of Frame.Input.
func (b *block) conditionScope(outer *eval.Scope) *eval.Scope {
	args, steps := mock.Any, schema.ObjectOf()
	if b.op != nil {
		args = certain(b.op.Input)
		for _, s := range b.op.Steps {
			t := mock.Any
			if s.Each == nil {
				t = certain(s.Backend.Effects.Output)
			}
			if s.Name != "" {
				steps.Members = append(steps.Members, &schema.Member{Name: s.Name, Type: t})
			}
		}
	}
	after := schema.ObjectOf()
	for _, a := range b.after {
		after.Members = append(after.Members, &schema.Member{Name: a.name, Type: afterType})
	}
	for _, r := range []struct {
		name string
		typ  *schema.Type
	}{
		{"result", b.resultType()}, {"text", mock.Text}, {"content", mock.List}, {"error", mock.Text},
		{"partial", partialType}, {"sent", sentType}, {"step", steps}, {"called", mock.Texts},
		{"after", after}, {"args", args},
	} {
		of := root(r.name, r.typ)
		if kind := map[string]string{"step": "step", "args": "input"}[r.name]; b.op != nil && kind != "" {
			of.Kind, of.Owner = kind, b.kind+" "+b.op.Name
		}
		outer = outer.With(r.name, of)
	}
	return outer
}

var (
	afterType = schema.ObjectOf(&schema.Member{Name: "row", Type: mock.Any},
		&schema.Member{Name: "rows", Type: schema.ListOf(mock.Any)})
	sentType = schema.ListOf(mock.Any)
	// partialType is that of the failures after which a call went on. Without any, they are 0 of 0.
	partialType = schema.ObjectOf(&schema.Member{Name: "failed", Type: mock.Integer},
		&schema.Member{Name: "of", Type: mock.Integer}, &schema.Member{Name: "step", Type: mock.Text},
		&schema.Member{Name: "key", Type: mock.Text}, &schema.Member{Name: "error", Type: mock.Text})
)

func root(name string, t *schema.Type) *eval.Root {
	return &eval.Root{Noun: "member of " + name, Type: t,
		Value: func(f *eval.Frame) (any, error) { return f.Input[name], nil }}
}

// resultType returns the type of the structured result.
func (b *block) resultType() *schema.Type {
	t := b.toolDecl
	switch {
	case t == nil, t.Page != nil, t.Projection != nil: // other members than those of the backend
		return mock.Any
	case t.Returns != nil:
		return certain(t.Returns)
	case t.Result != nil && t.Result.Type() != nil:
		return certain(t.Result.Type())
	case t.Result != nil || len(t.Steps) != 1 || t.HasNamedSteps():
		return mock.Any
	}
	return defaultResult(t.Steps[0].Backend.Effects)
}

// defaultResult returns the type of the result that a backend gives by itself.
func defaultResult(f hcl.Effects) *schema.Type {
	lookup := func(name string) *schema.Member {
		if m, ok := f.Output.Lookup(name); ok {
			return m
		}
		return &schema.Member{Name: name, Type: mock.Any}
	}
	if f.Default.Member != "" {
		return certain(lookup(f.Default.Member).Type)
	}
	if len(f.Default.Members) == 0 {
		return mock.Any
	}
	out := schema.ObjectOf()
	for _, name := range f.Default.Members {
		out.Members = append(out.Members, lookup(name))
	}
	return certain(out)
}

// certain returns a type none of whose values may be null: a test knows which ones there are.
func certain(t *schema.Type) *schema.Type {
	if t == nil || t == mock.Any {
		return mock.Any
	}
	out := *t
	out.Nullable = false
	if t.Elem != nil {
		out.Elem = certain(t.Elem)
	}
	out.Members = make([]*schema.Member, len(t.Members))
	for i, m := range t.Members {
		out.Members[i] = &schema.Member{Name: m.Name, Type: certain(m.Type)}
	}
	return &out
}
