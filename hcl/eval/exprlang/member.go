package exprlang

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"

	"hatchel/hcl/eval"
	"hatchel/hcl/functions"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// errSkipped leaves an optional chain; chain turns it into null.
var errSkipped = errors.New("skipped")

func (c *compiler) compileChain(n *ast.ChainNode) typedExpr {
	t := c.compileNode(n.Node)
	inner := t.eval
	t.eval = func(f *frame) (any, error) {
		v, err := inner(f)
		if err == errSkipped {
			return nil, nil
		}
		return v, err
	}
	if t.mayBeNullByChain {
		t.typ = c.withoutRuledOutNull(t.path, t.typ.AsNullable())
	}
	t.mayBeNullByChain = false
	return t
}

func (c *compiler) compileMember(n *ast.MemberNode) typedExpr {
	var base typedExpr
	switch n.Node.(type) {
	case *ast.MemberNode, *ast.IdentifierNode, *ast.PointerNode, *ast.ChainNode:
		base = c.compileNode(n.Node) // one traversal is read as a whole
	default:
		base = c.compile(n.Node)
	}
	key := c.compile(n.Property)
	t := typedExpr{at: key.at, read: base.read, typ: c.typeOfMember(n, base, key), mayBeNullByChain: base.mayBeNullByChain || n.Optional && (base.typ.Nullable || base.typ.Kind == schema.Null)}
	name, isText := key.value.(string)
	if isText && base.path != nil {
		t.path = append(base.path[:len(base.path):len(base.path)], name)
		if base.read != nil && len(base.read) == len(base.path) {
			t.read = t.path
		}
		t.typ = c.withoutRuledOutNull(t.path, t.typ)
	}
	t.eval = compileAccess(base.eval, key, n.Optional)
	return t
}

func compileAccess(base evalFunc, key typedExpr, optional bool) evalFunc {
	name, isText := key.value.(string)
	if isText {
		return func(f *frame) (any, error) {
			b, err := base(f)
			if err != nil {
				return nil, err
			}
			if m, ok := b.(map[string]any); ok {
				return m[name], nil
			}
			return elementOf(b, name, optional)
		}
	}
	index := key.eval
	return func(f *frame) (any, error) {
		b, err := base(f)
		if err != nil {
			return nil, err
		}
		k, err := index(f)
		if err != nil {
			return nil, err
		}
		return elementOf(b, k, optional)
	}
}

func elementOf(base, key any, optional bool) (any, error) {
	base, err := value.Resolve(base)
	if err != nil {
		return nil, errUnreadable
	}
	if key, err = value.Resolve(key); err != nil {
		return nil, errUnreadable
	}
	switch b := base.(type) {
	case nil:
		if optional {
			return nil, errSkipped
		}
		return nil, fmt.Errorf("cannot read %s of null", keyPhrase(key))
	case map[string]any:
		if k, ok := key.(string); ok {
			return b[k], nil
		}
		return nil, fmt.Errorf("an object has no %s; its keys are strings", keyPhrase(key))
	case []any:
		i, ok := value.Int(key)
		if !ok {
			return nil, fmt.Errorf("a list has no %s; its elements are read by number", keyPhrase(key))
		}
		if i < 0 {
			i += len(b)
		}
		if i < 0 || i >= len(b) {
			return nil, fmt.Errorf("there is no element %v in a list of %d", key, len(b))
		}
		return b[i], nil
	}
	return nil, fmt.Errorf("cannot read %s of a %s", keyPhrase(key), value.Kind(base))
}

var errUnreadable = errors.New("a value of the answer is not valid JSON")

func keyPhrase(key any) string {
	switch k := key.(type) {
	case string:
		if utf8.RuneCountInString(k) > 60 {
			k = string([]rune(k)[:60]) + "…"
		}
		return "member " + strconv.Quote(k)
	case int:
		return "element " + strconv.Itoa(k)
	}
	return "member that is a " + value.Kind(key)
}

