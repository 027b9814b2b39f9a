package testblock

import (
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
)

// noteTarget tells the observer what is tested and the names of its arguments.
func (b *block) noteTarget() {
	if b.op == nil || b.d.Observer == nil {
		return
	}
	b.d.NoteReference(eval.Reference{At: b.targeting, Kind: b.kind, Name: b.op.Name})
	b.noteKeys("args", "input", b.kind+" "+b.op.Name)
	b.noteKeys("vars", "var", "")
	b.noteKeys("secrets", "secret", "")
	for _, n := range b.src.Body.Blocks {
		a := n.Body.Attributes["refused"]
		if n.Type != "expect" || a == nil {
			continue
		}
		if text, ok := a.Expr.(*hclsyntax.TemplateExpr); ok && text.IsStringLiteral() {
			path, _ := text.Value(nil)
			name, _, _ := strings.Cut(path.AsString(), ".")
			name, _, _ = strings.Cut(name, "[")
			at := diag.RangeOf(text.Range())
			at.End.Byte = at.Start.Byte + 1 + len(name) // the quote and the first part of the path
			b.d.NoteReference(eval.Reference{At: at, Kind: "input", Name: name, Owner: b.kind + " " + b.op.Name})
		}
	}
}

// noteKeys tells the observer what the keys of an argument name: of an object, or of the objects in each that it reads.
func (b *block) noteKeys(argument, kind, owner string) {
	a := b.src.Body.Attributes[argument]
	if a == nil {
		return
	}
	for _, object := range b.objectsOf(a.Expr) {
		for _, item := range object.Items {
			name := hclv2.ExprAsKeyword(item.KeyExpr)
			if name == "" {
				key, _ := item.KeyExpr.Value(nil)
				if key.IsNull() || !key.IsKnown() || key.Type() != cty.String {
					continue
				}
				name = key.AsString()
			}
			at := diag.RangeOf(item.KeyExpr.Range())
			b.d.NoteReference(eval.Reference{At: at, Kind: kind, Name: name, Owner: owner})
		}
	}
}

// objectsOf returns the objects that an expression is in the elements of each, as written.
func (b *block) objectsOf(e hclsyntax.Expression) (objects []*hclsyntax.ObjectConsExpr) {
	read, isRead := e.(*hclsyntax.ScopeTraversalExpr)
	each := b.src.Body.Attributes["each"]
	if !isRead || each == nil || len(read.Traversal) < 2 || read.Traversal.RootName() != "each" {
		if object, ok := e.(*hclsyntax.ObjectConsExpr); ok {
			objects = append(objects, object)
		}
		return objects
	}
	var elements []hclsyntax.Expression
	switch list := each.Expr.(type) {
	case *hclsyntax.TupleConsExpr:
		elements = list.Exprs
	case *hclsyntax.ObjectConsExpr:
		for _, item := range list.Items {
			elements = append(elements, item.ValueExpr)
		}
	}
	for _, element := range elements {
		for _, step := range read.Traversal[2:] {
			name, _ := step.(hclv2.TraverseAttr)
			element = writtenMember(element, name.Name)
		}
		if object, ok := element.(*hclsyntax.ObjectConsExpr); ok {
			objects = append(objects, object)
		}
	}
	return objects
}

// writtenMember returns a member of an object as it is written; nil for none.
func writtenMember(e hclsyntax.Expression, name string) hclsyntax.Expression {
	object, _ := e.(*hclsyntax.ObjectConsExpr)
	if object == nil {
		return nil
	}
	for _, item := range object.Items {
		if hclv2.ExprAsKeyword(item.KeyExpr) == name && name != "" {
			return item.ValueExpr
		}
	}
	return nil
}
