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

	"hatchel/runtime/mcp"
	"hatchel/runtime/state"
)

// A sealed state is what a client carries for the server between the rounds of a call: one byte for its form, the nonce, and what is sealed: when it expires, its name,
// whether the rest is kept in the store under that name, and the rest. It opens once, for the request that it was made for.
const (
	sealForm     = 1
	nameSize     = 16
	sealedHeader = 8 + nameSize + 1
	sealedInline = 8 << 10 // what is larger is kept in the store
)

// Kinds of records: of states that were opened, and of what is kept of others until they are.
const (
	kindUsed   = "used"
	kindFrozen = "frozen"
)

// sealer seals and opens states.
type sealer struct {
	aead  cipher.AEAD
	store state.Store
}

func newSealer(ctx context.Context, store state.Store) (*sealer, error) {
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
	return &sealer{aead, store}, err
}

// purpose is the request that a state is for, and by whom: nothing else opens it.
type purpose [sha256.Size]byte

func purposeOf(parts ...string) purpose {
	sum := sha256.New()
	for _, part := range parts {
		sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		sum.Write([]byte(part))
	}
	return purpose(sum.Sum(nil))
}

// String is the purpose as a name.
func (p purpose) String() string { return hex.EncodeToString(p[:]) }

// seal makes the state that open opens until then.
func (s *sealer) seal(ctx context.Context, frozen []byte, of purpose, until time.Time) (string, error) {
	plain := binary.BigEndian.AppendUint64(make([]byte, 0, sealedHeader+min(len(frozen), sealedInline)), uint64(until.UnixMilli()))
	plain = plain[:8+nameSize]
	rand.Read(plain[8:])
	if len(frozen) <= sealedInline {
		plain = append(append(plain, 0), frozen...)
	} else {
		kept := &state.Record{Kind: kindFrozen, Name: sealedName(plain), Expires: until, Body: frozen, Quiet: true}
		if _, err := s.store.Add(ctx, kept); err != nil {
			return "", err
		}
		plain = append(plain, 1)
	}
	sealed := make([]byte, 1+s.aead.NonceSize(), 1+s.aead.NonceSize()+len(plain)+s.aead.Overhead())
	sealed[0] = sealForm
	rand.Read(sealed[1:])
	sealed = s.aead.Seal(sealed, sealed[1:], plain, of[:])
	return base64.RawURLEncoding.EncodeToString(sealed), nil
}

func sealedName(plain []byte) string { return hex.EncodeToString(plain[8 : 8+nameSize]) }

var sealEncoding = base64.RawURLEncoding.Strict()

// open returns what was sealed, once: a state that was opened before, is not one of ours, of another purpose or has expired is mcp.InvalidState.
func (s *sealer) open(ctx context.Context, sealed string, of purpose) ([]byte, error) {
	b, err := sealEncoding.DecodeString(sealed)
	size := 1 + s.aead.NonceSize()
	if err != nil || len(b) < size || b[0] != sealForm || sealEncoding.EncodeToString(b) != sealed {
		return nil, mcp.InvalidState()
	}
	plain, err := s.aead.Open(nil, b[1:size], b[size:], of[:])
	if err != nil || len(plain) < sealedHeader {
		return nil, mcp.InvalidState()
	}
	until := time.UnixMilli(int64(binary.BigEndian.Uint64(plain)))
	if !time.Now().Before(until) {
		return nil, mcp.InvalidState()
	}
	if plain[sealedHeader-1] != 0 {
		return s.take(ctx, sealedName(plain))
	}
	used, err := s.store.Add(ctx, &state.Record{Kind: kindUsed, Name: sealedName(plain), Expires: until.Add(state.Skew), Follows: true, Quiet: true})
	if err == nil && used != nil {
		err = mcp.InvalidState()
	}
	if err != nil {
		return nil, err
	}
	return plain[sealedHeader:], nil
}

// take returns what is kept of a state, and forgets it: of any number of callers one is given it.
func (s *sealer) take(ctx context.Context, name string) ([]byte, error) {
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