// typeOfMember checks one step of a traversal.
func (c *compiler) typeOfMember(n *ast.MemberNode, base, key typedExpr) *schema.Type {
	s := base.typ
	name, isText := key.value.(string)
	if s.Nullable && !n.Optional {
		at := c.fullSpan(n.Node)
		w := c.src[at.from:at.to]
		c.report(at, "Value may be null", "%s may be null here. Read it with ?., as %s?.%s, or ask before: %s != null && ...", w, w, c.src[key.at.from:key.at.to], w)
		return eval.AnyType
	}
	switch s.Kind {
	case schema.Any:
		return eval.AnyType
	case schema.Object:
		if !isText {
			c.checkKind(n.Property, key, schema.String)
			return eval.AnyType
		}
		if t := memberType(s, name); t != nil {
			return t
		}
		c.reportUnknownMember(base, name, key.at)
		return eval.AnyType
	case schema.Map:
		if c.checkKind(n.Property, key, schema.String) {
			return elemType(s).AsNullable()
		}
		return eval.AnyType
	case schema.List:
		if isText {
			c.report(key.at, "Member of a list", "A list has no member \"%[1]s\". Read one element, %[2]s[0].%[1]s, or go through all: map(%[2]s, .%[1]s).", name, c.source(n.Node))
			return eval.AnyType
		}
		if c.checkKind(n.Property, key, schema.Integer) {
			return elemType(s)
		}
		return eval.AnyType
	case schema.Null:
		if n.Optional {
			return eval.AnyType
		}
		c.report(c.fullSpan(n.Node), "Value is null", "null has no members.")
		return eval.AnyType
	}
	hint := ""
	if _, ok := functions.Lookup(name); ok {
		hint = fmt.Sprintf(" Write %s(%s).", name, c.source(n.Node))
	}
	c.report(key.at, "Member of a value", "%s has no members.%s", capitalize(eval.TypePhrase(s)), hint)
	return eval.AnyType
}

// What the members of a root are called.
var rootMemberNouns = map[string]string{"input": "input", "var": "variable", "local": "local", "step": "step"}

func (c *compiler) reportUnknownMember(base typedExpr, name string, at span) {
	word, where := "member", ""
	if len(base.path) == 1 && rootMemberNouns[base.path[0]] != "" {
		word = rootMemberNouns[base.path[0]]
	} else if base.path != nil && c.isRoot(base.path[0]) {
		for i, p := range base.path {
			if i > 0 {
				where += "."
			}
			where += p
		}
		where = " in " + where
	}
	candidates := slices.Sorted(slices.Values(base.typ.MemberNames()))
	hint := didYouMean(name, candidates)
	if hint == "" && len(candidates) > 0 && len(candidates) <= 12 {
		hint = " There are: "
		for i, m := range candidates {
			if i > 0 {
				hint += ", "
			}
			hint += m
		}
		hint += "."
	}
	if within := onlyNestedMember(base.typ, name); within != "" && where != "" && didYouMean(name, candidates) == "" {
		hint += " Write " + where[len(" in "):] + "." + within + "." + name + "."
	}
	c.report(at, "Unknown "+word, "There is no %s %q%s.%s", word, name, where, hint)
}

// onlyNestedMember is the only member that has a member of that name, or empty.
func onlyNestedMember(s *schema.Type, name string) (within string) {
	for _, m := range s.Members {
		if memberType(programType(m.Type), name) == nil {
			continue
		}
		if within != "" {
			return ""
		}
		within = m.Name
	}
	return within
}

func (c *compiler) compileSlice(n *ast.SliceNode) typedExpr {
	base := c.compile(n.Node)
	if !eval.CanBe(base.typ, schema.List) && !eval.CanBe(base.typ, schema.String) {
		c.report(c.fullSpan(n.Node), "Wrong type", "A list or a string is expected, this is %s.", eval.TypePhrase(base.typ))
	} else if base.typ.Nullable {
		c.reportNullable(n.Node)
	}
	bound := func(n ast.Node) evalFunc {
		if n == nil {
			return nil
		}
		t := c.compile(n)
		c.checkKind(n, t, schema.Integer)
		return t.eval
	}
	from, to := bound(n.From), bound(n.To)
	return typedExpr{typ: base.typ, at: c.spanOf(n), eval: func(f *frame) (any, error) {
		v, err := evalResolved(f, base.eval)
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
		a, err := evalBound(f, from, 0, size)
		if err != nil {
			return nil, err
		}
		b, err := evalBound(f, to, size, size)
		if err != nil {
			return nil, err
		}
		a = min(a, b)
		if isList {
			return list[a:b:b], nil
		}
		return sliceText(s, a, b), nil
	}}
}

func evalBound(f *frame, bound evalFunc, absent, size int) (int, error) {
	if bound == nil {
		return absent, nil
	}
	v, err := evalResolved(f, bound)
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

func sliceText(s string, from, to int) string {
	n, start := 0, len(s)
	for i := range s {
		if n == from {
			start = i
		}
		if n == to {
			return s[start:i]
		}
		n++
	}
	return s[start:]
}

// evalResolved computes a part and decodes what it gives.
func evalResolved(f *frame, e evalFunc) (any, error) {
	v, err := e(f)
	if err != nil {
		return nil, err
	}
	if d, ok := v.(value.Deferred); ok {
		if v, err = d.Value(); err != nil {
			return nil, errUnreadable
		}
	}
	return v, nil
}
