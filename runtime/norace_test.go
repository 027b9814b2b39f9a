//go:build !race

package runtime

const raceAllocations = 0
