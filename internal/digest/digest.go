// Package digest names things by the SHA-256 of what they are made of.
package digest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// Digest identifies a sequence of texts.
type Digest [sha256.Size]byte

// Of returns the digest of a sequence of texts. Each part is hashed with its length, so that no two
// sequences are confused by moving characters from one part to the next.
func Of(parts ...string) Digest {
	sum := sha256.New()
	for _, part := range parts {
		sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		sum.Write([]byte(part))
	}
	return Digest(sum.Sum(nil))
}

// String returns the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }
