package hclexpr

import (
	"math/big"
	"time"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/eval/exprlang"
	"hatchel/hcl/functions"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// Compiler turns expressions of one file into nodes. It checks everything on the way: both branches
// of conditionals, the bodies of loops, what may be null, where secrets go. It never stops at a
// mistake; what is wrong compiles to a node of any type.
type Compiler struct {
	Scope *eval.Scope
	src   []byte // of the file, to tell %{if} from ${c ? a : b}
	Nulls eval.NullPolicy
	slots int // loop variables in use, so that each gets a place of its own in the frame
	reads eval.ReadSet
	deps  *eval.Dependencies // what the tool in hand reads; nil outside of tools
	Name  string             // of the argument or member whose value is compiled
	Diags diag.Diagnostics
	env   *CompileEnv
}

// CompileEnv is what every expression of a configuration is compiled with.
type CompileEnv struct {
	Now func() time.Time // the clock of expr programs
	// what functions that are computed at load may use; nil gives nothing
	Functions     func(*eval.Dependencies) functions.Context
	Programs      *exprlang.Cache
	FileURLs      bool     // uploaded files have addresses
	Authenticated bool     // an auth block says whom the server knows
	CallerHeaders []string // the headers that it lists, in lower case
}

// NewCompiler returns a Compiler for the expressions of one file. Deps, which records what they
// read, may be nil.
func NewCompiler(env *CompileEnv, src []byte, scope *eval.Scope, deps *eval.Dependencies) *Compiler {
	return &Compiler{env: env, src: src, Scope: scope, deps: deps}
}

// LexicalEnv is what surrounds an expression inside a larger one.
type LexicalEnv struct {
	NonNull *eval.NonNull
	vars    *loopVar
}

func (c *Compiler) Errorf(r hclv2.Range, summary, format string, args ...any) {
	c.reads.Call = true
	c.Diags.Errorf(diag.RangeOf(r), summary, format, args...)
}

func (c *Compiler) warnf(r hclv2.Range, summary, format string, args ...any) {
	c.Diags.Warnf(diag.RangeOf(r), summary, format, args...)
}

// Compile compiles one expression.
func (c *Compiler) Compile(e hclsyntax.Expression, in LexicalEnv) eval.TypedExpr {
	switch e := e.(type) {
	case *hclsyntax.LiteralValueExpr:
		return c.compileLiteral(e)
	case *hclsyntax.TemplateExpr:
		return c.compileTemplate(e, in)
	case *hclsyntax.TemplateWrapExpr:
		return c.Compile(e.Wrapped, in)
	case *hclsyntax.ParenthesesExpr:
		return c.Compile(e.Expression, in)
	case *hclsyntax.ScopeTraversalExpr:
		return c.compileTraversal(e.Traversal, in)
	case *hclsyntax.RelativeTraversalExpr:
		return c.compileSteps(c.Compile(e.Source, in), e.Traversal, in)
	case *hclsyntax.IndexExpr:
		return c.compileIndex(e, in)
	case *hclsyntax.SplatExpr:
		return c.compileSplat(e, in)
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
		return c.compileFor(e, in)
	case *hclsyntax.AnonSymbolExpr:
		return c.splatElement(in)
	}
	// The parser leaves such a place behind where the syntax is wrong, and has reported it.
	c.reads.Call = true
	return eval.Broken()
}

// compileLiteral takes a number as it was written: no digit is lost and no exponent is multiplied
// out.
func (c *Compiler) compileLiteral(e *hclsyntax.LiteralValueExpr) eval.TypedExpr {
	if !e.Val.IsNull() && e.Val.Type() == cty.Number {
		return eval.Constant(value.Number(c.sourceText(e.SrcRange)))
	}
	return eval.Constant(LiteralValue(e.Val))
}

// LiteralValue converts what the parser makes of a literal, and of the key of an index.
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
	cond := c.compileBool(e.Condition, in)
	yes, no := in.NonNull.Branches(c.nonNullWhen(e.Condition, in))
	a := c.Compile(e.TrueResult, LexicalEnv{yes, in.vars})
	b := c.Compile(e.FalseResult, LexicalEnv{no, in.vars})
	if cond.Known && a.Known && b.Known {
		chosen := b
		if cond.Value == true {
			chosen = a
		}
		chosen.Sensitive = a.Sensitive || b.Sensitive || cond.Sensitive
		chosen.Path = ""
		return chosen
	}
	null := a.NullReason
	if null == "" {
		null = b.NullReason
	}
	return eval.TypedExpr{
		Type:           eval.UnifyTypes(a, b),
		NullReason:     null,
		Sensitive:      a.Sensitive || b.Sensitive || cond.Sensitive,
		CallerSpecific: a.CallerSpecific || b.CallerSpecific || cond.CallerSpecific,
		Eval: func(f *eval.Frame) (any, error) {
			ok, err := eval.EvalBool(f, cond.Eval)
			if err != nil {
				return nil, err
			}
			if ok {
				return a.Eval(f)
			}
			return b.Eval(f)
		},
	}
}

// compileCondition compiles a condition.
func (c *Compiler) compileBool(e hclsyntax.Expression, in LexicalEnv) eval.TypedExpr {
	n := c.Compile(e, in)
	switch {
	case n.Type.Kind != schema.Bool && n.Type.Kind != schema.Any:
		c.Errorf(e.Range(), "Condition needed",
			"A condition is true or false, and this is %s. Compare it with something, as in `x != null` or "+
				"`length(x) > 0`.", eval.TypePhrase(n.Type))
	case n.NullReason != "":
		c.Errorf(e.Range(), "Value may be null", "%s Write `%s == true`.", eval.NullSentence(n),
			c.sourceText(e.Range()))
	}
	return n
}

const maxConstantSize = 16 << 20 // bytes of the JSON of a value that is known at load

// foldConstant computes what is known at load once, and places its error.
func (c *Compiler) foldConstant(n eval.TypedExpr, r hclv2.Range) eval.TypedExpr {
	if !n.Known {
		return n
	}
	v, err := n.Eval(&eval.Frame{Functions: c.functions()})
	if err != nil {
		c.Errorf(r, "Invalid value", "%s.", diag.ToSentence(err.Error()))
		return eval.Broken()
	}
	// parts may be shared, so that a few lines double it again and again
	if size, err := functions.Size(v, maxConstantSize); err != nil || size > maxConstantSize {
		c.Errorf(r, "Value too large",
			"A value that is known when the configuration is loaded may have %d MiB and %d levels, and this one "+
				"has more.", maxConstantSize>>20, value.MaxDepth)
		return eval.Broken()
	}
	folded := eval.Constant(v)
	folded.Sensitive, folded.Path, folded.Phrase = n.Sensitive, n.Path, n.Phrase
	if n.Type.Kind != schema.Any && v != nil {
		folded.Type = n.Type
	}
	return folded
}

// sourceText is the source of a range.
func (c *Compiler) sourceText(r hclv2.Range) string {
	if r.Start.Byte < 0 || r.End.Byte > len(c.src) || r.Start.Byte > r.End.Byte {
		return ""
	}
	return string(c.src[r.Start.Byte:r.End.Byte])
}

// functions returns what functions that are computed at load may use.
func (c *Compiler) functions() functions.Context {
	if c.env.Functions == nil {
		return functions.Context{Memory: functions.DefaultMemory}
	}
	return c.env.Functions(c.deps)
}
