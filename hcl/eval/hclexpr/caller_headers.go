package hclexpr

import (
	"slices"
	"strings"

	"hatchel/hcl/diag"
)

// checkCallerHeader reports a header of the caller that auth does not list: it is never there,
// whoever calls, and a rule that asks for it decides the same for everybody.
func (c *Compiler) checkCallerHeader(name string, place diag.Range) {
	if !c.env.Authenticated || slices.Contains(c.env.CallerHeaders, name) {
		return
	}
	lower := strings.ToLower(name)
	if slices.Contains(c.env.CallerHeaders, lower) {
		c.Diags.Errorf(place, "Header not listed",
			"Names of headers are in lower case here: write caller.headers[\"%s\"], or ['%s'] in a program.", lower,
			lower)
		return
	}
	c.Diags.Errorf(place, "Header not listed",
		"The auth block does not list the header %q, so it is never there. Write headers = [%q] in auth, when "+
			"whoever sets it can be trusted.", name, lower)
}
