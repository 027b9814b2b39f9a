//go:build !race

package programtest

// RaceEnabled reports whether the tests, and the program, have the race detector.
const RaceEnabled = false
