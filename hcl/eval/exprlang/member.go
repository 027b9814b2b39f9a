package exprlang

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/functions"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// errSkipped leaves an optional chain; compileChain turns it into null.
var errSkipped = errors.New("skipped")

func (c *compiler) compileChain(n *ast.ChainNode) typedExpr {
	t := c.compileNode(n.Node)
	inner := t.Eval
	t.Eval = func(f *frame) (any, error) {
		v, err := inner(f)
		if err == errSkipped {
			return nil, nil
		}
		return v, err
	}
	if t.mayBeNullByChain {
		t.Type = c.withoutRuledOutNull(t.path, t.Type.AsNullable())
	}
	t.mayBeNullByChain = false
	return t
}

func (c *compiler) compileMember(n *ast.MemberNode) typedExpr {
	var base typedExpr
	switch n.Node.(type) {
	case *ast.MemberNode, *ast.IdentifierNode, *ast.PointerNode, *ast.ChainNode:
		base = c.compileNode(n.Node) // a traversal is recorded as a whole
	default:
		base = c.compile(n.Node)
	}
	key := c.compile(n.Property)
	t := computed(c.typeOfMember(n, base, key), key.at, compileAccess(base.Eval, key, n.Optional))
	t.read = base.read
	mayEnd := n.Optional && (base.Type.Nullable || base.Type.Kind == schema.Null)
	t.mayBeNullByChain = base.mayBeNullByChain || mayEnd
	name, isText := key.Value.(string)
	if isText && base.path != nil {
		t.path = append(base.path[:len(base.path):len(base.path)], name)
		if base.read != nil && len(base.read) == len(base.path) {
			t.read = t.path
		}
		t.Type = c.withoutRuledOutNull(t.path, t.Type)
	}
	return t
}

func compileAccess(base evalFunc, key typedExpr, optional bool) evalFunc {
	if name, isText := key.Value.(string); isText {
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
	return func(f *frame) (any, error) {
		b, err := base(f)
		if err != nil {
			return nil, err
		}
		k, err := key.Eval(f)
		if err != nil {
			return nil, err
		}
		return elementOf(b, k, optional)
	}
}

// elementOf reads a member of an object or an element of a list. A member that an object does not
// have is null.
func elementOf(base, key any, optional bool) (any, error) {
	base, err := eval.Resolve(base)
	if err != nil {
		return nil, err
	}
	if key, err = eval.Resolve(key); err != nil {
		return nil, err
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

const maxShownKey = 60 // characters

func keyPhrase(key any) string {
	switch k := key.(type) {
	case string:
		if utf8.RuneCountInString(k) > maxShownKey {
			k = string([]rune(k)[:maxShownKey]) + "…"
		}
		return "member " + strconv.Quote(k)
	case int:
		return "element " + strconv.Itoa(k)
	}
	return "member that is a " + value.Kind(key)
}

// typeOfMember checks one step of a traversal.
func (c *compiler) typeOfMember(n *ast.MemberNode, base, key typedExpr) *schema.Type {
	t := base.Type
	name, isText := key.Value.(string)
	if t.Nullable && !n.Optional {
		at := c.fullSpan(n.Node)
		w := c.src[at.from:at.to]
		c.report(at, "Value may be null", "%s may be null here. Write %s?.%s, or check first: %s != null && ...",
			w, w, c.src[key.at.from:key.at.to], w)
		return eval.AnyType
	}
	switch t.Kind {
	case schema.Any:
	case schema.Object:
		if !isText {
			c.checkKind(n.Property, key, schema.String)
		} else if m := memberType(t, name); m != nil {
			return m
		} else {
			c.reportUnknownMember(base, name, key.at)
		}
	case schema.Map:
		if c.checkKind(n.Property, key, schema.String) {
			return elemType(t).AsNullable()
		}
	case schema.List:
		if isText {
			c.report(key.at, "Member of a list",
				"A list has no member \"%[1]s\". Read one element, %[2]s[0].%[1]s, or all of them: map(%[2]s, "+
					".%[1]s).",
				name, c.source(n.Node))
		} else if c.checkKind(n.Property, key, schema.Integer) {
			return elemType(t)
		}
	case schema.Null:
		if !n.Optional {
			c.report(c.fullSpan(n.Node), "Value is null", "null has no members.")
		}
	default:
		hint := ""
		if _, ok := functions.Lookup(name); ok {
			hint = fmt.Sprintf(" Write %s(%s).", name, c.source(n.Node))
		}
		c.report(key.at, "Member of a value", "%s has no members.%s", capitalize(eval.TypePhrase(t)), hint)
	}
	return eval.AnyType
}

// rootMemberNouns are what the members of a root are called.
var rootMemberNouns = map[string]string{"input": "input", "var": "variable", "local": "local", "step": "step"}

func (c *compiler) reportUnknownMember(base typedExpr, name string, at span) {
	noun, where := "member", ""
	if len(base.path) == 1 && rootMemberNouns[base.path[0]] != "" {
		noun = rootMemberNouns[base.path[0]]
	} else if base.path != nil && c.isRoot(base.path[0]) {
		where = strings.Join(base.path, ".")
	}
	candidates := slices.Sorted(slices.Values(base.Type.MemberNames()))
	hint := diag.DidYouMean(name, candidates)
	if hint == "" {
		if len(candidates) > 0 && len(candidates) <= 12 {
			hint = " There are: " + strings.Join(candidates, ", ") + "."
		}
		if within := onlyNestedMember(base.Type, name); within != "" && where != "" {
			hint += " Write " + where + "." + within + "." + name + "."
		}
	}
	if where != "" {
		where = " in " + where
	}
	c.report(at, "Unknown "+noun, "There is no %s %q%s.%s", noun, name, where, hint)
}

// onlyNestedMember is the only member that has a member of that name, or empty.
func onlyNestedMember(t *schema.Type, name string) (within string) {
	for _, m := range t.Members {
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

// compileSlice compiles x[from:to] of a list or a string.
func (c *compiler) compileSlice(n *ast.SliceNode) typedExpr {
	base := c.compile(n.Node)
	if !eval.CanBe(base.Type, schema.List) && !eval.CanBe(base.Type, schema.String) {
		c.report(c.fullSpan(n.Node), "Wrong type", "A list or a string is expected, this is %s.",
			eval.TypePhrase(base.Type))
	} else if base.Type.Nullable {
		c.reportNullable(n.Node)
	}
	bound := func(n ast.Node) evalFunc {
		if n == nil {
			return nil
		}
		t := c.compile(n)
		c.checkKind(n, t, schema.Integer)
		return t.Eval
	}
	from, to := bound(n.From), bound(n.To)
	return computed(base.Type, c.spanOf(n), func(f *frame) (any, error) {
		v, err := eval.EvalResolved(f, base.Eval)
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
	})
}

// evalBound computes a bound of a slice. A negative bound counts from the end.
func evalBound(f *frame, bound evalFunc, absent, size int) (int, error) {
	if bound == nil {
		return absent, nil
	}
	v, err := eval.EvalResolved(f, bound)
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

// sliceText is a part of a text, by the number of its characters.
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
