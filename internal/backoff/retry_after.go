package backoff

import (
	"net/http"
	"strconv"
	"time"
)

const maxRetryAfter = 365 * 24 * time.Hour

// RetryAfter returns the pause that a response requests by its header Retry-After, at most a year: seconds, or the time
// until a date (RFC 9110, section 10.2.3). Without the header, or with anything else in it, it is 0.
func RetryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Duration(min(max(seconds, 0), int64(maxRetryAfter/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(time.Until(at), 0), maxRetryAfter)
	}
	return 0
}
