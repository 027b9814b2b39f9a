package hclexpr

import (
	"strings"

	"hatchel/hcl/eval"
	"hatchel/hcl/eval/exprlang"
)

// programEnv is the scope as a program sees it, without null where a guard around has ruled it out. Sealed roots and secret members are not there.
func (c *Compiler) programEnv(known *eval.NonNull) exprlang.Env {
	out := exprlang.Env{Roots: make(map[string]*exprlang.Shape, 8), Now: c.env.Now}
	for _, name := range c.Scope.Readable() {
		if r, _ := c.Scope.Find(name); !r.Hidden && name != "error" {
			out.Roots[name] = r.Shape()
		}
	}
	for ; known != nil; known = known.Next {
		name, rest, _ := strings.Cut(known.Path, ".")
		if s := out.Roots[name]; s != nil && rest != "" {
			out.Roots[name] = eval.WithoutNull(s, strings.Split(rest, "."))
		}
	}
	return out
}
