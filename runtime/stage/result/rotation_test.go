package result

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hatchel/adapters/scrub"
)

// A value that was replaced stays known for a day after it was current, and not longer.
func TestAValueThatWasReplacedStaysKnownForADay(t *testing.T) {
	var r Rotation
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(hours float64, secrets ...string) *scrub.Scrubber {
		return r.NewScrubber(secrets, start.Add(time.Duration(hours*float64(time.Hour))))
	}
	at(0, "first-value", "other-value")
	shows := func(s *scrub.Scrubber, values ...string) {
		t.Helper()
		for _, v := range values {
			if got := s.Text("x " + v); got != "x "+v {
				t.Errorf("%s is hidden", v)
			}
		}
	}
	hides := func(s *scrub.Scrubber, values ...string) {
		t.Helper()
		for _, v := range values {
			if got := s.Text("x " + v); got != "x (secret)" {
				t.Errorf("%s: %s", v, got)
			}
		}
	}
	hides(at(100, "second-value", "other-value"), "first-value", "second-value", "other-value") // current for 100 hours
	s := at(123.9, "second-value")
	hides(s, "first-value", "other-value", "second-value")
	s = at(124.1, "third-value")
	shows(s, "first-value")
	hides(s, "other-value", "second-value", "third-value")
	hides(at(125, "second-value"), "second-value", "third-value") // a value that comes back
	s = at(300)
	hides(s, "second-value") // nothing was loaded in between, so it was current until now
	shows(s, "third-value")
}

// Only so many values are remembered, the latest of them.
func TestTheEarlierValuesAreLimited(t *testing.T) {
	var r Rotation
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var many []string
	for i := range maxRotated + 10 {
		many = append(many, fmt.Sprintf("value-%05d", i))
	}
	r.NewScrubber(many, now)
	s := r.NewScrubber([]string{"current-value"}, now.Add(time.Second))
	if got := s.Text("value-00001 value-01009"); got != "(secret) value-01009" || len(r.until) != maxRotated {
		t.Errorf("%s, %d values", got, len(r.until))
	}
	r.NewScrubber([]string{strings.Repeat("x", maxRotatedSize-20)}, now.Add(time.Hour))
	s = r.NewScrubber(nil, now.Add(2*time.Hour)) // the latest one leaves room for one more
	if got := s.Text("value-00001 current-value"); got != "value-00001 (secret)" || len(r.until) != 2 {
		t.Errorf("%s, %d values", got, len(r.until))
	}
}
