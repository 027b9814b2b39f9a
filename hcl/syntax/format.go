package syntax

import (
	"github.com/hashicorp/hcl/v2/hclwrite"
	"hatchel/hcl/diag"
)

// Format rewrites a file in the canonical style. A file with a syntax error is refused: the result
// is nil and the diagnostics say why.
func Format(name string, src []byte) ([]byte, diag.Diagnostics) {
	if _, diags := Parse(name, src); diags.HasErrors() {
		return nil, diags
	}
	return hclwrite.Format(src), nil
}
