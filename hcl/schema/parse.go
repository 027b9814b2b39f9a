package schema

import (
	"cmp"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
	"hatchel/hcl/value"
)

// Env resolves the names and values in a type expression. Its functions report mistakes to Diags.
type Env struct {
	Diags *diag.Diagnostics
	// Type returns the type declared as `type "name"`, or nil for an unknown name.
	Type func(name string, at hclv2.Range) *Type
	// Eval returns the value of a constant expression, as defined by package value. It reports false
	// if there is none.
	Eval func(hclv2.Expression) (v any, ok bool)
	// Size reads a number of bytes such as "10MiB".
	Size func(hclv2.Expression) int64
	// Source is the text of the file, for hints.
	Source []byte
	// Uploads is the URL for uploading files.
	Uploads *string
	// Patterns compiles the patterns.
	Patterns *Patterns
}

// ParseMember reads the type of an input, which may be optional(...), into m. It reports every
// mistake and always sets a type.
func ParseMember(m *Member, expr hclv2.Expression, env Env) { (&parser{env}).member(m, expr) }

// ParseType reads a type that cannot be optional: a result, a response, a named type. It reports
// every mistake and always returns a type.
func ParseType(expr hclv2.Expression, env Env) *Type { return (&parser{env}).parse(expr) }

type parser struct{ Env }

// fail reports a mistake and returns an invalid type, for where a type was expected.
func (p *parser) fail(at hclv2.Range, summary, format string, args ...any) *Type {
	p.Diags.Errorf(diag.RangeOf(at), summary, format, args...)
	return brokenType()
}

// member reads a type that may be optional.
func (p *parser) member(m *Member, expr hclv2.Expression) {
	call := callOf(expr)
	if call == nil || call.Name != "optional" {
		m.Type = p.parse(expr)
		return
	}
	m.Optional = true
	if len(call.Arguments) == 0 {
		m.Type = p.incomplete(expr.Range(), "optional")
		return
	}
	m.Type = p.parse(call.Arguments[0])
	if len(call.Arguments) > 1 {
		m.Default, m.HasDefault = p.defaultValue(m.Type, call.Arguments[1])
		if m.HasDefault {
			p.warnDefault(m.Type, call.Arguments[0], call.Arguments[1], m.Default)
		}
	}
	if len(call.Arguments) > 2 {
		p.fail(between(call.Arguments[2:]), "Too many arguments", "optional(...) takes only a type and a default. "+
			"A description goes into the type: optional(%s(\"...\")).", m.Type.Kind)
	}
}

func brokenType() *Type { return &Type{broken: true} }

// parse reads a type that may not be optional.
func (p *parser) parse(expr hclv2.Expression) *Type {
	if call := callOf(expr); call != nil {
		return p.call(expr, call)
	}
	switch e := unwrap(expr).(type) {
	case *hclsyntax.ScopeTraversalExpr:
		return p.name(e)
	case *hclsyntax.TemplateExpr:
		if text, ok := literalText(e); ok {
			return p.quoted(e, text)
		}
	case *hclsyntax.TemplateWrapExpr:
		return p.quoted(e, p.sourceOf(e.Wrapped))
	case *hclsyntax.TupleConsExpr:
		p.fail(e.Range(), "Invalid type", "A list type is written list(string), with the type of its elements.")
		return &Type{Kind: List, Elem: brokenType()}
	case *hclsyntax.ObjectConsExpr:
		p.fail(e.Range(), "Invalid type", "An object type is written object({ ... }).")
		return p.members(e)
	case *hclsyntax.LiteralValueExpr:
		if e.Val.IsNull() {
			return p.fail(e.Range(), "Invalid type", "null is not a type. A value that may be null has the type "+
				"nullable(string), one that may be left out optional(string).")
		}
		return p.fail(e.Range(), "Invalid type", "A type is needed here, not a value: string, number, integer, "+
			"bool, any, list(...), set(...), map(...), object({...}), enum(...), one_of(...), file, nullable(...) or "+
			"type.name.")
	}
	return p.fail(expr.Range(), "Invalid type", "A type is written string, number, integer, bool, any, list(...), "+
		"set(...), map(...), object({...}), enum(...), one_of(...), file, nullable(...) or type.name; it cannot be "+
		"computed.")
}

