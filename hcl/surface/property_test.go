package surface

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"hatchel/hcl/schema"
)

// maker makes random types and values.
type maker struct{ *rand.Rand }

func (m maker) chance(percent int) bool { return m.IntN(100) < percent }

func (m maker) limit(percent int) *int {
	if !m.chance(percent) {
		return nil
	}
	n := m.IntN(4)
	return &n
}

func (m maker) number(percent int) any {
	if !m.chance(percent) {
		return nil
	}
	return m.IntN(9) - 4
}

var patterns = []string{"^a", "b$", "^[ab]*$"}

// typ returns a type of at most the depth.
func (m maker) typ(depth int) *schema.Type {
	t := &schema.Type{Nullable: m.chance(15)}
	kinds := []schema.Kind{schema.Any, schema.String, schema.Number, schema.Integer, schema.Bool, schema.List, schema.Set,
		schema.Map, schema.Object}
	if depth == 0 {
		kinds = kinds[:5]
	}
	t.Kind = kinds[m.IntN(len(kinds))]
	switch t.Kind {
	case schema.Any:
		t.Nullable = false
	case schema.String:
		if m.chance(25) {
			t.Enum = m.enum("a", "b", "ab", "c")
			return t
		}
		t.MinLength, t.MaxLength = m.limit(30), m.limit(30)
		if m.chance(20) {
			t.Pattern, _ = schema.NewPattern(patterns[m.IntN(len(patterns))])
		}
	case schema.Number, schema.Integer:
		t.Min, t.Max, t.Above, t.Below = m.number(30), m.number(30), m.number(15), m.number(15)
		if m.chance(15) {
			t.MultipleOf = 1 + m.IntN(3)
		}
	case schema.List, schema.Set, schema.Map:
		t.Elem, t.MinItems, t.MaxItems = m.typ(depth-1), m.limit(25), m.limit(25)
	case schema.Object:
		t.Members, t.Open = m.members(depth), m.chance(20)
	}
	return t
}

func (m maker) enum(among ...any) (values []schema.EnumValue) {
	for _, v := range among {
		if m.chance(50) {
			values = append(values, schema.EnumValue{Value: v})
		}
	}
	if values == nil {
		values = []schema.EnumValue{{Value: among[0]}}
	}
	return values
}

func (m maker) members(depth int) (list []*schema.Member) {
	for _, name := range []string{"p", "q", "r"} {
		if m.chance(60) {
			list = append(list, &schema.Member{Name: name, Type: m.typ(depth - 1), Optional: m.chance(50)})
		}
	}
	return list
}

// changed returns the type, or one that differs a little.
func (m maker) changed(t *schema.Type, depth int) *schema.Type {
	c, fresh := *t, m.typ(depth)
	if m.chance(10) {
		return fresh
	}
	if m.chance(15) {
		c.Nullable = !c.Nullable && c.Kind != schema.Any
	}
	switch t.Kind {
	case schema.String:
		if t.Enum != nil && m.chance(60) {
			c.Enum = m.enum("a", "b", "ab", "c")
		}
		if t.Enum == nil && m.chance(50) {
			c.MinLength, c.MaxLength = m.limit(40), m.limit(40)
		}
	case schema.Number, schema.Integer:
		if m.chance(20) {
			c.Kind = schema.Number + schema.Integer - c.Kind
		}
		if m.chance(60) {
			c.Min, c.Max, c.Above, c.Below = m.number(30), m.number(30), m.number(15), m.number(15)
		}
		if m.chance(10) {
			c.MultipleOf = 1 + m.IntN(4)
		}
	case schema.List, schema.Set:
		if m.chance(20) {
			c.Kind = schema.List + schema.Set - c.Kind
		}
		c.Elem = m.changed(t.Elem, depth-1)
	case schema.Map:
		c.Elem = m.changed(t.Elem, depth-1)
	case schema.Object:
		c.Members = nil
		for _, o := range t.Members {
			if m.chance(8) {
				continue
			}
			n := *o
			n.Type = m.changed(o.Type, depth-1)
			if m.chance(15) {
				n.Optional = !n.Optional
			}
			c.Members = append(c.Members, &n)
		}
		if m.chance(15) {
			c.Members = append(c.Members, &schema.Member{Name: "s", Type: m.typ(0), Optional: m.chance(80)})
		}
		if m.chance(8) {
			c.Open = !c.Open
		}
	}
	return &c
}

