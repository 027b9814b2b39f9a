package backoff_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/internal/backoff"
)

func TestThePauseThatAResponseRequests(t *testing.T) {
	const year = 365 * 24 * time.Hour
	synctest.Test(t, func(t *testing.T) {
		date := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
		for text, want := range map[string]time.Duration{
			"": 0, "soon": 0, "-1": 0, "0": 0, "1.5": 0, "7": 7 * time.Second, "99999999999": year,
			"9223372036854775807": year, "92233720368547758070": 0,
			date(time.Minute): time.Minute, date(-time.Minute): 0, date(2 * year): year,
		} {
			if got := backoff.RetryAfter(http.Header{"Retry-After": {text}}); got != want {
				t.Errorf("%q: %v, want %v", text, got, want)
			}
		}
	})
	if got := backoff.RetryAfter(http.Header{}); got != 0 {
		t.Errorf("no header: %v", got)
	}
}
