package grant

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"hatchel/runtime/durable/state"
)

// Times of keys. Every process, and every server that verifies the tokens, must have read a key before it signs.
const (
	keyEpoch   = 30 * 24 * time.Hour // how long a key signs
	keyPublish = 2 * time.Hour       // how long a key is published before it signs, and after its last token ends
	keyLife    = 62 * 24 * time.Hour // of the record
)

// signingKey is a key for ES256.
type signingKey struct {
	id      string
	epoch   int
	private *ecdsa.PrivateKey
	made    time.Time
	signs   time.Time // when it begins to sign
}

// storedKey is the body of the record of a key.
type storedKey struct {
	Private []byte    `json:"private"` // PKCS #8
	Made    time.Time `json:"made"`
	Signs   time.Time `json:"signs"`
}

// PublicKey verifies access tokens.
type PublicKey struct {
	ID  string
	Key *ecdsa.PublicKey
}

// SigningKey returns the key that signs now.
func (s *Store) SigningKey() (id string, key *ecdsa.PrivateKey) {
	now := s.o.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.keys[0]
	for _, next := range s.keys[1:] {
		if !next.signs.After(now) {
			k = next
		}
	}
	return k.id, k.private
}

// Keys returns the keys that verify access tokens now, with those that do not sign yet.
func (s *Store) Keys() (published []PublicKey) {
	now := s.o.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for n, k := range s.keys {
		if n+1 < len(s.keys) && now.After(s.keys[n+1].signs.Add(TokenLife+keyPublish)) {
			continue // the last token that it signed has ended
		}
		published = append(published, PublicKey{k.id, &k.private.PublicKey})
	}
	return published
}

// missInterval is how often an unknown key makes a process read the keys.
const missInterval = time.Second

// PublicKey returns the key with an ID, and nil for none that verifies tokens now. It reads the store only for an ID
// that it does not know, at most once a second.
func (s *Store) PublicKey(ctx context.Context, id string) (*ecdsa.PublicKey, error) {
	if key := s.findKey(id); key != nil {
		return key, nil
	}
	now := s.o.Now()
	s.mu.Lock()
	recent := now.Sub(s.missedAt) < missInterval
	if !recent {
		s.missedAt = now
	}
	s.mu.Unlock()
	if recent {
		return nil, nil
	}
	if err := s.readKeys(ctx); err != nil {
		return nil, err
	}
	return s.findKey(id), nil
}

func (s *Store) findKey(id string) *ecdsa.PublicKey {
	for _, k := range s.Keys() {
		if k.ID == id {
			return k.Key
		}
	}
	return nil
}

// maxKeys is how many records of keys there can be, with some that cannot be opened.
const maxKeys = 100

// readKeys reads the keys, and makes the next one when it is time.
func (s *Store) readKeys(ctx context.Context) error {
	for range maxKeys { // another process may make the key of an epoch first
		keys, newest, err := s.listKeys(ctx)
		if err != nil {
			return err
		}
		now := s.o.Now()
		signs := now
		if n := len(keys); n > 0 {
			s.mu.Lock()
			s.keys = keys
			s.mu.Unlock()
			if now.Before(keys[n-1].made.Add(keyEpoch - keyPublish)) {
				return nil
			}
			signs = now.Add(keyPublish)
		}
		if err := s.makeKey(ctx, newest+1, now, signs); err != nil {
			return err
		}
	}
	return state.ErrUnavailable
}

// listKeys returns the keys that are stored, by epoch, and the newest epoch, whose key may not open. A key that has
// been read before stays, also when another key of the state block has sealed it since.
func (s *Store) listKeys(ctx context.Context) (keys []*signingKey, newest int, err error) {
	records, err := s.store.List(ctx, state.Query{Kind: keyKind, Reverse: true, Limit: maxKeys})
	if err != nil {
		return nil, 0, err
	}
	s.mu.Lock()
	known := s.keys
	s.mu.Unlock()
	for _, r := range records {
		epoch, err := strconv.Atoi(r.UniqueKey)
		if err != nil {
			continue
		}
		newest = max(newest, epoch)
		k := s.openKey(ctx, r, epoch)
		if k == nil {
			k = keyWithID(known, r.Name)
		}
		if k != nil {
			keys = append(keys, k)
		} else if s.failing.Set(r.Name, "not opened") {
			s.o.Log.Warn("key of sign-ins not opened, state { key } may have changed", "key", r.Name)
		}
	}
	slices.SortFunc(keys, func(a, b *signingKey) int { return cmp.Compare(a.epoch, b.epoch) })
	return keys, newest, nil
}

func keyWithID(keys []*signingKey, id string) *signingKey {
	n := slices.IndexFunc(keys, func(k *signingKey) bool { return k.id == id })
	if n < 0 {
		return nil
	}
	return keys[n]
}

// openKey returns the key of a record, and nil when it does not open. One that was sealed by the previous key of the
// state block is sealed anew, because it signs longer than that key is declared.
func (s *Store) openKey(ctx context.Context, r *state.Record, epoch int) *signingKey {
	plain, current, ok := s.seals.open(r)
	var body storedKey
	if !ok || json.Unmarshal(plain, &body) != nil {
		return nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(body.Private)
	private, ok := parsed.(*ecdsa.PrivateKey)
	if err != nil || !ok {
		return nil
	}
	if !current {
		s.seals.seal(r, plain)
		r.NoNotify = true // other processes may have the keys in the other order
		_, err := s.store.Replace(ctx, r)
		s.o.Attempted("sealing of the keys of sign-ins", err)
	}
	return &signingKey{r.Name, epoch, private, body.Made, body.Signs}
}

// makeKey adds the key of an epoch. It does nothing when another process has added one.
func (s *Store) makeKey(ctx context.Context, epoch int, made, signs time.Time) error {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return err
	}
	plain, err := json.Marshal(storedKey{encoded, made, signs})
	if err != nil {
		return err
	}
	r := &state.Record{
		Kind: keyKind, Name: rand.Text(), UniqueKey: strconv.Itoa(epoch), Due: made, Expires: made.Add(keyLife),
		Priority: state.FollowUp, // without it no server starts
	}
	s.seals.seal(r, plain)
	existing, err := s.store.Add(ctx, r)
	if err == nil && existing == nil {
		s.o.Log.Info("key of sign-ins created", "key", r.Name, "signs_from", signs)
	}
	return err
}
