package hcl

import (
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/schema"
)

// capabilities are the names of what a client may be able to do. "elicitation" is by form; a dot is what a capability holds.
var capabilities = []string{"elicitation", "elicitation.url", "roots", "sampling", "sampling.context", "sampling.tools", "tasks"}

// Capabilities are the names that Work.Requires, and the root caller.capabilities of a call, may hold.
func Capabilities() []string { return slices.Clone(capabilities) }

// capabilityType is one of these names.
var capabilityType = func() *schema.Type {
	t := &schema.Type{Kind: schema.String}
	for _, name := range capabilities {
		t.Enum = append(t.Enum, schema.EnumValue{Value: name})
	}
	return t
}()

// requiresField declares what the client must be able to do.
func (w *operationDecoder) requiresField() decode.Field {
	return decode.Custom("requires", "list of capabilities", "What the client must be able to do: "+diag.JoinOr(capabilities)+". Any other client is refused, and told why.", func(d *decode.Decoder, e hclsyntax.Expression) {
		for i, name := range decode.Items[string](d, e, decode.Field{Name: "requires"}, "strings") {
			switch {
			case name == "elicitation.form":
				d.Errorf(decode.ElementRange(e, i), "Unknown capability", "A client that can be asked by a form is one with \"elicitation\".")
			case !slices.Contains(capabilities, name):
				d.Errorf(decode.ElementRange(e, i), "Unknown capability", "There is no capability %q.%s", name, diag.SuggestOr(name, capabilities, diag.ListAre(capabilities)))
			case !slices.Contains(w.op.Requires, name):
				w.op.Requires = append(w.op.Requires, name)
			}
		}
	})
}
