package hclexpr

import (
	"strconv"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

func (c *Compiler) compileIndex(e *hclsyntax.IndexExpr, in LexicalEnv) eval.TypedExpr {
	n, key := c.Compile(e.Collection, in), c.Compile(e.Key, in)
	if name, ok := key.Value.(string); ok && key.Known {
		return c.compileAttribute(n, name, e.BracketRange, in)
	}
	return c.compileElement(n, key, e.BracketRange, in)
}

// compileElement compiles n[key] for a key that is not a constant text.
func (c *Compiler) compileElement(n, key eval.TypedExpr, r hclv2.Range, in LexicalEnv) eval.TypedExpr {
	c.checkNotNull(n, r)
	what := eval.Subject(n)
	out := eval.TypedExpr{Phrase: what + "[" + indexPhrase(key) + "]", Type: eval.AnyType}.DependOn(n, key)
	switch n.Type.Kind {
	case schema.List, schema.Set, schema.Map:
		out.Type = n.Type.Elem
		out.NullReason = eval.NullableReason(out.Phrase, n.Type.Elem)
	case schema.Object:
		out.Type = commonMemberType(n.Type)
		if enum := enumOfMembers(n); enum != nil {
			out.Type = enum
		}
	case schema.Any:
	default:
		c.Errorf(r, "Not a list", "%s is %s. Only lists, maps and objects have elements.",
			eval.SubjectCapitalized(n), eval.TypePhrase(n.Type))
		return eval.Broken()
	}
	collection, index := n.Eval, key.Eval
	out.Eval = func(f *eval.Frame) (any, error) {
		v, err := collection(f)
		if err != nil {
			return nil, err
		}
		k, err := index(f)
		if err != nil {
			return nil, err
		}
		return eval.ElementAt(f, v, k, what)
	}
	return c.foldConstant(out, r)
}

// indexPhrase is the phrase for an index in a sentence.
func indexPhrase(key eval.TypedExpr) string {
	if i, ok := key.Value.(int); ok && key.Known {
		return strconv.Itoa(i)
	}
	if key.Path != "" {
		return key.Path
	}
	return "…"
}

// enumOfMembers is the type of an index into a constant map of texts: an enumeration of those
// texts, which raw() accepts. It is nil for anything else.
func enumOfMembers(collection eval.TypedExpr) *schema.Type {
	m, ok := collection.Value.(map[string]any)
	if !collection.Known || !ok {
		return nil
	}
	t := &schema.Type{Kind: schema.String}
	for _, k := range value.Keys(m) {
		s, ok := m[k].(string)
		if !ok {
			return nil
		}
		t.Enum = append(t.Enum, schema.EnumValue{Value: s})
	}
	return t
}

func commonMemberType(t *schema.Type) *schema.Type {
	if len(t.Members) == 0 {
		return eval.AnyType
	}
	common := t.Members[0].Type
	for _, m := range t.Members[1:] {
		common = schema.Unify(common, m.Type)
	}
	return common
}
