package hclexpr

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
	"hatchel/hcl/template"
	"hatchel/hcl/value"
)

// Expr is a value that is computed for every call.
type Expr struct {
	Typed eval.TypedExpr
	Range diag.Range
}

// Eval computes the value. Its error is a sentence for the model.
func (e *Expr) Eval(f *eval.Frame) (any, error) { return e.Typed.Eval(f) }

// Constant reports whether the value is known at load.
func (e *Expr) Constant() bool { return e.Typed.Known }

// Type is the type of the value.
func (e *Expr) Type() *schema.Type {
	if e.Typed.NullReason != "" {
		return e.Typed.Type.AsNullable()
	}
	return e.Typed.Type.NotNull()
}

// StringExpr is a string that is computed for every call. It is never null.
type StringExpr struct {
	node  eval.TypedExpr
	Range diag.Range
}

// Render computes the string. Numbers and bools are written as text.
func (t *StringExpr) Render(f *eval.Frame) (string, error) {
	v, err := t.node.Eval(f)
	if err != nil {
		return "", err
	}
	switch v := v.(type) {
	case string:
		return v, nil
	case nil:
		return "", fmt.Errorf("a text is expected, got null")
	}
	return value.Text(v)
}

// Known returns the string if it does not depend on the call.
func (t *StringExpr) Known() (string, bool) {
	s, ok := t.node.Value.(string)
	return s, ok && t.node.Known
}

// TextTemplate is a text for a person or a model. In it null is written as null, an object as its
// JSON, and a missing member as null: computing it must not fail a call that has already had an
// effect.
type TextTemplate struct {
	writer textWriter
	Range  diag.Range
}

// Append appends the text for one call.
func (m *TextTemplate) Append(dst []byte, f *eval.Frame) ([]byte, error) {
	lenient := *f
	lenient.Lenient = true
	return m.writer.append(dst, &lenient)
}

// Known returns the text if it does not depend on the call.
func (m *TextTemplate) Known() (string, bool) {
	var out strings.Builder
	for _, n := range m.writer.nodes {
		text, ok := n.(*template.Text)
		if !ok {
			return "", false
		}
		out.WriteString(text.Value)
	}
	return out.String(), true
}

// CompileString compiles a string, which must not be null.
func (c *Compiler) CompileString(e hclsyntax.Expression, in LexicalEnv, a Argument) *StringExpr {
	n := c.Compile(e, in)
	switch n.Type.Kind {
	case schema.File:
		c.Errorf(e.Range(), "Wrong type",
			"%s takes a string, this is a file. Name a member of it, as in %s.filename.", a.Name, eval.Subject(n))
	case schema.List, schema.Set, schema.Map, schema.Object, schema.Bytes:
		c.Errorf(e.Range(), "Wrong type",
			"%s takes a string, this is %s. Write jsonencode(…) to send it as JSON.", a.Name, eval.TypePhrase(n.Type))
	}
	if n.NullReason != "" {
		c.Errorf(e.Range(), "Value may be null",
			"%s, but %s takes a string. Write coalesce(…), or check it with a condition.",
			eval.NullSentence(n), a.Name)
	}
	return &StringExpr{n, diag.RangeOf(e.Range())}
}

// CompileText compiles a text for a person or a model.
func (c *Compiler) CompileText(e hclsyntax.Expression, in LexicalEnv) *TextTemplate {
	c.Nulls = eval.PrintNull
	t := c.compileTree(e, in)
	c.checkTextParts(t.Nodes)
	c.warnReference(e)
	return &TextTemplate{textWriter{t.Nodes, eval.PrintNull}, diag.RangeOf(e.Range())}
}

// warnReference warns about a text like "output.path", which is sent as it is.
func (c *Compiler) warnReference(e hclsyntax.Expression) {
	t, ok := e.(*hclsyntax.TemplateExpr)
	if !ok || !t.IsStringLiteral() {
		return
	}
	s, _ := LiteralValue(t.Parts[0].(*hclsyntax.LiteralValueExpr).Val).(string)
	if root, _ := c.Scope.Find(referenceRoot(s)); root != nil {
		c.warnf(e.Range(), "Looks like a reference", `This sends the text %s. To send the value, write "${%s}".`,
			s, s)
	}
}

// referenceRoot returns the first name of a text of the form a.b.c, or "".
func referenceRoot(s string) string {
	root, dots := "", 0
	for i, r := range s {
		switch {
		case r == '.':
			if dots == 0 {
				root = s[:i]
			}
			dots++
		case r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9':
		default:
			return ""
		}
	}
	return root
}

// LiteralTemplate returns the template of a text without values.
func LiteralTemplate(text string, r diag.Range) *TextTemplate {
	return &TextTemplate{textWriter{nodes: []template.Node{&template.Text{Value: text}}, nulls: eval.PrintNull}, r}
}

// Argument describes the argument whose value is compiled.
type Argument struct {
	Name       string
	TakesFiles bool // it takes the bytes of uploaded files
	FixedKeys  bool // the keys of its KeyValues must be known at load
}
