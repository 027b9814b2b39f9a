package decode

import (
	"maps"
	"slices"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// inputsByDefault is the default of an argument; see Field.InputsByDefault.
type inputsByDefault struct{ except string }

// decodeInputs decodes an argument that is not written as if it were an object of the inputs. Its place is the header
// of the block. Editors are not told of it.
func (d *Decoder) decodeInputs(b *hclsyntax.Block, f Field) {
	root, _ := d.Scope.Find("input")
	if root == nil {
		return
	}
	at := b.DefRange()
	inputs := func(member string) *hclsyntax.ScopeTraversalExpr {
		t := hclv2.Traversal{hclv2.TraverseRoot{Name: "input", SrcRange: at}}
		if member != "" {
			t = append(t, hclv2.TraverseAttr{Name: member, SrcRange: at})
		}
		return &hclsyntax.ScopeTraversalExpr{Traversal: t, SrcRange: at}
	}
	var written hclsyntax.Expression = inputs("")
	if root.Members != nil {
		object := &hclsyntax.ObjectConsExpr{SrcRange: at, OpenRange: at}
		for _, name := range slices.Sorted(maps.Keys(root.Members)) {
			if name == f.inputs.except {
				continue
			}
			key := &hclsyntax.ObjectConsKeyExpr{
				Wrapped: &hclsyntax.LiteralValueExpr{Val: cty.StringVal(name), SrcRange: at},
			}
			object.Items = append(object.Items, hclsyntax.ObjectConsItem{KeyExpr: key, ValueExpr: inputs(name)})
		}
		written = object
	}
	observer := d.Observer
	d.Observer = nil
	f.DecodeAttr(d, written, f)
	d.Observer = observer
}
