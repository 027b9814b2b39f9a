//go:build race

package schema

// allocationSlack is the part of reserved memory that may be taken in addition. The race detector makes small
// allocations larger.
func allocationSlack(reserved int64) int64 { return reserved / 2 }
