package credential

import (
	"fmt"
	"strings"
	"time"
)

const (
	maxToken    = 32 << 10 // bytes, more than services accept in a header
	maxLifetime = 366 * 24 * time.Hour
)

// IsToken reports whether a text may be a token: printable characters of ASCII without a space, which a header and a
// form can hold.
func IsToken(text string) bool {
	isForeign := func(c rune) bool { return c <= ' ' || c > '~' }
	return text != "" && len(text) <= maxToken && !strings.ContainsFunc(text, isForeign)
}

// CheckToken returns a token without the spaces around it, or an error that names where it is from and has nothing of
// it.
func CheckToken(what, text string) (string, error) {
	text = strings.TrimSpace(text)
	if !IsToken(text) {
		return "", fmt.Errorf("%s has no token: it is empty, longer than %d KiB, or has a space or another character "+
			"than the printable ones of ASCII", what, maxToken>>10)
	}
	return text, nil
}

// Seconds returns a lifetime that a service has reported.
func Seconds(n float64) time.Duration {
	return time.Duration(min(n, maxLifetime.Seconds()) * float64(time.Second))
}
