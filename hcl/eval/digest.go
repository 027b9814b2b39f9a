package eval

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// HashParts names what a list of texts says.
func HashParts(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}
