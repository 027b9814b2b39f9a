// Package hclexpr compiles the expressions and templates of HCL: to values that are known at load,
// to expressions of a call, and to trees that the packages below template bind by their context.
// [Compiler] is the entry point.
package hclexpr

import (
	"math/big"
	"path"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/functions"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// Compiler compiles the expressions of one file. It checks all parts of an expression: both
// branches of conditionals, the bodies of loops, what may be null, and where secrets go. An invalid
// part is reported in Diags and compiles to an expression of any type.
type Compiler struct {
	Scope    *eval.Scope
	src      []byte // of the file
	Nulls    eval.NullPolicy
	slots    int // loop variables that are assigned
	reads    eval.ReadSet
	deps     *eval.Dependencies // what the block reads; may be nil
	Name     string             // of the argument or member that is compiled
	Diags    diag.Diagnostics
	Observer eval.Observer // nil for none
	env      *CompileEnv

	omitting   map[*hclsyntax.ObjectConsExpr]bool // see OmitAbsent
	SendsParts bool                               // what is compiled is sent with all its parts

	Owner             string                                  // the label of the block around, for the names of secrets
	ExemptCredentials bool                                    // literals may be credentials, as in tests
	parts             map[hclsyntax.Expression]eval.TypedExpr // see NoteParts
	refused           []hclv2.Range                           // the places of literal credentials that are reported
	inBaseURL         bool                                    // in the base_url of a connection, which has no password
}

// CompileEnv is what all expressions of a configuration are compiled with.
type CompileEnv struct {
	Dir string // the absolute configuration directory
	// the context of functions that are computed at load; nil for the default
	Functions     func(*eval.Dependencies) functions.Context
	FileURLs      bool     // uploaded files have addresses
	Authenticated bool     // there is an auth block
	Tests         bool     // the branches of templates tell Frame.Branch their conditions
	CallerHeaders []string // that auth lists, in lower case
	// programs read the members of an open object as they are declared, which a call may not hold to; for completion
	TrustDeclared bool
}

// NewCompiler returns a Compiler for the expressions of one file. Deps records what they read; it
// may be nil.
func NewCompiler(env *CompileEnv, src []byte, scope *eval.Scope, deps *eval.Dependencies) *Compiler {
	return &Compiler{env: env, src: src, Scope: scope, deps: deps}
}

// LexicalEnv is what the expressions around an expression make known: what is not null, and the
// variables of loops.
type LexicalEnv struct {
	NonNull *eval.NonNull
	vars    *loopVar
	loops   int // number of %{for} around the expression
	outside int // of these, number around the template
	// notEmpty are the tokens of collections that have elements, as an %{if} around the expression says.
	notEmpty []string
}

// Errorf reports an error.
func (c *Compiler) Errorf(r hclv2.Range, summary, format string, args ...any) {
	c.reads.Call = true
	c.Diags.Errorf(diag.RangeOf(r), summary, format, args...)
}

func (c *Compiler) warnf(r hclv2.Range, summary, format string, args ...any) {
	c.Diags.Warnf(diag.RangeOf(r), summary, format, args...)
}

// Compile compiles one expression.
func (c *Compiler) Compile(e hclsyntax.Expression, in LexicalEnv) eval.TypedExpr {
	n := c.compileInner(e, in)
	c.recordRead(n.Read, n.HeldCuts(), n.HeldMasks(), e.Range())
	if n.Read != "" {
		c.checkSent(n, e.Range())
		n.Eval = c.checkWhenSent(n, e.Range())
	}
	n.Read = ""
	return n
}

// CompileCollection compiles an expression of which others read the elements: they record what they read of them.
func (c *Compiler) CompileCollection(e hclsyntax.Expression, in LexicalEnv) eval.TypedExpr {
	n := c.compileInner(e, in)
	c.recordRead(n.Read, n.Cuts, n.Masked, e.Range())
	return n
}

// recordRead records that what limits may have cut, and what masks mask, is read by a traversal; path is empty for
// none.
func (c *Compiler) recordRead(path string, cuts []*eval.Cut, masks []*eval.Mask, at hclv2.Range) {
	if path != "" {
		c.reads = c.reads.Union(eval.ReadSet{Cuts: cuts, Masked: masks})
		c.deps.ReadCut(c.Scope, cuts, false, diag.RangeOf(at))
	}
}

// compileInner compiles one expression. If it is a traversal, that may go on outside, so its read is not recorded.
func (c *Compiler) compileInner(e hclsyntax.Expression, in LexicalEnv) eval.TypedExpr {
	n := c.compileKind(e, in)
	c.noteValue(e.Range(), n)
	if c.parts != nil {
		c.parts[e] = n
	}
	return n
}

func (c *Compiler) compileKind(e hclsyntax.Expression, in LexicalEnv) eval.TypedExpr {
	switch e := e.(type) {
	case *hclsyntax.LiteralValueExpr:
		return c.compileLiteral(e)
	case *hclsyntax.TemplateExpr:
		return c.compileTemplate(e, in)
	case *hclsyntax.TemplateWrapExpr:
		return c.Compile(e.Wrapped, in)
	case *hclsyntax.ParenthesesExpr:
		return c.compileInner(e.Expression, in)
	case *hclsyntax.ScopeTraversalExpr:
		return c.compileTraversal(e.Traversal, in)
	case *hclsyntax.RelativeTraversalExpr:
		if t := Traversal(e); t != nil {
			return c.compileTraversal(t, in)
		}
		return c.compileSteps(c.compileInner(e.Source, in), e.Traversal, in)
	case *hclsyntax.IndexExpr:
		return c.compileIndex(e, in)
	case *hclsyntax.SplatExpr:
		return c.compileDerived(e.Range(), func() eval.TypedExpr { return c.compileSplat(e, in) })
	case *hclsyntax.ConditionalExpr:
		return c.compileConditional(e, in)
	case *hclsyntax.BinaryOpExpr:
		return c.compileBinary(e, in)
	case *hclsyntax.UnaryOpExpr:
		return c.compileUnary(e, in)
	case *hclsyntax.FunctionCallExpr:
		return c.compileCall(e, in)
	case *hclsyntax.ObjectConsExpr:
		return c.compileObject(e, in)
	case *hclsyntax.TupleConsExpr:
		return c.compileTuple(e, in)
	case *hclsyntax.ForExpr:
		return c.compileDerived(e.Range(), func() eval.TypedExpr { return c.compileFor(e, in) })
	case *hclsyntax.AnonSymbolExpr:
		return c.loopVariable(in.vars.find(""), in)
	}
	// The parser leaves an unknown expression where the syntax is invalid, and has reported it.
	c.reads.Call = true
	return eval.Broken()
}

// compileLiteral keeps a number as it was written: no digit is lost, and no exponent is expanded.
func (c *Compiler) compileLiteral(e *hclsyntax.LiteralValueExpr) eval.TypedExpr {
	if !e.Val.IsNull() && e.Val.Type() == cty.Number {
		n, err := value.ParseNumber(c.sourceText(e.SrcRange))
		if err != nil {
			c.Errorf(e.SrcRange, "Number too long", "This is %v, which is the limit for every number. "+
				"Write a longer one as a text.", err)
			return eval.Broken()
		}
		return eval.Constant(n)
	}
	return eval.Constant(LiteralValue(e.Val))
}

// LiteralValue converts a literal, or the key of an index, to a value of a call.
func LiteralValue(v cty.Value) any {
	switch {
	case v.IsNull() || !v.IsKnown():
		return nil
	case v.Type() == cty.String:
		return v.AsString()
	case v.Type() == cty.Bool:
		return v.True()
	case v.Type() == cty.Number:
		f := v.AsBigFloat()
		if i, exact := f.Int64(); exact == big.Exact {
			return int(i)
		}
		approximate, _ := f.Float64()
		return approximate
	}
	return nil
}

func (c *Compiler) compileConditional(e *hclsyntax.ConditionalExpr, in LexicalEnv) eval.TypedExpr {
	cond, yes, no := c.compileCondition(e.Condition, in)
	a, b := c.Compile(e.TrueResult, yes), c.Compile(e.FalseResult, no)
	n := eval.Conditional(eval.UnifyTypes(a, b), cond, a, b)
	if !n.Call {
		chosen := b
		if cond.Value == true {
			chosen = a
		}
		chosen.Marks, chosen.Path = n.Marks, ""
		return chosen
	}
	return n
}

// compileCondition compiles a condition. It returns what is known where it is true, and where it is
// false.
func (c *Compiler) compileCondition(e hclsyntax.Expression, in LexicalEnv) (cond eval.TypedExpr, yes, no LexicalEnv) {
	cond = c.compileBool(e, in)
	yes, no = in, in
	yes.NonNull, no.NonNull = in.NonNull.Add(cond.NonNullWhenTrue()), in.NonNull.Add(cond.WhenFalse)
	return cond, yes, no
}

// compileBool compiles an expression that must be true or false.
func (c *Compiler) compileBool(e hclsyntax.Expression, in LexicalEnv) eval.TypedExpr {
	n := c.requireWhole(c.Compile(e, in), e.Range())
	switch {
	case n.Type.Kind != schema.Bool && n.Type.Kind != schema.Any:
		c.Errorf(e.Range(), "Condition needed",
			"A condition must be true or false, this is %s. Compare it with something, as in `x != null` or "+
				"`length(x) > 0`.", eval.TypePhrase(n.Type))
	case n.NullReason != "":
		c.Errorf(e.Range(), "Value may be null", "%s. Write `%s == true`.", eval.NullSentence(n),
			c.sourceText(e.Range()))
	}
	return n
}

const maxConstantSize = 16 << 20 // bytes of a value that is known at load, as JSON

// foldConstant computes an expression that is known at load, and places its error.
func (c *Compiler) foldConstant(n eval.TypedExpr, r hclv2.Range) eval.TypedExpr {
	if n.Call {
		return n
	}
	v, err := n.Eval(&eval.Frame{Functions: c.functions(r)})
	if err != nil {
		c.Errorf(r, "Invalid value", "%s.", diag.ToSentence(err.Error()))
		if n.Sensitive {
			c.Diags.Mark(diag.InvalidSecret)
		}
		return eval.Broken()
	}
	// the parts of a value may be shared, so that its size can double with every line
	if _, err := functions.Size(v, maxConstantSize); err != nil {
		c.Errorf(r, "Value too large",
			"A value that is known when the configuration is loaded may have at most %d MiB and %d levels.",
			maxConstantSize>>20, value.MaxDepth)
		return eval.Broken()
	}
	folded := eval.Constant(v)
	folded.Marks, folded.Path, folded.Phrase = n.Marks, n.Path, n.Phrase
	folded.WhenTrue, folded.WhenFalse = n.WhenTrue, n.WhenFalse
	if n.Type.Kind != schema.Any && v != nil {
		folded.Type = n.Type
	}
	return folded
}

// sourceText is the source text of a range.
func (c *Compiler) sourceText(r hclv2.Range) string { return string(r.SliceBytes(c.src)) }

// functions is the context of functions that are computed at load, at a place of the file.
func (c *Compiler) functions(at hclv2.Range) functions.Context {
	if c.env.Functions == nil {
		return functions.Context{Memory: functions.DefaultMemory}
	}
	out := c.env.Functions(c.deps)
	read := out.ReadFile
	out.ReadFile = func(name string) ([]byte, error) {
		content, err := read(name)
		if err == nil {
			c.deps.RecordFile(at.Start.Byte, at.End.Byte, path.Clean(name), eval.ContentDigest(content))
		}
		return content, err
	}
	return out
}
