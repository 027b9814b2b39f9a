package functions

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"

	"hatchel/hcl/value"
)

func digestFunctions() []Function {
	data := params(dataParam("data"))
	id := New("uuid", "Returns a new random UUID.", nil, fixed(String), uuid)
	id.CallOnly = true
	return []Function{
		New("md5", "Returns the MD5 digest in hexadecimal.", data, fixed(String), digest(md5.New)),
		New("sha1", "Returns the SHA-1 digest in hexadecimal.", data, fixed(String), digest(sha1.New)),
		New("sha256", "Returns the SHA-256 digest in hexadecimal.", data, fixed(String), digest(sha256.New)),
		New("sha512", "Returns the SHA-512 digest in hexadecimal.", data, fixed(String), digest(sha512.New)),
		New("hmac_sha256", "Returns the HMAC-SHA256 of data in hexadecimal; the key comes first.",
			params(dataParam("key"), dataParam("data")), fixed(String), hmacSHA256),
		id,
	}
}

func digest(newHash func() hash.Hash) impl {
	return func(_ *Context, a []any) (any, error) {
		sum := newHash()
		sum.Write(dataBytes(a[0]))
		return hex.EncodeToString(sum.Sum(nil)), nil
	}
}

func hmacSHA256(_ *Context, a []any) (any, error) {
	sum := hmac.New(sha256.New, dataBytes(a[0]))
	sum.Write(dataBytes(a[1]))
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// dataBytes returns the argument of a dataParam as bytes.
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
