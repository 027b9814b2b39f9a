package signin

import (
	"testing"
	"time"
)

// SetBodyTimeout changes how long a body may take to arrive, until the test ends.
func SetBodyTimeout(t *testing.T, d time.Duration) {
	before := bodyTimeout
	bodyTimeout = d
	t.Cleanup(func() { bodyTimeout = before })
}
