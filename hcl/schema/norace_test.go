//go:build !race

package schema

func allocationSlack(reserved int64) int64 { return reserved / 8 }
