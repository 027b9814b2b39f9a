package editor

import (
	"strings"

	"hatchel/hcl"
	"hatchel/hcl/eval/exprlang"
	"hatchel/hcl/functions"
)

// addFunctions adds the functions that can be called in a program, or in ${...}.
func (c *completion) addFunctions(program bool) {
	call := strings.HasPrefix(c.after(), "(")
	for _, f := range c.callable(program) {
		item := Item{Label: f.name, Kind: ItemFunction, Detail: f.usage, Doc: f.doc}
		if !call {
			item.Insert, item.Snippet = f.name+"($0)", true
		}
		c.add(item)
	}
}

// callable is a function that can be called.
type callable struct{ name, usage, doc string }

// callable returns the functions of programs, or of ${...}.
func (c *completion) callable(program bool) (all []callable) {
	for _, f := range functions.Table() {
		if !f.LoadOnly || !program {
			all = append(all, callable{f.Name, f.Usage(), f.Doc})
		}
	}
	if program {
		for _, b := range exprlang.Builtins() {
			all = append(all, callable{b.Name, b.Usage, b.Doc})
		}
		return all
	}
	for _, t := range hcl.TemplateFunctions() {
		name, _, _ := strings.Cut(t.Usage, "(")
		all = append(all, callable{name, t.Usage, t.Doc})
	}
	return append(all, callable{"try", "try(value, fallback)", "Returns the first argument that can be computed."},
		callable{"can", "can(value)", "Reports whether a value can be computed."},
		callable{"unmasked", "unmasked(value)", "Gives what a step has read without masks to the connection of this " +
			"block, which the mask names in reveal_to."})
}
