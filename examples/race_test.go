//go:build race

package examples_test

import "time"

const (
	raceEnabled = true
	prompt      = 5 * time.Second // the race detector slows a load down many times
)
