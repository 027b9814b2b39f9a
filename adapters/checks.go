package adapters

import (
	"errors"

	"hatchel/hcl"
)

// Checks collects the mistakes in the arguments of a block or a connection. Each mistake is reported
// at a field of the decoded configuration, as hcl.Blame does.
type Checks []error

// Refuse reports a mistake at a field if wrong is true.
func (c *Checks) Refuse(wrong bool, field any, format string, args ...any) {
	if wrong {
		*c = append(*c, hcl.Blame(field, format, args...))
	}
}

// Err returns all mistakes as one error, or nil.
func (c Checks) Err() error { return errors.Join(c...) }
