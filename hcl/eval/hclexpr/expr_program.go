package hclexpr

import (
	"slices"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/eval/exprlang"
	"hatchel/hcl/schema"
	"hatchel/hcl/template"
	"hatchel/hcl/value"
)

// Program is an expr program in an argument, which computes a value from the values of a call.
type Program struct {
	program *exprlang.Program // nil if it did not compile
	reads   []string          // the roots that it reads
	members []*eval.Member    // that it reads of roots with members
	place   func(from, to int) hclv2.Range
	Range   diag.Range
}

// Eval computes the program. Its root output reads output. The error is a sentence for the model.
func (p *Program) Eval(f *eval.Frame, output any) (any, error) {
	v, err := p.program.Run(f, output)
	if err == nil {
		return v, nil
	}
	if f.Explain != nil {
		p.explain(f, output, err)
	}
	cause := err
	if e, ok := err.(*eval.Error); ok {
		cause = e.Cause
	}
	return nil, &eval.Error{Message: err.Error(), Cause: cause, At: p.Range}
}

// explain reports which part of the program has failed, and its values.
func (p *Program) explain(f *eval.Frame, output any, err error) {
	failed := p.program.Locate(f, output)
	if failed == nil { // it does not fail again, as when the time is over
		f.Explain(p.Range, err.Error())
		return
	}
	f.Explain(diag.RangeOf(p.place(failed.Offset, failed.Offset+failed.Length)), err.Error()+"\n"+failed.Text)
}

// HeldMasks returns the masks of the value and of its parts; nil if the program did not compile.
func (p *Program) HeldMasks() []*eval.Mask {
	if p == nil || p.program == nil {
		return nil
	}
	return eval.TypedExpr{Type: p.program.Type, Facts: p.program.Facts}.HeldMasks()
}

// Type returns the type of the value. It is nil if the program did not compile.
func (p *Program) Type() *schema.Type {
	if p.program == nil {
		return nil
	}
	return p.program.Type
}

// Facts returns what is known of the value, besides its type; nothing if the program did not compile.
func (p *Program) Facts() eval.Facts {
	if p.program == nil {
		return eval.Facts{}
	}
	return p.program.Facts
}

// Condition is an expr program that gives true or false.
type Condition struct{ Program }

// Eval computes the condition. Its root output reads output.
func (c *Condition) Eval(f *eval.Frame, output any) (bool, error) {
	v, err := c.Program.Eval(f, output)
	holds, _ := v.(bool)
	if f.Branch != nil && err == nil {
		f.Branch(c.Range, holds)
	}
	return holds, err
}

// EvalBeforeCall computes the condition before there is a call, for the caller of the frame. It is open if the answer
// depends on the arguments, and only then: a part that is false decides about all that is joined to it with "and".
func (c *Condition) EvalBeforeCall(f *eval.Frame) (holds, open bool, err error) {
	f.NoCall = true
	holds, err = c.Eval(f, nil)
	f.NoCall = false
	if eval.IsUnknown(err) {
		return false, true, nil
	}
	return holds, false, err
}

// ExplainFalse returns the part that makes a condition false, or that fails, and its values, one on each line.
func (c *Condition) ExplainFalse(f *eval.Frame) (at diag.Range, text string) {
	failed := c.program.Locate(f, nil)
	if failed == nil {
		return c.Range, "The condition is false."
	}
	return diag.RangeOf(c.place(failed.Offset, failed.Offset+failed.Length)), failed.Text
}

// Source is the text of the program.
func (p *Program) Source() string { return p.program.Source }

// Reads reports whether the program reads a root.
func (p *Program) Reads(root string) bool { return slices.Contains(p.reads, root) }

// Traversals returns what the program reads, sorted, as in "caller.claims.tenant".
func (p *Program) Traversals() []string { return p.program.Reads }

// Form returns the logical form of the program; nil for a nil Condition. Value returns the normal form of the value of
// a traversal; an empty one stands for the traversal itself.
func (c *Condition) Form(value func(path []string) string) *eval.Formula {
	if c == nil || c.program == nil {
		return nil
	}
	return c.program.Form(value)
}

// Compared returns the texts that the program compares with what it reads of the caller, by traversal, as in
// "caller.groups".
func (p *Program) Compared() map[string][]string { return p.program.Compared }

// DependsOnCall reports whether the program reads inputs, or locals that are computed for a call.
func (p *Program) DependsOnCall() bool {
	return p.Reads("input") || slices.ContainsFunc(p.members, func(m *eval.Member) bool { return !m.Known })
}

// Digest is a digest of the program and of everything that it reads and that is known at load.
func (p *Program) Digest() string {
	parts := []string{p.Source()}
	for _, m := range p.members {
		parts = append(parts, m.Digest)
	}
	slices.Sort(parts)
	return eval.HashParts(parts...)
}

