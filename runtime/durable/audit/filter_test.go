package audit

import (
	"testing"
	"time"
)

func TestAFilterSelectsOutcomesOfSignInsAndDays(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for age, want := range map[time.Duration]bool{47 * time.Hour: true, 49 * time.Hour: false} {
		r := &Record{Event: EventSignIn, Time: now.Add(-age), Outcome: Replayed}
		f := &Filter{Outcome: Replayed, Since: "2d"}
		selects, err := f.Matcher(now)
		if err != nil {
			t.Fatal(err)
		}
		if selects(&Line{}, r) != want {
			t.Errorf("a record of %v before now: %v", age, !want)
		}
	}
	for _, since := range []string{"d", "-1d", "1.5d", "99999d", "yesterday"} {
		if _, err := (&Filter{Since: since}).Matcher(now); err == nil {
			t.Errorf("%q is accepted", since)
		}
	}
}
