package decode

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/eval"
)

// Probe is told what may be written at one place while a block is decoded, for an editor. The editor has written the
// name of the Probe there, as an argument, a block or a part of an expression.
type Probe struct {
	eval.Probe
	Offset int // of the name, in bytes of the file
	// Body is called if the place is an argument or a block of b, which takes parts.
	Body func(b *hclsyntax.Block, parts []Spec)
	// Argument is called if the place is in the value of an argument.
	Argument func(f Field)
}

// probeBody tells the probe of the parts of a body if the place is in it.
func (d *Decoder) probeBody(b *hclsyntax.Block, parts []Spec) {
	if p := d.Env.Editor; p != nil {
		if b.Body.Attributes[p.Name] != nil || FindBlock(b.Body, p.Name) != nil {
			p.Body(b, parts)
		}
	}
}

// probeArgument tells the probe of an argument if the place is in its value.
func (d *Decoder) probeArgument(f Field, e hclsyntax.Expression) {
	p := d.Env.Editor
	if p == nil {
		return
	}
	if r := e.Range(); r.Start.Byte <= p.Offset && p.Offset <= r.End.Byte {
		p.Argument(f)
	}
}