// CompileCondition compiles a program that gives true or false. Known is what is not null where it
// stands; name is the name of its argument.
func (c *Compiler) CompileCondition(e hclsyntax.Expression, known *eval.NonNull, name string) *Condition {
	out := &Condition{*c.CompileProgram(e, known, name, exprlang.WantBool)}
	if c.env.Tests {
		c.deps.RecordBranch(out.Range, strings.Trim(c.sourceText(e.Range()), `"`))
	}
	return out
}

// CompileProgram compiles a program, which must be a literal text, and places its problems in the
// file. Known is what is not null where it stands; name is the name of its argument.
func (c *Compiler) CompileProgram(e hclsyntax.Expression, known *eval.NonNull, name string,
	want exprlang.Want) *Program {
	out := &Program{Range: diag.RangeOf(e.Range())}
	text, ok := c.programText(e)
	if !ok {
		c.Errorf(e.Range(), "Program needed", "%s is an expr program: write it in quotes, without ${...}: %[1]s = %s.",
			name, diag.Correct(c.sourceText(e.Range()), c.asProgram(e), c.asProgram(e)))
		return out
	}
	env := exprlang.Env{Roots: map[string]*eval.Root{}, NonNull: known, TrustDeclared: c.env.TrustDeclared,
		Observer: c.Observer, Place: func(from, to int) diag.Range { return diag.RangeOf(text.Place(from, to)) }}
	for _, name := range c.Scope.Readable() {
		if r, _ := c.Scope.Find(name); !r.Hidden {
			env.Roots[name] = r
		}
	}
	p, problems := exprlang.Compile(text.Value, env, want)
	for _, x := range problems {
		severity := diag.Error
		if x.Warning {
			severity = diag.Warning
		}
		from, to := min(x.Offset, len(text.Value)), min(x.Offset+x.Length, len(text.Value))
		c.Diags = append(c.Diags, &diag.Diagnostic{Code: x.Code, Severity: severity, Summary: x.Summary,
			Detail: x.Detail, Subject: diag.RangeOf(text.Place(from, to)), Suggestion: x.Suggestion})
	}
	if p == nil {
		return out
	}
	out.program, out.place = p, text.Place
	c.deps.RecordProgram(out.Range.Start.Byte, p.Form)
	c.deps.RequireWhole(p.Whole, out.Range)
	c.recordReads(out, want == exprlang.WantBool)
	return out
}

// asProgram writes an expression as a program, for suggestions.
func (c *Compiler) asProgram(e hclsyntax.Expression) string {
	src := strings.TrimSpace(c.sourceText(e.Range()))
	inner, opened := strings.CutPrefix(src, `"`)
	if inner, closed := strings.CutSuffix(inner, `"`); opened && closed {
		src = strings.NewReplacer("${", "", "}", "", `\"`, "'").Replace(inner)
	}
	return `"` + strings.ReplaceAll(src, `"`, "'") + `"`
}

// programText is the text of a program, with the places of its bytes. It is not ok if the expression
// is more than a text.
func (c *Compiler) programText(e hclsyntax.Expression) (text *template.Text, ok bool) {
	t, ok := e.(*hclsyntax.TemplateExpr)
	if !ok || slices.ContainsFunc(t.Parts, func(part hclsyntax.Expression) bool {
		l, ok := part.(*hclsyntax.LiteralValueExpr)
		return !ok || value.Kind(LiteralValue(l.Val)) != "string"
	}) {
		return nil, false
	}
	if nodes := c.compileNodes(t, LexicalEnv{}); len(nodes) == 1 {
		if text, ok := nodes[0].(*template.Text); ok {
			return text, true
		}
	}
	return &template.Text{Place: func(int, int) hclv2.Range { return t.Range() }}, true
}

// recordReads records what the program reads, which is a test if it must give true or false.
func (c *Compiler) recordReads(p *Program, test bool) {
	c.deps.ReadCut(c.Scope, p.program.CutReads, test, p.Range)
	for _, read := range p.program.Reads {
		path := eval.SplitPath(read)
		name := path[0]
		r, _ := c.Scope.Find(name)
		if name == "caller" && c.deps != nil {
			c.deps.Caller = true
		}
		c.deps.RecordRead(p.Range.Start.Byte, p.Range.End.Byte, read)
		if len(path) > 2 && name == "caller" && path[1] == "headers" {
			c.checkCallerHeader(path[2], p.Range)
		}
		if !p.Reads(name) {
			p.reads = append(p.reads, name)
		}
		for key, m := range r.Members {
			if (len(path) == 1 || path[1] == key) && !m.Sensitive {
				c.markUse(m)
				if !slices.Contains(p.members, m) {
					p.members = append(p.members, m)
				}
			}
		}
	}
}

// NonNullWhenTrue returns the traversals that are certainly not null if the condition is true. A
// nil Condition has none.
func (c *Condition) NonNullWhenTrue() []string {
	if c == nil || c.program == nil {
		return nil
	}
	return c.program.NonNullWhenTrue
}

// NonNullWhenFalse returns the traversals that are certainly not null if the condition is false. A
// nil Condition has none.
func (c *Condition) NonNullWhenFalse() []string {
	if c == nil || c.program == nil {
		return nil
	}
	return c.program.NonNullWhenFalse
}
