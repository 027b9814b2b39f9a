package elicit

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

	"hatchel/internal/digest"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/edge/mcp"
)

// A state token is what a client carries for the server between two requests of one call: one byte
// of version, the nonce, and sealed with AES-GCM its expiry, its name, whether its state is in the
// store under that name, and else the state. A token opens once, for the request that it was made
// for. It is not sealed by mcp.Sealer, because a process of an earlier version that serves the same
// store could not open it.
const (
	tokenVersion   = 1
	tokenNameSize  = 16
	tokenHeader    = 8 + tokenNameSize + 1
	maxInlineState = 8 << 10 // larger states are kept in the store
)

// Kinds of records: tokens that were opened, and states of others until they are.
const (
	kindUsed   = "used"
	kindFrozen = "frozen"
)

// Sealer makes and opens state tokens. It is safe for concurrent use.
type Sealer struct {
	aead  cipher.AEAD
	store state.Store
}

// NewSealer returns a Sealer whose key is derived from the secret of the store.
func NewSealer(ctx context.Context, store state.Store) (*Sealer, error) {
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
	return &Sealer{aead, store}, err
}

// Seal returns the token of a state, valid for requests with this digest until a moment.
func (s *Sealer) Seal(ctx context.Context, frozen []byte, request digest.Digest, until time.Time) (string, error) {
	plain := make([]byte, 0, tokenHeader+min(len(frozen), maxInlineState))
	plain = binary.BigEndian.AppendUint64(plain, uint64(until.UnixMilli()))
	plain = plain[:8+tokenNameSize]
	rand.Read(plain[8:])
	if len(frozen) <= maxInlineState {
		plain = append(append(plain, 0), frozen...)
	} else {
		kept := &state.Record{Kind: kindFrozen, Name: tokenName(plain), Expires: until, Body: frozen, NoNotify: true}
		if _, err := s.store.Add(ctx, kept); err != nil {
			return "", err
		}
		plain = append(plain, 1)
	}
	sealed := make([]byte, 1+s.aead.NonceSize(), 1+s.aead.NonceSize()+len(plain)+s.aead.Overhead())
	sealed[0] = tokenVersion
	rand.Read(sealed[1:])
	sealed = s.aead.Seal(sealed, sealed[1:], plain, request[:])
	return base64.RawURLEncoding.EncodeToString(sealed), nil
}

func tokenName(plain []byte) string { return hex.EncodeToString(plain[8 : 8+tokenNameSize]) }

var tokenEncoding = base64.RawURLEncoding.Strict()

// Read returns the state of a token that no client has, as often as it is called. Its errors are those of Open.
func (s *Sealer) Read(ctx context.Context, token string, request digest.Digest) ([]byte, error) {
	plain, err := s.decrypt(token, request)
	switch {
	case err != nil:
		return nil, err
	case plain[tokenHeader-1] == 0:
		return plain[tokenHeader:], nil
	}
	kept, err := s.store.Record(ctx, kindFrozen, tokenName(plain))
	switch {
	case err != nil:
		return nil, err
	case kept == nil:
		return nil, mcp.InvalidState()
	}
	return kept.Body, nil
}

// decrypt returns what is sealed in a token that has not expired.
func (s *Sealer) decrypt(token string, request digest.Digest) ([]byte, error) {
	b, err := tokenEncoding.DecodeString(token)
	size := 1 + s.aead.NonceSize()
	if err != nil || len(b) < size || b[0] != tokenVersion || tokenEncoding.EncodeToString(b) != token {
		return nil, mcp.InvalidState()
	}
	plain, err := s.aead.Open(nil, b[1:size], b[size:], request[:])
	if err != nil || len(plain) < tokenHeader {
		return nil, mcp.InvalidState()
	}
	if !time.Now().Before(expiry(plain)) {
		return nil, mcp.InvalidState()
	}
	return plain, nil
}

func expiry(plain []byte) time.Time { return time.UnixMilli(int64(binary.BigEndian.Uint64(plain))) }

// Open returns the state of a token. The error is mcp.InvalidState for a token that was opened
// before, has expired, belongs to another request or was not made by this server.
func (s *Sealer) Open(ctx context.Context, token string, request digest.Digest) ([]byte, error) {
	plain, err := s.decrypt(token, request)
	if err != nil {
		return nil, err
	}
	if plain[tokenHeader-1] != 0 {
		return s.take(ctx, tokenName(plain))
	}
	used, err := s.store.Add(ctx, &state.Record{
		Kind: kindUsed, Name: tokenName(plain), Expires: expiry(plain).Add(state.MaxClockSkew),
		Priority: state.FollowUp, NoNotify: true,
	})
	if err == nil && used != nil {
		err = mcp.InvalidState()
	}
	if err != nil {
		return nil, err
	}
	return plain[tokenHeader:], nil
}

// take removes a state from the store and returns it. Of any number of callers one succeeds.
func (s *Sealer) take(ctx context.Context, name string) ([]byte, error) {
	kept, err := s.store.Record(ctx, kindFrozen, name)
	if err != nil {
		return nil, err
	}
	first := false
	if kept != nil {
		kept.NoNotify = true
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
