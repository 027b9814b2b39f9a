package hcl

import "hatchel/hcl/schema"

// OutputType returns the type of the root that a response to a question sets.
func (a *Ask) OutputType() *schema.Type { return a.outputType() }
