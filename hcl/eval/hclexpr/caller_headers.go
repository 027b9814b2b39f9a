package hclexpr

import (
	"slices"
	"strings"

	"hatchel/hcl/diag"
)

// checkCallerHeader reports a header that auth does not list. It is never set, so that a rule that
// reads it decides the same for every caller.
func (c *Compiler) checkCallerHeader(name string, place diag.Range) {
	if !c.env.Authenticated || slices.Contains(c.env.CallerHeaders, name) {
		return
	}
	lower := strings.ToLower(name)
	if slices.Contains(c.env.CallerHeaders, lower) {
		c.Diags.Errorf(place, "Header not listed",
			`Names of headers are written in lower case: caller.headers["%s"], or ['%s'] in a program.`, lower,
			lower)
		return
	}
	c.Diags.Errorf(place, "Header not listed",
		"The auth block does not list the header %q, so it is never set. Write headers = [%q] in auth if the "+
			"sender of the header can be trusted.", name, lower)
}
