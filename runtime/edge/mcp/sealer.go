package mcp

import (
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"

	"golang.org/x/crypto/chacha20poly1305"
)

// Sealer encrypts and authenticates text that clients keep for the server, such as session ids and cookies. It opens
// only text that a process with the same key has sealed for the same use. Processes choose nonces at
// random, so these have 24 bytes: nonces of 12 bytes, as in AES-GCM, may repeat after 2³² texts.
type Sealer struct{ aead cipher.AEAD }

const (
	sealedForm = 1 // of what follows: the nonce, and the text sealed with XChaCha20-Poly1305
	nonceSize  = chacha20poly1305.NonceSizeX
)

var sealedEncoding = base64.RawURLEncoding.Strict()

// NewSealer returns a Sealer with a key of 32 bytes, or with a random one for nil.
func NewSealer(key []byte) Sealer {
	if key == nil {
		key = make([]byte, 32)
		rand.Read(key)
	}
	aead, err := chacha20poly1305.NewX(key)
	if err != nil {
		panic(err) // the key has another size
	}
	return Sealer{aead}
}

// Seal returns plain, sealed for a use, as text of the alphabet of base64url.
func (s Sealer) Seal(plain []byte, use string) string {
	sealed := make([]byte, 1+nonceSize, 1+nonceSize+len(plain)+s.aead.Overhead())
	sealed[0] = sealedForm
	rand.Read(sealed[1:])
	return sealedEncoding.EncodeToString(s.aead.Seal(sealed, sealed[1:], plain, []byte(use)))
}

// Open returns what was sealed for a use. It reports false for any other text, also for one that only
// decodes to the same bytes.
func (s Sealer) Open(text, use string) (plain []byte, ok bool) {
	sealed, err := sealedEncoding.DecodeString(text)
	if err != nil || len(sealed) <= nonceSize || sealed[0] != sealedForm ||
		sealedEncoding.EncodedLen(len(sealed)) != len(text) { // the decoder skips line breaks
		return nil, false
	}
	header := 1 + nonceSize
	plain, err = s.aead.Open(sealed[header:header], sealed[1:header], sealed[header:], []byte(use))
	return plain, err == nil
}
