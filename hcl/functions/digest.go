package functions

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"

	"hatchel/hcl/value"
)

func digest(newHash func() hash.Hash) impl {
	return func(c *Context, a []any) (any, error) {
		sum := newHash()
		if err := c.digest(sum, a[0]); err != nil {
			return nil, err
		}
		return hex.EncodeToString(sum.Sum(nil)), nil
	}
}

func hmacSHA256(c *Context, a []any) (any, error) {
	key := dataBytes(a[0])
	if len(key) > sha256.BlockSize { // RFC 2104: its digest is the key
		sum := sha256.New()
		if err := c.digest(sum, key); err != nil {
			return nil, err
		}
		key = sum.Sum(nil)
	}
	sum := hmac.New(sha256.New, key)
	if err := c.digest(sum, a[1]); err != nil {
		return nil, err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// digest writes data to a hash, within the budget of time.
func (c *Context) digest(sum hash.Hash, data any) error {
	for part := range slices.Chunk(dataBytes(data), 64<<10) {
		if err := c.scan(len(part)); err != nil {
			return err
		}
		sum.Write(part)
	}
	return nil
}

// dataBytes returns an argument that is a text or bytes as bytes.
func dataBytes(v any) value.Bytes {
	if b, ok := v.(value.Bytes); ok {
		return b
	}
	return value.Bytes(v.(string))
}

func uuid(*Context, []any) (any, error) {
	var b [16]byte
	rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), nil
}
