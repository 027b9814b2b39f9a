//go:build race

package runtime

// raceAllocations is how often a call whose events are recorded allocates memory only because the race detector keeps
// the compiler from avoiding it.
const raceAllocations = 1
