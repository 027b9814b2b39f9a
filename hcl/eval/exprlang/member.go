package exprlang

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"

	"hatchel/hcl/functions"
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
		t.shape = c.withoutRuledOutNull(t.path, t.shape.orNull())
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
	t := typedExpr{at: key.at, read: base.read, shape: c.memberType(n, base, key), mayBeNullByChain: base.mayBeNullByChain || n.Optional && (base.shape.Nullable || base.shape.Kind == Null)}
	name, isText := key.value.(string)
	if isText && base.path != nil {
		t.path = append(base.path[:len(base.path):len(base.path)], name)
		if base.read != nil && len(base.read) == len(base.path) {
			t.read = t.path
		}
		t.shape = c.withoutRuledOutNull(t.path, t.shape)
	}
	t.eval = compileAccess(base.eval, key, n.Optional)
	return t
}

func compileAccess(base eval, key typedExpr, optional bool) eval {
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

// memberType checks one step of a traversal.
func (c *compiler) memberType(n *ast.MemberNode, base, key typedExpr) *Shape {
	s := base.shape
	name, isText := key.value.(string)
	if s.Nullable && !n.Optional {
		at := c.fullSpan(n.Node)
		w := c.src[at.from:at.to]
		c.report(at, "Value may be null", "%s may be null here. Read it with ?., as %s?.%s, or ask before: %s != null && ...", w, w, c.src[key.at.from:key.at.to], w)
		return anything
	}
	switch s.Kind {
	case Any:
		return anything
	case Object:
		if !isText {
			c.checkKind(n.Property, key, String)
			return anything
		}
		if m, ok := s.Members[name]; ok {
			return m.known()
		}
		c.reportUnknownMember(base, name, key.at)
		return anything
	case Map:
		if c.checkKind(n.Property, key, String) {
			return s.elem().orNull()
		}
		return anything
	case List:
		if isText {
			c.report(key.at, "Member of a list", "A list has no member \"%[1]s\". Read one element, %[2]s[0].%[1]s, or go through all: map(%[2]s, .%[1]s).", name, c.source(n.Node))
			return anything
		}
		if c.checkKind(n.Property, key, Integer) {
			return s.elem()
		}
		return anything
	case Null:
		if n.Optional {
			return anything
		}
		c.report(c.fullSpan(n.Node), "Value is null", "null has no members.")
		return anything
	}
	hint := ""
	if _, ok := functions.Lookup(name); ok {
		hint = fmt.Sprintf(" Write %s(%s).", name, c.source(n.Node))
	}
	c.report(key.at, "Member of a value", "%s has no members.%s", capitalize(kindPhrases[s.Kind]), hint)
	return anything
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
	candidates := sortedNames(base.shape.Members)
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
	if within := onlyNestedMember(base.shape, name); within != "" && where != "" && didYouMean(name, candidates) == "" {
		hint += " Write " + where[len(" in "):] + "." + within + "." + name + "."
	}
	c.report(at, "Unknown "+word, "There is no %s %q%s.%s", word, name, where, hint)
}

// onlyNestedMember is the only member that has a member of that name, or empty.
func onlyNestedMember(s *Shape, name string) (within string) {
	for _, m := range sortedNames(s.Members) {
		if inner := s.Members[m]; inner == nil || inner.Members[name] == nil {
			continue
		}
		if within != "" {
			return ""
		}
		within = m
	}
	return within
}

func (c *compiler) compileSlice(n *ast.SliceNode) typedExpr {
	base := c.compile(n.Node)
	if !base.shape.canBe(List) && !base.shape.canBe(String) {
		c.report(c.fullSpan(n.Node), "Wrong type", "A list or a string is expected, this is %s.", kindPhrases[base.shape.Kind])
	} else if base.shape.Nullable {
		c.reportNullable(n.Node)
	}
	bound := func(n ast.Node) eval {
		if n == nil {
			return nil
		}
		t := c.compile(n)
		c.checkKind(n, t, Integer)
		return t.eval
	}
	from, to := bound(n.From), bound(n.To)
	return typedExpr{shape: base.shape, at: c.spanOf(n), eval: func(f *frame) (any, error) {
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

func evalBound(f *frame, bound eval, absent, size int) (int, error) {
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
func evalResolved(f *frame, e eval) (any, error) {
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
