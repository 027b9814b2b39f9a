package adapters

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hatchel/hcl"
	"hatchel/hcl/spelling"
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

// OneOf reports a string argument that is none of the accepted values.
func (c *Checks) OneOf(field *string, name string, accepted ...string) {
	quoted := make([]string, len(accepted))
	for i, word := range accepted {
		quoted[i] = fmt.Sprintf("%q", word)
	}
	last := len(quoted) - 1
	hint := ""
	if near := spelling.Nearest(*field, accepted); near != "" {
		hint = fmt.Sprintf(" Did you mean %q?", near)
	}
	c.Refuse(!slices.Contains(accepted, *field), field, "%s must be %s or %s, not %q.%s",
		name, strings.Join(quoted[:last], ", "), quoted[last], *field, hint)
}

// AtLeastOne reports an integer argument that is less than 1.
func (c *Checks) AtLeastOne(field *int, name string) {
	c.Refuse(*field < 1, field, "%s must be at least 1.", name)
}

// Err returns all mistakes as one error, or nil.
func (c Checks) Err() error { return errors.Join(c...) }
