package hcl

import (
	"github.com/hashicorp/hcl/v2/hclwrite"

	"hatchel/hcl/value"
)

// Format rewrites a file in the canonical style. A file with a syntax error is refused: the result is nil and the diagnostics say why.
func Format(name string, src []byte) ([]byte, Diagnostics) {
	f := parseSource(newSourceFile(name, src))
	if f.diags.HasErrors() {
		return nil, f.diags
	}
	return hclwrite.Format(src), nil
}

// ParseVars reads a file of variable values, one `name = value` a line, as Terraform's .tfvars. Values that are not strings come back as JSON.
func ParseVars(name string, src []byte) (map[string]string, Diagnostics) {
	f := parseSource(newSourceFile(name, src))
	if f.diags.HasErrors() {
		return nil, f.diags
	}
	vars := map[string]string{}
	c := NewCompiler(&CompileEnv{}, src, nil, nil)
	body := f.body
	for _, b := range body.Blocks {
		c.errorf(b.TypeRange, "Unexpected block", "A file of variables holds names and values: `name = value`.")
	}
	for _, a := range sortedAttributes(body.Attributes) {
		key := a.Name
		n := c.Compile(a.Expr, LexicalEnv{})
		if text, ok := n.Value.(string); ok {
			vars[key] = text
			continue
		}
		b, err := value.AppendJSON(nil, n.Value)
		if err != nil {
			c.errorf(a.Expr.Range(), "Invalid value", "The value of %q cannot be written as JSON.", key)
		}
		vars[key] = string(b)
	}
	return vars, c.Diags.Sort()
}
