package adapters

import (
	"cmp"
	"fmt"
	"slices"
)

// Cut is a limit of a block that has cut its output.
type Cut struct {
	Block    string   `json:"block"`              // "the sql block"; that of the call if it is empty
	Members  []string `json:"members"`            // of the output
	Limit    string   `json:"limit"`              // "max_rows = 1000"
	Argument string   `json:"argument,omitempty"` // "max_rows"; empty if the limit cannot be raised
	Seen     string   `json:"seen"`               // a phrase such as "there are more rows"
	Allowed  bool     `json:"allowed,omitempty"`  // the block has truncate = true
}

// Reads reports whether anything reads a member of the output that a limit of the block may cut.
func (c *Call) Reads(member string) bool {
	return slices.Contains(c.Whole, member) || slices.Contains(c.Delivered, member)
}

// Truncate is called before a limit cuts the output, and before an effect is final. It returns a
// *Fault if all of a member is needed and the block does not allow a part.
func (c *Call) Truncate(cut Cut) error {
	cut.Block = cmp.Or(cut.Block, c.Block)
	needed := slices.IndexFunc(cut.Members, func(member string) bool { return slices.Contains(c.Whole, member) })
	if cut.Allowed || needed < 0 {
		c.Cut = &cut
		return nil
	}
	change := "write"
	if cut.Argument != "" {
		change = "raise " + cut.Argument + ", or write"
	}
	return &Fault{Message: fmt.Sprintf("%s stopped at its limit, %s, and %s. The call needs all of output.%s, so it "+
		"failed. Ask for less. In the definition of the tool: %s truncate = true in that block to work with a part",
		cut.Block, cut.Limit, cut.Seen, cut.Members[needed], change)}
}
