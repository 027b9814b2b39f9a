package hclexpr

import (
	"errors"
	"slices"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
	"hatchel/hcl/template"
	"hatchel/hcl/template/shelltext"
	"hatchel/hcl/value"
)

// Expr is a value that is computed for every call.
type Expr struct {
	Typed eval.TypedExpr
	Range diag.Range

	// Members are those of an object that is written here and nothing else, in written order, if the argument keeps
	// them.
	Members []Member
}

// Member is a member of an object that is written.
type Member struct {
	Name    string     // "" if it is not known at load
	Key     diag.Range // of the name
	Value   *Expr
	LeftOut bool // it is left out when it stands for something optional that is absent
}

// MembersOf returns the members of an object that was compiled after NoteParts; nil for any other expression.
func (c *Compiler) MembersOf(e hclsyntax.Expression) (members []Member) {
	if p, ok := e.(*hclsyntax.ParenthesesExpr); ok {
		return c.MembersOf(p.Expression)
	}
	object, ok := e.(*hclsyntax.ObjectConsExpr)
	if !ok || c.parts == nil {
		return nil
	}
	for _, item := range object.Items {
		val := c.parts[item.ValueExpr]
		m := Member{Key: diag.RangeOf(item.KeyExpr.Range()), LeftOut: c.omitting[object] && !val.CallerSpecific &&
			val.Absent != nil}
		m.Name, _ = c.constantKey(item.KeyExpr)
		m.Value = &Expr{val, diag.RangeOf(item.ValueExpr.Range()), c.MembersOf(item.ValueExpr)}
		members = append(members, m)
	}
	return members
}

// constantKey returns the key of an object that was compiled, if it is known.
func (c *Compiler) constantKey(e hclsyntax.Expression) (string, bool) {
	if k, ok := e.(*hclsyntax.ObjectConsKeyExpr); ok {
		if word := hclv2.ExprAsKeyword(k.Wrapped); word != "" && !k.ForceNonLiteral {
			return word, true
		}
		e = k.Wrapped
	}
	n := c.parts[e]
	if !n.Known || n.Value == nil {
		return "", false
	}
	text, err := value.Text(n.Value)
	return text, err == nil
}

// Eval computes the value. Its error is a sentence for the model.
func (e *Expr) Eval(f *eval.Frame) (any, error) { return e.Typed.Eval(f) }

// Constant reports whether the value is known at load.
func (e *Expr) Constant() bool { return e.Typed.Known }

// Texts returns the sorted texts that the value can be, besides null, if the author wrote all of them; nil for any
// other value. A nil Expr has none.
func (e *Expr) Texts() []string {
	if e == nil {
		return nil
	}
	t := e.Typed.TemplateType()
	if text, known := t.KnownText(); known {
		return []string{text}
	}
	if t.Kind != template.Enum {
		return nil
	}
	texts := slices.Clone(t.Values)
	slices.Sort(texts)
	return texts
}

// CallerText reports whether a caller controls a text in the value.
func (e *Expr) CallerText() bool { return shelltext.CallerControlled(e.Typed.TemplateType()) }

// Type is the type of the value.
func (e *Expr) Type() *schema.Type {
	t := e.Typed
	t.Type = t.Type.NotNull()
	return t.TypeWithNull()
}

// StringExpr is a string that is computed for every call. It is never null.
type StringExpr struct {
	node  eval.TypedExpr
	Range diag.Range
}

// Render computes the string. Numbers and bools are written as text.
func (t *StringExpr) Render(f *eval.Frame) (string, error) {
	v, err := t.node.Eval(f)
	if err == nil && v == nil {
		err = errors.New("a text is expected, got null")
	}
	if err != nil {
		return "", err
	}
	return value.Text(v)
}

// Known returns the string if it does not depend on the call. A nil StringExpr has none.
func (t *StringExpr) Known() (string, bool) {
	if t == nil {
		return "", false
	}
	s, ok := t.node.Value.(string)
	return s, ok && t.node.Known
}

// StaysInFolder reports whether no caller's value in the string can make it a path to another folder.
func (t *StringExpr) StaysInFolder() bool { return t.node.TemplateType().SafeInPath() }

// TextTemplate is a text for a person or a model. In it null is written as null, an object as its
// JSON, and a missing member as null: computing it must not fail a call that has already had an
// effect.
type TextTemplate struct {
	writer textWriter
	Range  diag.Range
}

// Append appends the text for one call.
func (m *TextTemplate) Append(dst []byte, f *eval.Frame) ([]byte, error) {
	lenient, memory := f.Lenient, f.Functions.Memory
	f.Lenient = true
	dst, err := m.writer.append(dst, f)
	f.Lenient, f.Functions.Memory = lenient, memory
	return dst, err
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
	return &TextTemplate{textWriter{nodes: t.Nodes, nulls: eval.PrintNull}, diag.RangeOf(e.Range())}
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

// RejectFileValue reports an uploaded file, or a value that holds one, in an argument that does not
// take files.
func (c *Compiler) RejectFileValue(n eval.TypedExpr, e hclsyntax.Expression, a Argument) {
	if a.TakesFiles || !n.Type.HoldsFile() {
		return
	}
	what := "holds a file"
	if n.Type.Kind == schema.File {
		what = "is a file"
	}
	name := eval.Subject(n)
	if n.Path == "" || n.Type.Kind != schema.File {
		name = "input.name"
	}
	c.Errorf(e.Range(), "File has no text",
		"%s %s, which %s does not take. Use a member, %s.filename or %s.url, or base64encode(%s). Bytes are sent "+
			"by multipart and body of an http block, stdin of a program, content of a file block, and parameters "+
			"in SQL; a program reads the copy %s.path.", eval.Subject(n), what, a.Name, name, name, name,
		name)
}
