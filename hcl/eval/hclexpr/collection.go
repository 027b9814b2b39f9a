package hclexpr

import (
	"strconv"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

func (c *Compiler) compileIndex(e *hclsyntax.IndexExpr, in LexicalEnv) eval.TypedExpr {
	n, key := c.compileInner(e.Collection, in), c.Compile(e.Key, in)
	if name, ok := key.Value.(string); ok && key.Known {
		return c.compileAttribute(n, name, e.BracketRange, in)
	}
	return c.compileElement(n, key, e.BracketRange, in)
}

// compileElement compiles n[key] for a key that is not a constant text.
func (c *Compiler) compileElement(n, key eval.TypedExpr, r hclv2.Range, in LexicalEnv) eval.TypedExpr {
	c.checkNotNull(n, r)
	what := eval.Subject(n)
	out := eval.Binary(eval.AnyType, n, key, (&eval.Access{What: what}).Element)
	out.Facts = n.PartFacts(key)
	out.Read = n.Read
	out.Phrase = what + "[" + indexPhrase(key) + "]"
	if i, ok := key.Value.(int); ok && key.Known && n.Path != "" {
		out.Path = eval.ElementPath(n.Path, i)
	}
	switch n.Type.Kind {
	case schema.List, schema.Set, schema.Map:
		out.Type = eval.ElemType(n.Type)
		out.NullReason = eval.NullableReason(out.Phrase, out.Type)
	case schema.Object:
		out.Type = commonMemberType(n.Type)
	case schema.Any:
	default:
		c.Errorf(r, "Not a list", "%s is %s. Only lists, maps and objects have elements.",
			eval.SubjectCapitalized(n), eval.TypePhrase(n.Type))
		return eval.Broken()
	}
	if in.NonNull.Has(out.Path) {
		out.NullReason = ""
	}
	return c.foldConstant(out, r)
}

// indexPhrase is the phrase for an index in a sentence.
func indexPhrase(key eval.TypedExpr) string {
	if i, ok := key.Value.(int); ok && key.Known {
		return strconv.Itoa(i)
	}
	if key.Path != "" {
		return eval.ShowPath(key.Path)
	}
	return "…"
}

func commonMemberType(t *schema.Type) *schema.Type {
	if len(t.Members) == 0 {
		return eval.AnyType
	}
	common := t.Members[0].Type
	for _, m := range t.Members[1:] {
		common = schema.Unify(common, m.Type)
	}
	return common.Unfolded()
}

func (c *Compiler) compileObject(e *hclsyntax.ObjectConsExpr, in LexicalEnv) eval.TypedExpr {
	entries := make([]eval.Entry, len(e.Items))
	for i, item := range e.Items {
		key := c.compileKey(item.KeyExpr, in)
		val := c.compileNamed(key, item.ValueExpr, in)
		entries[i].Key, entries[i].Value = key, val
		if c.omitting[e] && !val.CallerSpecific {
			entries[i].Absent = val.Absent
		}
		name, known := key.Value.(string)
		if !known {
			entries[i].NameOf = eval.KeyName(key, false)
			continue
		}
		if eval.IsNamed(entries[:i], name) {
			c.Errorf(item.KeyExpr.Range(), "Duplicate key", "The key %q is written twice in this object.", name)
		}
		entries[i].Name = name
	}
	return c.foldConstant(eval.ObjectOf(entries), e.Range())
}

// OmitAbsent makes the objects that are written in e leave out a member that is one reference to something
// optional, when that is absent. A missing part of the caller's identity is never left out.
func (c *Compiler) OmitAbsent(e hclsyntax.Expression) {
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		c.OmitAbsent(e.Expression)
	case *hclsyntax.TemplateWrapExpr:
		c.OmitAbsent(e.Wrapped)
	case *hclsyntax.ConditionalExpr:
		c.OmitAbsent(e.TrueResult)
		c.OmitAbsent(e.FalseResult)
	case *hclsyntax.FunctionCallExpr:
		for _, a := range e.Args {
			if e.Name == "merge" {
				c.OmitAbsent(a)
			}
		}
	case *hclsyntax.ForExpr:
		c.OmitAbsent(e.ValExpr)
	case *hclsyntax.TupleConsExpr:
		for _, x := range e.Exprs {
			c.OmitAbsent(x)
		}
	case *hclsyntax.ObjectConsExpr:
		if c.omitting == nil {
			c.omitting = map[*hclsyntax.ObjectConsExpr]bool{}
		}
		c.omitting[e] = true
		for _, item := range e.Items {
			c.OmitAbsent(item.ValueExpr)
		}
	}
}

// compileNamed compiles the value of a member.
func (c *Compiler) compileNamed(key eval.TypedExpr, e hclsyntax.Expression, in LexicalEnv) eval.TypedExpr {
	around := c.Name
	c.Name, _ = key.Value.(string)
	n := c.Compile(e, in)
	c.Name = around
	return n
}

// compileKey compiles the key of an object. A bare word is a literal.
func (c *Compiler) compileKey(e hclsyntax.Expression, in LexicalEnv) eval.TypedExpr {
	if k, ok := e.(*hclsyntax.ObjectConsKeyExpr); ok {
		if word := hclv2.ExprAsKeyword(k.Wrapped); word != "" && !k.ForceNonLiteral {
			return eval.Constant(word)
		}
		if name := c.unquotedName(k, in); name != "" {
			c.Errorf(k.Wrapped.Range(), "Name without quotes", "A name with a dot has quotes: write %q.", name)
			return eval.Constant(name)
		}
		e = k.Wrapped
	}
	n := c.Compile(e, in)
	if n.Known && n.Value != nil {
		if text, err := value.Text(n.Value); err == nil {
			return eval.Constant(text)
		}
	}
	return n
}

// unquotedName returns the name that a key such as app.tenant is meant to be; empty for another key, and for one that
// begins with a name that can be read here, or is near to one.
func (c *Compiler) unquotedName(k *hclsyntax.ObjectConsKeyExpr, in LexicalEnv) string {
	t, ok := k.Wrapped.(*hclsyntax.ScopeTraversalExpr)
	if !ok || k.ForceNonLiteral || in.vars.find(t.Traversal.RootName()) != nil {
		return ""
	}
	name := t.Traversal.RootName()
	if r, why := c.Scope.Find(name); r != nil || why != "" || diag.DidYouMean(name, c.Scope.Readable()).IsFix() {
		return ""
	}
	for _, step := range t.Traversal[1:] {
		attribute, ok := step.(hclv2.TraverseAttr)
		if !ok {
			return ""
		}
		name += "." + attribute.Name
	}
	return name
}

func (c *Compiler) compileTuple(e *hclsyntax.TupleConsExpr, in LexicalEnv) eval.TypedExpr {
	elems := make([]eval.TypedExpr, len(e.Exprs))
	for i, x := range e.Exprs {
		elems[i] = c.Compile(x, in)
	}
	return c.foldConstant(eval.ListOf(elems), e.Range())
}
