package approval

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"strings"
	"time"
)

// idDigits are those of Crockford's base 32 in ascending order. They leave out letters that look like
// digits.
const idDigits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

const idLength = 16

// newID makes an ID of 48 bits of milliseconds and 32 random bits, so that IDs sort by time.
func newID(at time.Time) string {
	var b [10]byte
	binary.BigEndian.PutUint64(b[:8], uint64(at.UnixMilli())<<16)
	rand.Read(b[6:])
	return base32.NewEncoding(idDigits).EncodeToString(b[:])
}

// IsID reports whether a text that a person has typed has the form of an ID.
func IsID(text string) bool { return canonicalID(text) != "" }

// canonicalID returns an ID as newID has made it, for one that a person has typed. It returns an
// empty string for any other text.
func canonicalID(id string) string {
	id = strings.NewReplacer("O", "0", "I", "1", "L", "1", "-", "").Replace(strings.ToUpper(id))
	if len(id) != idLength || strings.Trim(id, idDigits) != "" {
		return ""
	}
	return id
}