// value returns a value that is often one of the type.
func (m maker) value(t *schema.Type, depth int) any {
	if m.chance(5) || t.Kind == schema.Any {
		t = m.typ(max(0, depth-1))
	}
	if t.Nullable && m.chance(20) {
		return nil
	}
	switch t.Kind {
	case schema.String:
		if t.Enum != nil {
			return t.Enum[m.IntN(len(t.Enum))].Value
		}
		return strings.Repeat([]string{"a", "b", "ab", "c"}[m.IntN(4)], m.IntN(3))
	case schema.Number:
		if m.chance(50) {
			return float64(m.IntN(20)-10) / 2
		}
		return m.IntN(13) - 6
	case schema.Integer:
		return m.IntN(13) - 6
	case schema.Bool:
		return m.chance(50)
	case schema.List, schema.Set:
		list := make([]any, m.IntN(4))
		for i := range list {
			list[i] = m.value(t.Elem, depth-1)
		}
		return list
	case schema.Map:
		out := map[string]any{}
		for _, name := range []string{"p", "q", "z"} {
			if m.chance(50) {
				out[name] = m.value(t.Elem, depth-1)
			}
		}
		return out
	case schema.Object:
		out := map[string]any{}
		for _, o := range t.Members {
			if !o.Optional || m.chance(60) {
				out[o.Name] = m.value(o.Type, depth-1)
			}
		}
		if t.Open && m.chance(50) {
			out[[]string{"p", "s", "z"}[m.IntN(3)]] = m.value(m.typ(0), 0)
		}
		return out
	}
	return nil
}

// worst returns whether any change of a schema breaks, and all changes as text.
func worst(old, new *schema.Type, output bool) (breaking bool, text string) {
	compareSchemas(decodeSchema(old), decodeSchema(new), output, func(path string, class Class, kind, change string) {
		breaking = breaking || class == Breaking
		text += fmt.Sprintf("%v %s %s %s\n", class, kind, path, change)
	})
	return breaking, text
}

func accepts(v *schema.Validator, x any) bool {
	_, violations, _ := v.Check(x, schema.Unlimited)
	return len(violations) == 0
}

// TestCompatibleTypesAcceptTheSameValues compares 4,000 pairs of random types. If nothing breaks, no value that
// the old type of an input accepted is refused by the new one; and no result of the new type is refused by a
// reader of the old one, who ignores members that it does not know.
func TestCompatibleTypesAcceptTheSameValues(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(1, 2))}
	compatible, values := 0, 0
	for range 4000 {
		old := m.typ(3)
		new := m.changed(old, 3)
		before, after := old.Compile(), new.Compile()
		breaks, said := worst(old, new, false)
		breaksReaders, saidOutput := worst(old, new, true)
		reader := old.Opened().Compile()
		if !breaks {
			compatible++
		}
		for range 30 {
			values++
			if x := m.value(old, 3); !breaks && accepts(before, x) && !accepts(after, x) {
				t.Fatalf("compatible, but %v is refused now:\n%s\n%s\n%s", x, old.AppendSchema(nil), new.AppendSchema(nil), said)
			}
			if x := m.value(new, 3); !breaksReaders && accepts(after, x) && !accepts(reader, x) {
				t.Fatalf("compatible, but readers refuse %v:\n%s\n%s\n%s", x, old.AppendSchema(nil), new.AppendSchema(nil), saidOutput)
			}
		}
	}
	if compatible < 500 || values < 100_000 {
		t.Errorf("%d compatible pairs and %d values are too few", compatible, values)
	}
}
