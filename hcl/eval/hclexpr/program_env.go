package hclexpr

import (
	"hatchel/hcl/eval"
	"hatchel/hcl/eval/exprlang"
	"hatchel/hcl/schema"
)

// programEnv is what a program sees of the scope: neither roots that may hold secrets, nor the
// error of a failed call.
func (c *Compiler) programEnv(known *eval.NonNull) exprlang.Env {
	out := exprlang.Env{Roots: make(map[string]*schema.Type, 8), NonNull: known, Now: c.env.Now}
	for _, name := range c.Scope.Readable() {
		if r, _ := c.Scope.Find(name); !r.Hidden && name != "error" {
			out.Roots[name] = r.ProgramType()
		}
	}
	return out
}
