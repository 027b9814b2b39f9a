package hclexpr

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/functions"
	"hatchel/hcl/schema"
	"hatchel/hcl/template"
	"hatchel/hcl/template/shelltext"
	"hatchel/hcl/value"
)

// KeyValues are named values that are computed for every call: query parameters, headers, form
// fields, environment variables. A null value is left out, unless it depends on the caller's
// identity: then the call fails.
type KeyValues struct {
	pairs   []keyValueExpr // in written order
	mapExpr eval.TypedExpr // if the map itself is an expression
	Range   diag.Range
}

type keyValueExpr struct {
	key     eval.TypedExpr
	value   eval.TypedExpr
	keyPart diag.Range
	rng     diag.Range
}

// KeyValue is one named value of a call.
type KeyValue struct {
	Name  string
	Value any // never null
	Range diag.Range
}

// Eval computes the values in written order, or sorted by name, and lists by
// index, if the map itself is an expression.
// A nil KeyValues has none.
func (e *KeyValues) Eval(f *eval.Frame) (out []KeyValue, err error) {
	if e == nil {
		return nil, nil
	}
	if e.mapExpr.Eval != nil {
		return e.evalMap(f)
	}
	out = make([]KeyValue, 0, len(e.pairs))
	for _, w := range e.pairs {
		k, err := w.key.Eval(f)
		if err != nil {
			return nil, err
		}
		name, ok := k.(string)
		if !ok {
			return nil, fmt.Errorf("a name must be a string, got %s", value.Kind(k))
		}
		v, err := w.value.Eval(f)
		if err != nil {
			return nil, err
		}
		if out, err = appendValue(out, KeyValue{name, v, w.rng}, w.value); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (e *KeyValues) evalMap(f *eval.Frame) (out []KeyValue, err error) {
	v, err := eval.Resolved(e.mapExpr.Eval(f))
	if err != nil || v == nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("an object is expected, got %s", value.Kind(v))
	}
	for _, k := range slices.SortedFunc(maps.Keys(m), functions.CompareBrackets) {
		if out, err = appendValue(out, KeyValue{k, m[k], e.Range}, e.mapExpr); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// appendValue appends a value that from gave, unless it is null.
func appendValue(out []KeyValue, v KeyValue, from eval.TypedExpr) ([]KeyValue, error) {
	switch {
	case v.Value != nil:
		return append(out, v), nil
	case from.CallerSpecific:
		return nil, fmt.Errorf("%s needs a part of the caller's identity that is missing", v.Name)
	}
	return out, nil
}

// Entry is one of the KeyValues whose name is known at load.
type Entry struct {
	Name  string
	Key   diag.Range // of the name, or of the whole map if its entries are not written there
	Value Expr
}

// Entries returns the values whose names are known at load, with what computes each. They are in written order, or
// sorted by name if the map itself is an expression.
func (e *KeyValues) Entries() (out []Entry) {
	if e == nil {
		return nil
	}
	for _, name := range e.mapNames() {
		out = append(out, Entry{name, e.Range, Expr{Typed: e.memberOfMap(name), Range: e.Range}})
	}
	for _, w := range e.pairs {
		if name, ok := w.key.Value.(string); ok {
			out = append(out, Entry{name, w.keyPart, Expr{Typed: w.value, Range: w.rng}})
		}
	}
	return out
}

// mapNames returns the sorted names of a map that is an expression, as far as they are known at load.
func (e *KeyValues) mapNames() (names []string) {
	switch {
	case e.mapExpr.Eval == nil:
		return nil
	case e.mapExpr.Known:
		m, _ := e.mapExpr.Value.(map[string]any)
		return slices.Sorted(maps.Keys(m))
	}
	names = e.mapExpr.Type.MemberNames()
	slices.Sort(names)
	return names
}

// memberOfMap returns what computes a member of a map that is an expression.
func (e *KeyValues) memberOfMap(name string) eval.TypedExpr {
	if m, ok := e.mapExpr.Value.(map[string]any); ok && e.mapExpr.Known {
		member := eval.Constant(m[name])
		member.Marks = e.mapExpr.Marks
		return member
	}
	of := e.mapExpr
	access := &eval.Access{What: eval.Subject(of), Optional: true}
	member := eval.TypedExpr{Type: eval.AnyType, Facts: of.MemberFacts(name)}
	if m, ok := of.Type.Lookup(name); ok {
		member.Type = m.Type
	}
	member.Eval = func(f *eval.Frame) (any, error) {
		v, err := eval.Resolved(of.Eval(f))
		if err != nil {
			return nil, err
		}
		return access.Member(f, v, name)
	}
	return member
}

// Names returns the names that are known at load: those that the author has written, in the map or in its type.
func (e *KeyValues) Names() (names []string) {
	if e == nil {
		return nil
	}
	if e.mapExpr.Eval != nil {
		return e.mapExpr.Type.MemberNames()
	}
	for _, w := range e.pairs {
		if name, ok := w.key.Value.(string); ok {
			names = append(names, name)
		}
	}
	return names
}

// MayHave reports whether a value may have a name: Names has it, or other names come with the call.
func (e *KeyValues) MayHave(name string) bool {
	names := e.Names()
	switch {
	case e == nil:
		return false
	case slices.Contains(names, name):
		return true
	case e.mapExpr.Eval != nil:
		return e.mapExpr.Type.Kind != schema.Object || e.mapExpr.Type.Open
	}
	return len(names) < len(e.pairs)
}

// Constants returns the texts among the values that are known at load.
func (e *KeyValues) Constants() (texts []string) {
	if e == nil {
		return nil
	}
	for _, w := range e.pairs {
		if text, ok := w.value.Value.(string); ok && w.value.Known && !w.value.Sensitive {
			texts = append(texts, text)
		}
	}
	return texts
}

// Constant returns the text of a value that is known at load and is not sensitive; empty for any other.
func (e *KeyValues) Constant(name string) string {
	if e == nil {
		return ""
	}
	for _, w := range e.pairs {
		if text, ok := w.value.Value.(string); ok && w.key.Value == name && w.value.Known && !w.value.Sensitive {
			return text
		}
	}
	return ""
}

// NameAsValue reports whether the values are called name and value, as if those were the parts of one named value. It
// returns the text of name if that is known at load.
func (e *KeyValues) NameAsValue() (name string, ok bool) {
	names := e.Names()
	slices.Sort(names)
	if !slices.Equal(names, []string{"name", "value"}) {
		return "", false
	}
	for _, w := range e.pairs {
		if text, isText := w.value.Value.(string); isText && w.key.Value == "name" {
			name = text
		}
	}
	return name, true
}

// CommandInputs returns the values as inputs of a command. If the map itself is an expression, that
// is the source of each.
func (e *KeyValues) CommandInputs(src []byte) map[string]shelltext.InputValue {
	out := map[string]shelltext.InputValue{}
	add := func(name string, v eval.TypedExpr, r diag.Range) {
		out[name] = shelltext.InputValue{Source: string(src[r.Start.Byte:r.End.Byte]), Type: v.TemplateType()}
	}
	for _, w := range e.pairs {
		name, _ := w.key.Value.(string)
		add(name, w.value, w.rng)
	}
	if e.mapExpr.Eval != nil && !e.mapExpr.Known {
		for _, m := range e.mapExpr.Type.Members {
			add(m.Name, eval.TypedExpr{Type: m.Type, Facts: e.mapExpr.MemberFacts(m.Name)}, e.Range)
		}
	}
	return out
}

// LoosePaths returns the places of values that are paths which a caller's value can make leave their folder.
func (e *KeyValues) LoosePaths() (places []diag.Range) {
	for _, w := range e.pairs {
		if w.value.AsPath == template.PathUnsafe {
			places = append(places, w.rng)
		}
	}
	if e.mapExpr.AsPath == template.PathUnsafe {
		places = append(places, e.Range)
	}
	return places
}

// Secret reports whether the value of that name may hold a secret.
func (e *KeyValues) Secret(name string) bool {
	return e != nil && (e.mapExpr.Sensitive || slices.ContainsFunc(e.pairs, func(w keyValueExpr) bool {
		return w.key.Value == name && w.value.Sensitive
	}))
}

// CompileKeyValues compiles a map of values.
func (c *Compiler) CompileKeyValues(e hclsyntax.Expression, in LexicalEnv, a Argument) *KeyValues {
	c.Nulls = eval.PropagateNull
	out := &KeyValues{Range: diag.RangeOf(e.Range())}
	obj, ok := e.(*hclsyntax.ObjectConsExpr)
	if !ok {
		return c.compileMap(e, in, a)
	}
	seen := map[string]bool{}
	out.pairs = make([]keyValueExpr, 0, len(obj.Items))
	for _, item := range obj.Items {
		key := c.compileKey(item.KeyExpr, in)
		if a.FixedKeys && !key.Known {
			c.Errorf(item.KeyExpr.Range(), "Known name needed",
				"The names in %s must be known at load. They cannot depend on a call.", a.Name)
		}
		if name, ok := key.Value.(string); ok {
			if seen[name] {
				c.Errorf(item.KeyExpr.Range(), "Duplicate key", "%q is written twice in %s.", name, a.Name)
			}
			seen[name] = true
		}
		w := keyValueExpr{key, c.compileNamed(key, item.ValueExpr, in), diag.RangeOf(item.KeyExpr.Range()),
			diag.RangeOf(item.ValueExpr.Range())}
		c.RejectFileValue(w.value, item.ValueExpr, a)
		out.pairs = append(out.pairs, w)
	}
	return out
}

func (c *Compiler) compileMap(e hclsyntax.Expression, in LexicalEnv, a Argument) *KeyValues {
	n := c.Compile(e, in)
	c.RejectFileValue(n, e, a)
	if !eval.CanBe(n.Type, schema.Map) {
		c.Errorf(e.Range(), "Wrong type", "%s takes a map such as { name = value }, this is %s.", a.Name,
			eval.TypePhrase(n.Type))
	}
	if a.FixedKeys && !n.Known && n.Type.Kind != schema.Object {
		c.Errorf(e.Range(), "Known names needed",
			"The names in %s must be known at load. Write them out, as in { name = value }.", a.Name)
	}
	return &KeyValues{mapExpr: n, Range: diag.RangeOf(e.Range())}
}

// Add appends a value under a name that is known at load.
func (e *KeyValues) Add(name string, v eval.TypedExpr, r diag.Range) {
	e.pairs = append(e.pairs, keyValueExpr{eval.Constant(name), v, r, r})
}
