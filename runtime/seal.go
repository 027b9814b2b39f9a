package runtime

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"time"

	"hatchel/runtime/digest"
	"hatchel/runtime/mcp"
	"hatchel/runtime/state"
)

// A sealed state is what a client carries for the server between the rounds of a call: one byte for its form, the nonce, and what is sealed: when it expires, its name,
// whether the rest is kept in the store under that name, and the rest. It opens once, for the request that it was made for.
const (
	tokenVersion   = 1
	tokenNameSize  = 16
	tokenHeader    = 8 + tokenNameSize + 1
	maxInlineState = 8 << 10 // what is larger is kept in the store
)

// Kinds of records: of states that were opened, and of what is kept of others until they are.
const (
	kindUsed   = "used"
	kindFrozen = "frozen"
)

// tokenSealer seals and opens states.
type tokenSealer struct {
	aead  cipher.AEAD
	store state.Store
}

func newTokenSealer(ctx context.Context, store state.Store) (*tokenSealer, error) {
	secret, err := state.Secret(ctx, store)
	if err != nil {
		return nil, err
	}
	key, err := hkdf.Key(sha256.New, secret, nil, "requestState", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	return &tokenSealer{aead, store}, err
}

// seal makes the state that open opens until then.
func (s *tokenSealer) seal(ctx context.Context, frozen []byte, of digest.Digest, until time.Time) (string, error) {
	plain := binary.BigEndian.AppendUint64(make([]byte, 0, tokenHeader+min(len(frozen), maxInlineState)), uint64(until.UnixMilli()))
	plain = plain[:8+tokenNameSize]
	rand.Read(plain[8:])
	if len(frozen) <= maxInlineState {
		plain = append(append(plain, 0), frozen...)
	} else {
		kept := &state.Record{Kind: kindFrozen, Name: tokenName(plain), Expires: until, Body: frozen, Quiet: true}
		if _, err := s.store.Add(ctx, kept); err != nil {
			return "", err
		}
		plain = append(plain, 1)
	}
	sealed := make([]byte, 1+s.aead.NonceSize(), 1+s.aead.NonceSize()+len(plain)+s.aead.Overhead())
	sealed[0] = tokenVersion
	rand.Read(sealed[1:])
	sealed = s.aead.Seal(sealed, sealed[1:], plain, of[:])
	return base64.RawURLEncoding.EncodeToString(sealed), nil
}

func tokenName(plain []byte) string { return hex.EncodeToString(plain[8 : 8+tokenNameSize]) }

var tokenEncoding = base64.RawURLEncoding.Strict()

// open returns what was sealed, once: a state that was opened before, is not one of ours, of another purpose or has expired is mcp.InvalidState.
func (s *tokenSealer) open(ctx context.Context, sealed string, of digest.Digest) ([]byte, error) {
	b, err := tokenEncoding.DecodeString(sealed)
	size := 1 + s.aead.NonceSize()
	if err != nil || len(b) < size || b[0] != tokenVersion || tokenEncoding.EncodeToString(b) != sealed {
		return nil, mcp.InvalidState()
	}
	plain, err := s.aead.Open(nil, b[1:size], b[size:], of[:])
	if err != nil || len(plain) < tokenHeader {
		return nil, mcp.InvalidState()
	}
	until := time.UnixMilli(int64(binary.BigEndian.Uint64(plain)))
	if !time.Now().Before(until) {
		return nil, mcp.InvalidState()
	}
	if plain[tokenHeader-1] != 0 {
		return s.take(ctx, tokenName(plain))
	}
	used, err := s.store.Add(ctx, &state.Record{Kind: kindUsed, Name: tokenName(plain), Expires: until.Add(state.Skew), Priority: state.FollowUp, Quiet: true})
	if err == nil && used != nil {
		err = mcp.InvalidState()
	}
	if err != nil {
		return nil, err
	}
	return plain[tokenHeader:], nil
}

// take returns what is kept of a state, and forgets it: of any number of callers one is given it.
func (s *tokenSealer) take(ctx context.Context, name string) ([]byte, error) {
	kept, err := s.store.Record(ctx, kindFrozen, name)
	if err != nil {
		return nil, err
	}
	first := false
	if kept != nil {
		kept.Quiet = true
		first, err = s.store.Remove(ctx, kept)
	}
	switch {
	case err != nil:
		return nil, err
	case !first:
		return nil, mcp.InvalidState()
	}
	return kept.Body, nil
}