func (p *parser) quoted(expr hclv2.Expression, text string) *Type {
	at := expr.Range()
	if written, t := namedType(text); written != "" {
		p.fail(at, "Quoted type", "Types are written without quotes: %s.",
			diag.Correct(p.sourceOf(expr), written, written))
		return t
	}
	return p.fail(at, "Quoted type", "A type is needed here, not a string. Types are written without quotes: "+
		"string; a description goes into the type: string(\"...\").")
}

var scalars = map[string]Kind{"string": String, "number": Number, "integer": Integer, "bool": Bool, "any": Any,
	"file": File}

// name reads a type without arguments: a scalar, or type.name.
func (p *parser) name(e *hclsyntax.ScopeTraversalExpr) *Type {
	root := e.Traversal.RootName()
	if root == "type" {
		return p.reference(e)
	}
	if len(e.Traversal) > 1 {
		return p.fail(e.Range(), "Invalid type", "%s is not a type. Declare a type as type \"name\" { is = ... } "+
			"and refer to it as type.name.", p.sourceOf(e))
	}
	if kind, ok := scalars[root]; ok {
		return &Type{Kind: kind, Upload: p.Uploads}
	}
	if constructors[root] != "" {
		return p.incomplete(e.Range(), root)
	}
	return p.unknown(e.Range(), root)
}

// incomplete reports a constructor without arguments.
func (p *parser) incomplete(at hclv2.Range, name string) *Type {
	return p.fail(at, "Incomplete type", "%s needs %s.", name, constructors[name])
}

func (p *parser) unknown(at hclv2.Range, name string) *Type {
	if written, t := namedType(name); written != "" {
		p.fail(at, "Unknown type", "There is no type %q. Write %s.", name, diag.Correct(name, written, written))
		return t
	}
	near := diag.NearestOf(name, typeNames)
	if near.IsFix() {
		p.fail(at, "Unknown type", "There is no type %q. Did you mean %s?", name, near)
		_, t := namedType(near.String())
		return t
	}
	return p.fail(at, "Unknown type", "There is no type %q. The types are string, number, integer, bool, any, list, "+
		"set, map, object, enum, one_of, file and nullable; a declared type is written type.%s.", name, near.Says(name))
}

func (p *parser) reference(e *hclsyntax.ScopeTraversalExpr) *Type {
	if len(e.Traversal) == 2 {
		if step, ok := e.Traversal[1].(hclv2.TraverseAttr); ok {
			return cmp.Or(p.Type(step.Name, e.Range()), brokenType())
		}
	}
	return p.fail(e.Range(), "Invalid type",
		"Declare a type as type \"name\" { is = ... } and refer to it as type.name, with exactly one name.")
}

// call reads T(...).
func (p *parser) call(expr hclv2.Expression, call *hclv2.StaticCall) *Type {
	args := call.Arguments
	if kind, ok := scalars[call.Name]; ok {
		t := &Type{Kind: kind, Upload: p.Uploads}
		if len(args) == 0 {
			p.fail(expr.Range(), "Empty call", "Write %s without parentheses, or give it a description: %s(\"...\").",
				call.Name, call.Name)
		}
		return p.descriptionAndKeywords(call.Name+"(", args, t)
	}
	if len(args) == 0 && constructors[call.Name] != "" {
		return p.incomplete(expr.Range(), call.Name)
	}
	switch call.Name {
	case "list", "set", "map":
		return p.collection(call.Name, args)
	case "nullable":
		return p.nullable(args)
	case "object":
		return p.descriptionAndKeywords("object({...}, ", args[1:], p.members(args[0]))
	case "enum":
		return p.enum(args)
	case "one_of":
		return p.oneOf(expr, args)
	case "optional":
		p.fail(expr.Range(), "Misplaced optional", "optional(...) must be outermost, for an input or a member of "+
			"an object. A value that may be null has the type nullable(%s).", p.sourceOf(args[0]))
		var m Member
		p.member(&m, expr)
		return m.Type
	case "type":
		return p.fail(expr.Range(), "Invalid type", "Refer to a declared type as type.name, without parentheses.")
	}
	t := p.unknown(call.NameRange, call.Name)
	if t.Kind != Any {
		return p.descriptionAndKeywords(call.Name+"(", args, t)
	}
	return t
}

