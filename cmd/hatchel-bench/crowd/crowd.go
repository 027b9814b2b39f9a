// Package crowd puts many clients at once in front of the real program and accounts for what each of them must see. [Load] holds
// thousands of listeners open while calls and changes come at a steady pace; [Soak] has everything that clients and authors do, sensible
// or not, happen at the same time for as long as it is told. Both judge the server from outside: by its answers, its log, and what the operating
// system says that the process holds.
package crowd

import (
	"fmt"
	"slices"
	"time"
)

// era is one of the two ways in which a client speaks MCP.
type era string

const (
	legacy era = "2025-11-25"
	modern era = "2026-07-28"
)

var eras = []era{legacy, modern}

// patience is how long anything that has to happen may take on a busy machine.
const patience = time.Minute

// Spread are the times that something took, of which there may be many.
type Spread []time.Duration

// At returns the time that a share of all did not exceed; 0 when there are none. It sorts.
func (s Spread) At(share float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	slices.Sort(s)
	return s[min(len(s)-1, int(share*float64(len(s))))]
}

// String shows the median, the 99th of a hundred, and the longest.
func (s Spread) String() string {
	if len(s) == 0 {
		return "–"
	}
	return fmt.Sprintf("p50 %s, p99 %s, max %s", shown(s.At(0.5)), shown(s.At(0.99)), shown(s.At(1)))
}

func shown(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}
