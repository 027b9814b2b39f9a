package adapters

import (
	"crypto/sha256"
	"encoding/hex"
)

// TextDigest returns what stands for a program that is too long to be shown, such as a script.
func TextDigest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:8])
}
