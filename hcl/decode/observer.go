package decode

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/eval"
)

// Observer is told what is known of one block while it is decoded, for an editor: of its bodies and arguments by the
// decoder, and of its expressions by the compilers.
type Observer interface {
	eval.Observer
	// Body is called for each body, with the arguments and blocks that it takes.
	Body(b *hclsyntax.Block, parts []Spec)
	// Argument is called for each argument before its value is decoded.
	Argument(f Field, value hclsyntax.Expression)
}

// NoteReference tells the observer of a place that names a declaration.
func (d *Decoder) NoteReference(r eval.Reference) {
	if d.Observer != nil {
		d.Observer.Reference(r)
	}
}
