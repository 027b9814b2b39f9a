package hclexpr

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
)

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
