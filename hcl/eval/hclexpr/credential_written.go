package hclexpr

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/eval"
	"hatchel/hcl/template"
	"hatchel/hcl/value"
	"hatchel/internal/credential"
)

// NoteParts makes the compiler keep the expressions that it compiles, for CheckWritten and the checks like it.
func (c *Compiler) NoteParts() {
	if !c.ExemptCredentials {
		c.parts = map[hclsyntax.Expression]eval.TypedExpr{}
	}
}

// CheckWritten refuses credentials that the author wrote into the value of a name, or into members of it. The
// expression was compiled after NoteParts.
func (c *Compiler) CheckWritten(name string, e hclsyntax.Expression) {
	c.checkWritten(name, e, credential.IsNamed)
}

// CheckSent is CheckWritten where credentials are sent, under whatever names.
func (c *Compiler) CheckSent(name string, e hclsyntax.Expression) {
	c.checkWritten(name, e, credential.IsSent)
}

func (c *Compiler) checkWritten(name string, e hclsyntax.Expression, isCredential func(name, text string) bool) {
	if c.parts == nil {
		return
	}
	made := slices.Clone(c.refused) // by functions and templates in the expression
	reported := map[hclsyntax.Expression]bool{}
	w := &writtenWalker{c: c, report: func(at hclsyntax.Expression, name, text string) {
		if reported[at] || !isCredential(name, text) {
			return
		}
		isMade := func(r hclv2.Range) bool { return inside(r, at.Range()) || inside(at.Range(), r) }
		if _, shown := credential.Find(text); !shown && !slices.ContainsFunc(made, isMade) {
			reported[at] = true
			c.refuseNamed(at, name, text)
		}
	}}
	w.walk(e, name)
}

func inside(inner, outer hclv2.Range) bool {
	return inner.Filename == outer.Filename && inner.Start.Byte >= outer.Start.Byte && inner.End.Byte <= outer.End.Byte
}

// refuseNamed reports the credential that the expression at gives under a name.
func (c *Compiler) refuseNamed(at hclsyntax.Expression, name, text string) {
	where := fmt.Sprintf("The value of %s is a credential that is written here.", name)
	if n := c.parts[at]; n.Path != "" {
		where = fmt.Sprintf("The value of %s is that of %s, a credential that is written in the configuration.", name,
			eval.ShowPath(n.Path))
	}
	if file := c.fileOf(at); file != "" {
		where = fmt.Sprintf("The value of %s is that of the file %s, a credential in the configuration directory.",
			name, file)
	}
	c.refuseCredential(at.Range(), where, name, text)
}

// fileOf returns the name of the file that an expression reads at load, or "".
func (c *Compiler) fileOf(e hclsyntax.Expression) (name string) {
	hclsyntax.VisitAll(e, func(n hclsyntax.Node) hclv2.Diagnostics {
		call, ok := n.(*hclsyntax.FunctionCallExpr)
		if !ok || !strings.HasPrefix(call.Name, "file") || len(call.Args) != 1 {
			return nil
		}
		if text, ok := c.parts[call.Args[0]].Value.(string); ok && text != "" {
			name = text
		}
		return nil
	})
	return name
}

// writtenWalker finds the texts that an author wrote and that become the value of an expression, or a part of it.
type writtenWalker struct {
	c      *Compiler
	report func(at hclsyntax.Expression, name, text string)
	steps  int
}

// maxWrittenSteps bounds the walk through locals that read each other many times.
const maxWrittenSteps = 10_000

func (w *writtenWalker) walk(e hclsyntax.Expression, name string) {
	if w.steps++; w.steps > maxWrittenSteps {
		return
	}
	n, compiled := w.c.parts[e]
	if compiled && n.Known && !n.Sensitive && !n.Supplied {
		w.reportAll(e, name, n.Value)
		return
	}
	if choices := n.AllChoices; compiled && !n.Sensitive && !n.Supplied && n.Choices != nil {
		for _, v := range choices() {
			w.reportAll(e, name, v)
		}
	}
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		w.walk(e.Expression, name)
	case *hclsyntax.TemplateWrapExpr:
		w.walk(e.Wrapped, name)
	case *hclsyntax.ConditionalExpr:
		w.walk(e.TrueResult, name)
		w.walk(e.FalseResult, name)
	case *hclsyntax.TupleConsExpr:
		for _, x := range e.Exprs {
			w.walk(x, name)
		}
	case *hclsyntax.ObjectConsExpr:
		for _, item := range e.Items {
			key, _ := w.c.keyText(item.KeyExpr)
			w.walk(item.ValueExpr, key)
		}
	case *hclsyntax.FunctionCallExpr:
		w.walkCall(e, name, n)
	case *hclsyntax.TemplateExpr:
		w.walkParts(e, e, name, n)
	case *hclsyntax.ForExpr:
		w.walk(e.ValExpr, name)
	case *hclsyntax.ScopeTraversalExpr:
		if m := w.c.memberOf(e.Traversal); m != nil && m.Written != nil {
			m.Written(name, func(name, text string) { w.report(e, name, text) })
		}
	}
}

// alternatives are the functions whose result is one of their arguments, or made of their members.
var alternatives = template.WordSet("coalesce try lookup element merge concat flatten compact distinct tomap tolist " +
	"toset one jsonencode")