func (p *parser) nullable(args []hclv2.Expression) *Type {
	if call := callOf(args[0]); call != nil && call.Name == "optional" && len(call.Arguments) > 0 {
		p.fail(args[0].Range(), "Misplaced optional", "optional(...) must be outermost: optional(nullable(%s)).",
			p.sourceOf(call.Arguments[0]))
		args = append([]hclv2.Expression{call.Arguments[0]}, args[1:]...)
	}
	t := p.parse(args[0])
	if len(args) > 1 {
		p.fail(between(args[1:]), "Too many arguments",
			"nullable(...) takes only a type. A description goes into the type: nullable(%s(\"...\")).", t.Kind)
	}
	if t.Nullable {
		p.fail(args[0].Range(), "Repeated nullable", "The type %s already allows null.", t)
	}
	c := *t
	c.Nullable = true
	return &c
}

func (p *parser) collection(name string, args []hclv2.Expression) *Type {
	t := &Type{Kind: map[string]Kind{"list": List, "set": Set, "map": Map}[name]}
	text, ok := literalText(unwrap(args[0]))
	if written, _ := namedType(text); ok && written == "" {
		p.fail(args[0].Range(), "Missing element type", "The type of the elements comes first: %s(string, %s).", name,
			p.sourceOf(args[0]))
		t.Elem = brokenType()
		return p.descriptionAndKeywords(name+"(..., ", args, t)
	}
	t.Elem = p.parse(args[0])
	return p.descriptionAndKeywords(name+"(..., ", args[1:], t)
}

// members reads the { ... } of an object.
func (p *parser) members(expr hclv2.Expression) *Type {
	t := &Type{Kind: Object}
	pairs, ok := unwrap(expr).(*hclsyntax.ObjectConsExpr)
	if !ok {
		p.fail(expr.Range(), "Invalid type",
			"The members of an object are written in braces: object({ name = string }).")
		t.broken = true
		return t
	}
	for _, item := range pairs.Items {
		name, ok := p.key(item.KeyExpr)
		m := &Member{Name: name, Range: item.KeyExpr.Range()}
		p.member(m, item.ValueExpr)
		if !ok {
			continue
		}
		if first, twice := t.Lookup(name); twice {
			p.fail(m.Range, "Duplicate member", "The object already has a member %q, at line %d.", name,
				first.Range.Start.Line)
			continue
		}
		t.Members = append(t.Members, m)
	}
	return t
}

// key reads a constant key of { ... }.
func (p *parser) key(expr hclv2.Expression) (string, bool) {
	if key, ok := expr.(*hclsyntax.ObjectConsKeyExpr); ok && !key.ForceNonLiteral {
		if name := hclv2.ExprAsKeyword(key.Wrapped); name != "" {
			return name, true
		}
		if text, ok := literalText(key.Wrapped); ok && text != "" {
			return text, true
		}
		if n, ok := key.Wrapped.(*hclsyntax.LiteralValueExpr); ok {
			if v, ok := p.Eval(n); ok && value.IsNumber(v) {
				return showJSON(v), true
			}
		}
	}
	p.fail(expr.Range(), "Invalid name", "A name is needed here, written out: name = ... or \"a name\" = ...")
	return "", false
}
