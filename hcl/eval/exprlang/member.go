package exprlang

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

func (c *compiler) compileChain(n *ast.ChainNode) typedExpr {
	t := c.compileNode(n.Node)
	inner := t.Eval
	t.Eval = func(f *eval.Frame) (any, error) {
		v, err := inner(f)
		if err == eval.ErrEnded {
			return nil, nil
		}
		return v, err
	}
	if t.NullByChain {
		t.Type = t.Type.AsNullable()
	}
	t.NullByChain = false
	return c.narrow(t)
}

func (c *compiler) compileMember(n *ast.MemberNode) typedExpr {
	of := c.compileOperand(n.Node, c.compileNode) // a traversal is recorded as a whole
	base, key := of.typedExpr, c.compileKey(of, n.Property)
	if c.mayEnd != nil && endsWithNull(n, base) {
		c.mayEnd[n] = true
	}
	c.noteName(base, key)
	if base.Type.Kind == schema.List && !isFromStart(key) {
		base = c.requireOwn(base)
	}
	name, isText := key.Value.(string)
	t := typedExpr{Type: c.typeOfMember(n, base, key), Read: base.Read}
	t.Eval = compileAccess(base, key, eval.Access{What: c.source(n.Node), Optional: n.Optional, Program: true})
	if isText {
		t.Facts = base.MemberFacts(name)
	} else {
		t.Facts = base.PartFacts(key)
	}
	mayEnd := n.Optional && (base.Type.Nullable || base.Type.Kind == schema.Null)
	t.NullByChain = base.NullByChain || mayEnd
	if isText && base.Path != "" {
		t.Path = eval.MemberPath(base.Path, name)
		if base.Read == base.Path {
			t.Read = t.Path
		}
		t = c.narrow(t)
	} else if i, ok := key.Value.(int); ok && base.Path != "" {
		t.Path = eval.ElementPath(base.Path, i)
		t = c.narrow(t)
	}
	if r := c.roots[base.Read]; r != nil && base.Read == base.Path {
		if m := r.Members[name]; m != nil && !m.Sensitive {
			t.Eval, t.Marks = m.Resolve, m.Marks
		}
		c.noteValue(c.spanOf(n.Property), t, base.Path, name)
		return t
	}
	c.noteValue(c.spanOf(n.Property), t, "", "")
	return t
}

// noteName tells the observer what the members of base are.
func (c *compiler) noteName(base, key typedExpr) {
	name, isText := key.Value.(string)
	if c.observer == nil || !isText {
		return
	}
	c.observer.Name(name, func() eval.Place {
		if r := c.roots[base.Path]; r != nil && r.Members != nil && c.isRoot(base.Path) {
			return eval.Place{Root: r, Program: true}
		}
		return eval.Place{Type: base.Type, Program: true}
	})
}

func compileAccess(base, key typedExpr, access eval.Access) eval.Func {
	name, isText := key.Value.(string)
	if !isText {
		return eval.Binary(nil, base, key, access.Element).Eval
	}
	inner := base.Eval
	return func(f *eval.Frame) (any, error) {
		b, err := inner(f)
		if err != nil {
			return nil, err
		}
		if m, ok := b.(map[string]any); ok {
			return m[name], nil
		}
		return access.Member(f, b, name)
	}
}

// typeOfMember checks one step of a traversal.
func (c *compiler) typeOfMember(n *ast.MemberNode, base, key typedExpr) *schema.Type {
	t, at := base.Type, c.spanOf(n.Property)
	name, isText := key.Value.(string)
	if t.Nullable && !n.Optional {
		w, member := c.source(n.Node), c.src[at.from:at.to]
		if member != name {
			member = "[" + member + "]"
		}
		c.report(c.fullSpan(n.Node), "Value may be null",
			"%s may be null here. Write %s?.%s, or check first: %s != null && ...", w, w, member, w)
		return eval.AnyType
	}
	switch t.Kind {
	case schema.Any:
	case schema.Object:
		if !isText {
			c.checkKind(n.Property, key, schema.String)
			return eval.AnyType
		} else if m := memberType(t, name); m != nil {
			return m
		} else {
			c.reportUnknownMember(base, name, at)
		}
	case schema.Map:
		if c.trustDeclared {
			if i := slices.IndexFunc(t.Declared, func(m *schema.Member) bool { return m.Name == name }); i >= 0 {
				return programType(t.Declared[i].Type)
			}
		}
		if c.checkKind(n.Property, key, schema.String) {
			return elemType(t).AsNullable()
		}
	case schema.List:
		if isText {
			c.report(at, "Member of a list", "A list has no member \"%[1]s\". Read one element, %[2]s[0].%[1]s, "+
				"or all of them: map(%[2]s, .%[1]s).", name, c.source(n.Node))
		} else if c.checkKind(n.Property, key, schema.Integer) {
			return elemType(t)
		}
	case schema.Null:
		if !n.Optional {
			c.report(c.fullSpan(n.Node), "Value is null", "null has no members.")
		}
	default:
		hint := ""
		if isFunction(name) {
			hint = fmt.Sprintf(" Write %s(%s).", name, c.source(n.Node))
		}
		c.report(at, "Member of a value", "%s has no members.%s", capitalize(eval.TypePhrase(t)), hint)
	}
	return eval.AnyType
}

