package grant

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"hatchel/runtime/durable/state"
	"hatchel/runtime/edge/mcp"
)

// ring is the keys that are derived from the secret of the store and one key of the state block.
type ring struct {
	sealer mcp.Sealer
	mac    []byte
}

func newRing(secret, key []byte) (ring, error) {
	material := slices.Concat(secret, key)
	seal, err := hkdf.Key(sha256.New, material, nil, "sealed records of sign-ins", 32)
	if err != nil {
		return ring{}, err
	}
	mac, err := hkdf.Key(sha256.New, material, nil, "codes and refresh tokens", 32)
	return ring{mcp.NewSealer(seal), mac}, err
}

func (r ring) sum(parts ...string) []byte {
	mac := hmac.New(sha256.New, r.mac)
	mac.Write([]byte(strings.Join(parts, "\n")))
	return mac.Sum(nil)
}

// seals are the keys of the store. The first ring seals, all of them open.
type seals struct {
	rings []ring
	own   ring // of the secret of the store alone
}

func newSeals(secret, key, previous []byte) (s seals, err error) {
	if s.own, err = newRing(secret, nil); err != nil {
		return s, err
	}
	first, err := newRing(secret, key)
	s.rings = []ring{first}
	if err == nil && previous != nil {
		first, err = newRing(secret, previous)
		s.rings = append(s.rings, first)
	}
	return s, err
}

// seal sets the body of a record.
func (s seals) seal(r *state.Record, plain []byte) {
	r.Body = []byte(s.rings[0].sealer.Seal(plain, r.Kind+"\n"+r.Name))
}

// open returns the body of a record. Current is false when a key that was changed has sealed it.
func (s seals) open(r *state.Record) (plain []byte, current, ok bool) {
	plain, n, ok := openAny(s.rings, string(r.Body), r.Kind+"\n"+r.Name)
	return plain, n == 0, ok
}

func openAny(rings []ring, text, use string) (plain []byte, n int, ok bool) {
	for n, r := range rings {
		if plain, ok = r.sealer.Open(text, use); ok {
			return plain, n, true
		}
	}
	return nil, 0, false
}

var macEncoding = base64.RawURLEncoding.Strict()

// code returns the code of a grant.
func (s seals) code(id string) string {
	return id + "." + macEncoding.EncodeToString(s.rings[0].sum("code", id))
}

// token returns the refresh token of a generation of a grant.
func (s seals) token(id string, generation int) string {
	n := strconv.Itoa(generation)
	return id + "." + n + "." + macEncoding.EncodeToString(s.rings[0].sum("refresh", id, n))
}

// readCode returns the ID of the grant of a code.
func (s seals) readCode(code string) (id string, ok bool) {
	id, mac, ok := strings.Cut(code, ".")
	return id, ok && s.verify(mac, "code", id)
}

// readToken is the inverse of token.
func (s seals) readToken(token string) (id string, generation int, ok bool) {
	id, rest, _ := strings.Cut(token, ".")
	n, mac, ok := strings.Cut(rest, ".")
	if !ok || !s.verify(mac, "refresh", id, n) {
		return "", 0, false
	}
	generation, err := strconv.Atoi(n)
	return id, generation, err == nil
}

func (s seals) verify(mac string, parts ...string) bool {
	sum, err := macEncoding.DecodeString(mac)
	return err == nil && macEncoding.EncodedLen(len(sum)) == len(mac) &&
		slices.ContainsFunc(s.rings, func(r ring) bool { return hmac.Equal(sum, r.sum(parts...)) })
}

// group returns the group of the grants of an owner. It stays when the key of the state block is changed.
func (s seals) group(owner string) string {
	return base64.RawURLEncoding.EncodeToString(s.own.sum("owner", owner))
}

// Sealer seals texts that clients keep, for one use. All processes with the store and the key open them.
type Sealer struct {
	rings []ring
	use   string
}

// Seal returns plain, sealed, as text of the alphabet of base64url.
func (s Sealer) Seal(plain []byte) string { return s.rings[0].sealer.Seal(plain, s.use) }

// Open returns what was sealed for the same use. It reports false for any other text.
func (s Sealer) Open(text string) (plain []byte, ok bool) {
	plain, _, ok = openAny(s.rings, text, s.use)
	return plain, ok
}

// Sealer returns a sealer of texts that a change of the keys of the state block may end.
func (s *Store) Sealer(use string) Sealer { return Sealer{s.seals.rings, "sign-in " + use} }

// LastingSealer returns a sealer of texts that hold no right, so that the secret of the store alone seals them. They
// outlive changes of the keys of the state block.
func (s *Store) LastingSealer(use string) Sealer {
	return Sealer{[]ring{s.seals.own}, "sign-in " + use}
}
