package hclexpr

import (
	"fmt"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/eval"
	"hatchel/hcl/template"
	"hatchel/hcl/value"
)

// compileTemplate compiles a template to a string.
func (c *Compiler) compileTemplate(e *hclsyntax.TemplateExpr, in LexicalEnv) eval.TypedExpr {
	if e.IsStringLiteral() {
		return eval.Constant(LiteralValue(e.Parts[0].(*hclsyntax.LiteralValueExpr).Val))
	}
	return c.compileDerived(e.Range(), func() eval.TypedExpr {
		t := c.compileTree(e, in)
		c.checkTextParts(t.Nodes)
		c.warnEmbedded(c.Name, t.Nodes)
		noteText(c, t.Nodes)
		w := textWriter{nodes: t.Nodes, nulls: c.Nulls}
		n := eval.Computed(eval.StringType, w.text)
		n.Dash = template.BeginsWithDash(t.Nodes)
		n.AsPath, _ = template.PathOf(t.Nodes)
		n.Choices = t.Texts
		if len(t.Choices) > 0 {
			n.Eval = func(f *eval.Frame) (any, error) { return w.deciding().text(f) }
		}
		if c.Nulls == eval.PropagateNull {
			n.NullReason = nullableInterpolation(t.Nodes)
		}
		return n
	})
}

// checkTextParts reports values that cannot be a part of a text.
func (c *Compiler) checkTextParts(nodes []template.Node) {
	for _, x := range nodes {
		switch x := x.(type) {
		case *template.Interpolation:
			switch {
			case x.Type.Nullable && c.Nulls == eval.RejectNull:
				c.Errorf(x.Range, "Value may be null",
					`%s may be null here, but a text cannot contain null. Write ${coalesce(%[1]s, "")}, or put the `+
						`part into %%{if %[1]s != null} … %%{endif}.`, x.Source)
			case x.Type.Kind == template.File:
				c.Errorf(x.Range, "File in text",
					"%s is a file, which is no text. Write ${%[1]s.filename}, ${%[1]s.url} or ${base64encode(%[1]s)}.",
					x.Source)
			case x.Type.Kind == template.Bytes:
				c.Errorf(x.Range, "Bytes in text", "%s is bytes, which are no text. Write ${base64encode(%[1]s)}.",
					x.Source)
			case templateFuncs[x.Func].onlyIn != "":
				c.Errorf(x.Range, "Function not available here",
					"%s(...) can only be used in SQL or in the path of a request.", x.Func)
			}
		case *template.If:
			c.checkTextParts(x.Then)
			c.checkTextParts(x.Else)
		case *template.For:
			c.checkTextParts(x.Body)
		}
	}
}

func nullableInterpolation(nodes []template.Node) string {
	for _, x := range nodes {
		if h, ok := x.(*template.Interpolation); ok && h.Type.Nullable {
			return h.Source + " may be null"
		}
	}
	return ""
}

// errNullText is the error of a text that is null because a part of it is.
var errNullText = fmt.Errorf("a part of the text is null")

// textWriter appends the text of template nodes.
type textWriter struct {
	nodes     []template.Node
	nulls     eval.NullPolicy
	decisions *template.Decisions // nil for a text without choices
}

// deciding returns the writer of one text with choices.
func (w textWriter) deciding() textWriter {
	w.decisions = new(template.Decisions)
	return w
}

func (w textWriter) text(f *eval.Frame) (any, error) {
	out, err := w.append(nil, f)
	switch err {
	case nil:
		return string(out), nil
	case errNullText:
		return nil, nil
	}
	return nil, err
}

func (w textWriter) append(dst []byte, f *eval.Frame) ([]byte, error) {
	var err error
	for _, n := range w.nodes {
		switch n := n.(type) {
		case *template.Text:
			dst = append(dst, n.Value...)
		case *template.Interpolation:
			dst, err = w.interpolation(dst, n, f)
		case *template.If:
			dst, err = w.branch(dst, n, f)
		case *template.For:
			inner := textWriter{n.Body, w.nulls, w.decisions}
			err = n.Over(f, func(g template.Frame) (err error) {
				w.decisions.Forget(n.Choices)
				dst, err = inner.append(dst, g.(*eval.Frame))
				return err
			})
		}
		if err != nil {
			return dst, err
		}
	}
	return dst, nil
}

func (w textWriter) branch(dst []byte, n *template.If, f *eval.Frame) ([]byte, error) {
	branch, err := w.decisions.Branch(n, f)
	if err != nil {
		return dst, err
	}
	return textWriter{branch, w.nulls, w.decisions}.append(dst, f)
}

func (w textWriter) interpolation(dst []byte, h *template.Interpolation, f *eval.Frame) ([]byte, error) {
	v, err := h.Value(f)
	if err != nil {
		return dst, err
	}
	switch v := v.(type) {
	case string:
		return append(dst, v...), nil
	case nil:
		switch w.nulls {
		case eval.PropagateNull:
			return dst, errNullText
		case eval.RejectNull:
			return dst, fmt.Errorf("%s is null, but a text cannot contain null", h.Source)
		}
	case value.Bytes:
		if w.nulls == eval.PrintNull {
			return fmt.Appendf(dst, "(%d bytes)", len(v)), nil
		}
	}
	s, err := value.Text(v)
	return append(dst, s...), err
}
