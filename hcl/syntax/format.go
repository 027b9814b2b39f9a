package syntax

import (
	"github.com/hashicorp/hcl/v2/hclwrite"
	"hatchel/hcl/diag"
)

// Format rewrites a file in the canonical style. For a file with a syntax error the result is nil,
// with diagnostics.
func Format(name string, src []byte) ([]byte, diag.Diagnostics) {
	if _, diags := Parse(name, src); diags.HasErrors() {
		return nil, diags
	}
	return hclwrite.Format(src), nil
}