// walkCall walks the arguments of a function. Those that it only makes a part of a text are parts.
func (w *writtenWalker) walkCall(e *hclsyntax.FunctionCallExpr, name string, n eval.TypedExpr) {
	for i, a := range e.Args {
		switch {
		case alternatives[e.Name] && !(e.Name == "lookup" && i == 1):
			w.walk(a, name)
		default:
			w.walkParts(a, a, name, n)
		}
	}
}

// walkParts reports the parts of a text that look like a credential beside parts that are not known. A text with a
// secret in it has what it needs.
func (w *writtenWalker) walkParts(e, at hclsyntax.Expression, name string, whole eval.TypedExpr) {
	if whole.Sensitive || !credential.MayBeName(name) {
		return
	}
	switch x := e.(type) {
	case *hclsyntax.TemplateExpr:
		for _, part := range x.Parts {
			if _, isText := part.(*hclsyntax.LiteralValueExpr); !isText {
				w.walkParts(part, part, name, whole)
			}
		}
	case *hclsyntax.TemplateWrapExpr:
		w.walkParts(x.Wrapped, at, name, whole)
		return
	case *hclsyntax.FunctionCallExpr:
		for _, a := range x.Args {
			w.walkParts(a, a, name, whole)
		}
		return
	case *hclsyntax.ParenthesesExpr:
		w.walkParts(x.Expression, at, name, whole)
		return
	default:
		return
	}
	text := strings.TrimSpace(w.c.writtenText(e))
	if first, rest, has := strings.Cut(text, " "); has && credential.IsKnown(first) {
		text = rest // a scheme
	}
	for part := range strings.SplitSeq(text, credential.Unknown) {
		part = strings.TrimSpace(part)
		if len(part) >= 6 && !strings.HasSuffix(part, ":") && strings.ContainsAny(part, "0123456789") &&
			strings.IndexFunc(part, isLetter) >= 0 && !strings.ContainsAny(part, "%${}") {
			w.report(at, name, strings.TrimLeft(part, ":"))
		}
	}
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// reportAll reports the texts of a value of an expression, each at the smallest part that gives it: the literal, or
// what names it.
func (w *writtenWalker) reportAll(e hclsyntax.Expression, name string, v any) {
	var smallest map[string]hclsyntax.Expression
	eachText(name, v, func(name, text string) {
		if smallest == nil {
			smallest = w.parts(e)
		}
		at := smallest[text]
		if at == nil {
			at = e
		}
		w.report(at, name, text)
	})
}

// parts returns the smallest part of an expression that gives each text.
func (w *writtenWalker) parts(e hclsyntax.Expression) map[string]hclsyntax.Expression {
	smallest := map[string]hclsyntax.Expression{}
	hclsyntax.VisitAll(e, func(node hclsyntax.Node) hclv2.Diagnostics {
		x, ok := node.(hclsyntax.Expression)
		if !ok {
			return nil
		}
		n := w.c.parts[x]
		if text, isText := n.Value.(string); isText && n.Known {
			smallest[text] = x
		}
		return nil
	})
	return smallest
}

// eachText calls do with each text of a value and its name: that of the whole, or of the member that it is.
func eachText(name string, v any, do func(name, text string)) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			eachText(key, v[key], do)
		}
	case []any:
		for _, x := range v {
			eachText(name, x, do)
		}
	case bool, nil:
	default:
		if text, err := value.Text(v); err == nil {
			do(name, text)
		}
	}
}

// EachWritten returns what calls do with each text that the author wrote into the value of an expression, which was
// compiled after NoteParts, and with its name.
func (c *Compiler) EachWritten(e hclsyntax.Expression) func(name string, do func(name, text string)) {
	if c.parts == nil {
		return nil
	}
	running := false
	return func(name string, do func(name, text string)) {
		if running {
			return
		}
		running = true
		w := &writtenWalker{c: c, report: func(_ hclsyntax.Expression, name, text string) { do(name, text) }}
		w.walk(e, name)
		running = false
	}
}

// memberOf returns the member that a traversal names, and nothing of it.
func (c *Compiler) memberOf(t hclv2.Traversal) *eval.Member {
	r, _ := c.Scope.Find(t.RootName())
	if r == nil || len(t) < 2 {
		return nil
	}
	name, _ := TraverserName(t[1])
	return r.Members[name]
}

// keyText returns the text of the key of an object.
func (c *Compiler) keyText(e hclsyntax.Expression) (string, bool) {
	if k, ok := e.(*hclsyntax.ObjectConsKeyExpr); ok {
		if word := hclv2.ExprAsKeyword(k.Wrapped); word != "" && !k.ForceNonLiteral {
			return word, true
		}
		e = k.Wrapped
	}
	n := c.parts[e]
	text, err := value.Text(n.Value)
	return text, n.Known && err == nil
}

// writtenText returns the text of an expression, with credential.Unknown for what the author did not write.
func (c *Compiler) writtenText(e hclsyntax.Expression) string {
	if t, ok := e.(*hclsyntax.TemplateExpr); ok {
		var b strings.Builder
		for _, part := range t.Parts {
			if l, ok := part.(*hclsyntax.LiteralValueExpr); ok {
				text, _ := value.Text(LiteralValue(l.Val))
				b.WriteString(text)
			} else {
				b.WriteString(c.writtenText(part))
			}
		}
		return b.String()
	}
	n := c.parts[e]
	if text, err := value.Text(n.Value); err == nil && n.Known && !n.Sensitive && !n.Supplied {
		return text
	}
	return credential.Unknown
}
