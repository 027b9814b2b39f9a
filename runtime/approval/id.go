package approval

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"strings"
	"time"
)

// digits are those of Crockford's base 32, in ascending order: without letters that are read as others.
const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

const idLength = 16

// newID makes an ID of a moment: 48 bits of milliseconds and 32 random ones, so that later ones sort after earlier ones.
func newID(at time.Time) string {
	var b [10]byte
	binary.BigEndian.PutUint64(b[:8], uint64(at.UnixMilli())<<16)
	rand.Read(b[6:])
	return base32.NewEncoding(digits).EncodeToString(b[:])
}

// IsID reports whether a text can be the ID of an approval, as somebody has typed it.
func IsID(text string) bool { return canonical(text) != "" }

// canonical is an ID as it was made, of one as somebody has typed it; empty for what is none.
func canonical(id string) string {
	id = strings.NewReplacer("O", "0", "I", "1", "L", "1", "-", "").Replace(strings.ToUpper(id))
	if len(id) != idLength || strings.Trim(id, digits) != "" {
		return ""
	}
	return id
}
