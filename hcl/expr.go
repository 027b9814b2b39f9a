package hcl

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/schema"
	"hatchel/hcl/template"
	"hatchel/hcl/value"
)

// Expr is a value that is computed for every call. It was checked when the file was loaded.
type Expr struct {
	node  node
	Range Range
}

// Eval computes the value. Its error is a sentence for the model.
func (e *Expr) Eval(f *Frame) (any, error) { return e.node.eval(f) }

// Constant reports that the value does not depend on the call.
func (e *Expr) Constant() bool { return e.node.known }

// Type is what is known of the value at load.
func (e *Expr) Type() *schema.Type {
	if e.node.null != "" {
		return e.node.typ.AsNullable()
	}
	return e.node.typ.NotNull()
}

// Text is a string that is computed for every call. It is never null.
type Text struct {
	node  node
	Range Range
}

// Render computes the text. Numbers and bools read as a person writes them.
func (t *Text) Render(f *Frame) (string, error) {
	v, err := t.node.eval(f)
	if err != nil {
		return "", err
	}
	switch v := v.(type) {
	case string:
		return v, nil
	case nil:
		return "", fmt.Errorf("a text is needed and the value is null")
	}
	return value.Text(v)
}

// Known returns the text when it does not depend on the call.
func (t *Text) Known() (string, bool) {
	s, ok := t.node.value.(string)
	return s, ok && t.node.known
}

// Message is a text for the caller. Null prints as null, an object as its JSON, and a member that is not there as null: nothing in it
// fails a call that has already acted.
type Message struct {
	writer writer
	Range  Range
}

// Append appends the text.
func (m *Message) Append(dst []byte, f *Frame) ([]byte, error) {
	lenient := *f
	lenient.lenient = true
	return m.writer.append(dst, &lenient)
}

// known is the text of a message that does not depend on the call.
func (m *Message) known() (string, bool) {
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

// computed decodes what is computed for every call.
func (d *decoder) computed(dst any, e hclsyntax.Expression, f Field) {
	c := d.compiler(f)
	c.name = f.Name
	switch dst := dst.(type) {
	case **Expr:
		n := c.expr(e, env{facts: d.facts})
		c.noFile(n, e, f)
		*dst = &Expr{n, at(e.Range())}
	case **Text:
		*dst = c.textValue(e, env{facts: d.facts}, f)
	case **Message:
		*dst = c.message(e, env{facts: d.facts})
	case **Entries:
		*dst = c.entries(e, env{facts: d.facts}, f)
	case **SQL:
		*dst = c.sql(e, env{facts: d.facts}, d.dialect)
		for i, s := range (*dst).statements {
			d.places[s] = (*dst).ranges[i]
		}
	case **Script:
		*dst = c.script(e, env{facts: d.facts})
	case **Argv:
		*dst = d.argvOf(c, e)
	case **Pipe:
		*dst = c.pipe(e, env{facts: d.facts})
	case **Address:
		*dst = c.address(e, env{facts: d.facts}, d.linked)
	case **Condition:
		*dst = d.condition(c, e, f)
	case **Program:
		*dst = d.program(c, e, f)
	}
	d.diags = append(d.diags, c.diags...)
}

func (d *decoder) compiler(f Field) *compiler {
	s := d.scope
	if f.Secret {
		s = s.allowing(secretsAllowed)
	}
	return &compiler{scope: s, src: d.file.src, load: d.context(), now: d.shared.opts.Now, uses: d.uses, fileURLs: d.shared.config.Files.BaseURL != "", auth: d.shared.config.Auth}
}

func (c *compiler) textValue(e hclsyntax.Expression, in env, f Field) *Text {
	n := c.expr(e, in)
	switch n.typ.Kind {
	case schema.File:
		c.errorf(e.Range(), "Wrong type", "%s takes a string, and this is a file. Name what is meant, as in %s.filename.", f.Name, subject(n))
	case schema.List, schema.Set, schema.Map, schema.Object, schema.Bytes:
		c.errorf(e.Range(), "Wrong type", "%s takes a string, and this is %s. Write jsonencode(…) to send it as JSON.", f.Name, describe(n.typ))
	}
	if n.null != "" {
		c.errorf(e.Range(), "Value may be null", "%s, and %s needs a text. Write coalesce(…), or guard it.", reason(n), f.Name)
	}
	return &Text{n, at(e.Range())}
}

func (c *compiler) message(e hclsyntax.Expression, in env) *Message {
	c.nulls = nullPrints
	t := c.tree(e, in)
	c.survey(t.Nodes)
	c.looksLikeReference(e)
	return &Message{writer{t.Nodes, nullPrints}, at(e.Range())}
}

// looksLikeReference warns about text = "output.path", which prints those letters.
func (c *compiler) looksLikeReference(e hclsyntax.Expression) {
	t, ok := e.(*hclsyntax.TemplateExpr)
	if !ok || !t.IsStringLiteral() {
		return
	}
	s, _ := native(t.Parts[0].(*hclsyntax.LiteralValueExpr).Val).(string)
	if root, _ := c.scope.find(referenceRoot(s)); root != nil {
		c.warnf(e.Range(), "Looks like a reference", "This sends the letters %s. To send the value write \"${%s}\".", s, s)
	}
}

// referenceRoot returns the first name of a text that is nothing but a.b.c.
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