func (c *compiler) reportUnknownMember(base typedExpr, name string, at span) {
	noun, where := "member", ""
	if r := c.roots[base.Path]; r != nil && r.Members != nil {
		if m := r.Members[name]; m != nil && m.Sensitive {
			c.report(at, "Secret in a program", "%[1]s holds a secret, which a program cannot read. Use it where a "+
				"secret is allowed, as in a header or env: ${%[1]s}.", eval.ShowPath(eval.MemberPath(base.Path, name)))
			return
		}
		if why := r.Unavailable[name]; why != "" {
			c.report(at, "Value not available here", "%s", why)
			return
		}
		noun = r.Noun
	}
	if c.isRoot(base.Path) && strings.HasPrefix(noun, "member") {
		noun, where = "member", eval.ShowPath(base.Path)
	}
	candidates := slices.Sorted(slices.Values(base.Type.MemberNames()))
	if where != "" {
		c.report(at, "Unknown member", "%s has no member %q.%s", where, name,
			diag.SuggestOr(name, candidates, diag.ListHas(candidates)+eval.NestedMember(where, base.Type, name)))
		return
	}
	c.report(at, "Unknown "+noun, "There is no %s %q.%s", noun, name,
		diag.SuggestOr(name, candidates,
			diag.ListNames(" There are: ", candidates)+eval.NestedMember("", base.Type, name)))
	c.problems[len(c.problems)-1].Code = diag.Undeclared
}

// compileSlice compiles x[from:to] of a list or a string.
func (c *compiler) compileSlice(n *ast.SliceNode) typedExpr {
	base := c.compileNode(n.Node)
	if !eval.CanBe(base.Type, schema.List) && !eval.CanBe(base.Type, schema.String) {
		c.report(c.fullSpan(n.Node), "Wrong type", "A list or a string is expected, this is %s.",
			eval.TypePhrase(base.Type))
	} else {
		c.checkNotNull(n.Node, base)
	}
	from, to := c.compileBound(n.From, 0), c.compileBound(n.To, math.MaxInt)
	if !isFromStart(from) || !isFromStart(to) {
		base = c.requireWhole(n.Node, base)
	}
	operand := base.Eval
	part := typedExpr{Type: base.Type, Facts: base.Some(from, to), Read: base.Read}
	part.Eval = func(f *eval.Frame) (any, error) {
		v, err := eval.Resolved(operand(f))
		if err != nil {
			return nil, err
		}
		size := 0
		list, isList := v.([]any)
		s, isText := v.(string)
		switch {
		case isList:
			size = len(list)
		case isText:
			size = utf8.RuneCountInString(s)
		default:
			return nil, fmt.Errorf("cannot take a part of a %s", value.Kind(v))
		}
		a, err := evalBound(f, from.Eval, size)
		if err != nil {
			return nil, err
		}
		b, err := evalBound(f, to.Eval, size)
		if err != nil {
			return nil, err
		}
		a = min(a, b)
		if isList {
			return list[a:b:b], nil
		}
		return s[byteOffset(s, a):byteOffset(s, b)], nil
	}
	return part
}

// compileBound compiles a bound of a slice.
func (c *compiler) compileBound(n ast.Node, absent int) typedExpr {
	if n == nil {
		return eval.Constant(absent)
	}
	t := c.compile(n)
	c.checkKind(n, t, schema.Integer)
	return t
}

// isFromStart reports whether an index certainly counts from the beginning of a list.
func isFromStart(index typedExpr) bool {
	i, ok := index.Value.(int)
	return ok && i >= 0
}

// evalBound computes a bound of a slice. A negative bound counts from the end.
func evalBound(f *eval.Frame, bound eval.Func, size int) (int, error) {
	v, err := eval.Resolved(bound(f))
	if err != nil {
		return 0, err
	}
	i, ok := value.Int(v)
	if !ok {
		return 0, fmt.Errorf("the bounds of a part must be integers, got %s", value.Kind(v))
	}
	if i < 0 {
		i += size
	}
	return min(max(i, 0), size), nil
}

// byteOffset is the place of the n-th character of a text.
func byteOffset(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}
