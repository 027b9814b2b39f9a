package eval

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// ContentDigest returns the digest of the content of a file.
func ContentDigest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// HashParts returns a digest of a list of texts. Lists that differ have different digests.
func HashParts(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}
