//go:build !race

package examples_test

import "time"

const (
	raceEnabled = false
	prompt      = time.Second // within which a change is seen
)
