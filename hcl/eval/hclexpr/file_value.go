package hclexpr

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
)

// RejectFileValue reports a file, or what holds one, in an argument that does not take its bytes.
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
		"%s %s, and %s takes texts and the like. Name what is meant: %s.filename, %s.url, or base64encode(%s). "+
			"Bytes are sent with multipart or body of an http block, stdin of a program, content of a file or a "+
			"parameter in SQL; a program reads the copy %s.path.", eval.Subject(n), what, a.Name, name, name, name,
		name)
}
