package hcl

import (
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

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
func (w *operationDecoder) requiresField() Field {
	return Custom("requires", "list of capabilities", "What the client must be able to do: "+JoinOr(capabilities)+". Any other client is refused, and told why.", func(d *Decoder, e hclsyntax.Expression) {
		for i, name := range Items[string](d, e, Field{Name: "requires"}, "strings") {
			switch {
			case name == "elicitation.form":
				d.Errorf(ElementRange(e, i), "Unknown capability", "A client that can be asked by a form is one with \"elicitation\".")
			case !slices.Contains(capabilities, name):
				d.Errorf(ElementRange(e, i), "Unknown capability", "There is no capability %q.%s", name, SuggestOr(name, capabilities, ListAre(capabilities)))
			case !slices.Contains(w.op.Requires, name):
				w.op.Requires = append(w.op.Requires, name)
			}
		}
	})
}
