package hcl

import (
	"hatchel/hcl/diag"
	"hatchel/hcl/eval/hclexpr"
	"hatchel/hcl/syntax"
	"hatchel/hcl/value"
)

// ParseVars reads a file of variable values, one `name = value` a line, as Terraform's .tfvars. Values that are not strings come back as JSON.
func ParseVars(name string, src []byte) (map[string]string, diag.Diagnostics) {
	body, diags := syntax.Parse(name, src)
	if diags.HasErrors() {
		return nil, diags
	}
	vars := map[string]string{}
	c := hclexpr.NewCompiler(&hclexpr.CompileEnv{}, src, nil, nil)
	for _, b := range body.Blocks {
		c.Errorf(b.TypeRange, "Unexpected block", "A file of variables holds names and values: `name = value`.")
	}
	for _, a := range sortedAttributes(body.Attributes) {
		key := a.Name
		n := c.Compile(a.Expr, hclexpr.LexicalEnv{})
		if text, ok := n.Value.(string); ok {
			vars[key] = text
			continue
		}
		b, err := value.AppendJSON(nil, n.Value)
		if err != nil {
			c.Errorf(a.Expr.Range(), "Invalid value", "The value of %q cannot be written as JSON.", key)
		}
		vars[key] = string(b)
	}
	return vars, c.Diags.Sort()
}
