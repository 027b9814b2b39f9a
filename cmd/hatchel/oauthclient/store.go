package oauthclient

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"hatchel/internal/filelock"
)

// DefaultDir returns the directory for the tokens of the user; empty if the environment names none.
func DefaultDir() string {
	base := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(base) {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		base = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(base, "hatchel", "sign-ins")
}

// store keeps the sign-in to one endpoint in a file of the user. Where the system keeps keys, the file is encrypted
// with a key of the user that is there.
type store struct{ dir, endpoint string }

// storedFile is the form of the file. One of its members is set.
type storedFile struct {
	Plain  *record `json:"sign_in,omitempty"`
	Sealed []byte  `json:"sealed,omitempty"` // a record, with the nonce before it
}

func (s *store) path(ending string) string {
	digest := sha256.Sum256([]byte(s.endpoint))
	return filepath.Join(s.dir, hex.EncodeToString(digest[:16])+ending)
}

// Lock excludes other processes that sign in or refresh for this endpoint, until unlock is called.
func (s *store) Lock(ctx context.Context, notes io.Writer) (unlock func(), err error) {
	if s.dir == "" {
		return nil, failf("tokens cannot be kept, because HOME is not set. Set it, or XDG_STATE_HOME; or set " +
			"HATCHEL_KEY to an API key or token")
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, failf("tokens cannot be kept: %s", err)
	}
	f, err := os.OpenFile(s.path(".lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, failf("tokens cannot be kept: %s", err)
	}
	locked, err := filelock.TryLock(f)
	if err == nil && !locked {
		fmt.Fprintln(notes, "hatchel: waiting for another hatchel that signs in to the same server")
		err = filelock.Lock(ctx, f)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

// Read returns what is kept; nil for nothing, and for what the key of the system does not open any more.
func (s *store) Read(ctx context.Context) (*record, error) {
	if s.dir == "" {
		return nil, nil
	}
	text, err := os.ReadFile(s.path(".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, failf("the kept token cannot be read: %s", err)
	}
	var stored storedFile
	if json.Unmarshal(text, &stored) != nil {
		return nil, nil // of another version, which the next sign-in replaces
	}
	r := stored.Plain
	if len(stored.Sealed) > 0 {
		key, err := systemKeyring().Find(ctx)
		if err != nil || key == nil {
			return nil, nil
		}
		if text, err = open(key, stored.Sealed, s.endpoint); err != nil || json.Unmarshal(text, &r) != nil {
			return nil, nil
		}
	}
	if r == nil || r.Endpoint != s.endpoint || !isToken(r.Access) {
		return nil, nil
	}
	return r, nil
}

// Write replaces what is kept, and returns where that is.
func (s *store) Write(ctx context.Context, r *record) (where string, err error) {
	stored := storedFile{Plain: r}
	where = s.path(".json") + " (only you can read it)"
	ring := systemKeyring()
	if key := ring.FindOrMake(ctx, s.dir); key != nil {
		text, err := json.Marshal(r)
		if err != nil {
			return "", err
		}
		if stored.Sealed, err = seal(key, text, s.endpoint); err != nil {
			return "", err
		}
		stored.Plain, where = nil, s.path(".json")+", encrypted with a key in the "+ring.name
	}
	text, err := json.Marshal(stored)
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp(s.dir, ".new-*") // with mode 0600
	if err != nil {
		return "", failf("tokens cannot be kept: %s", err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), s.path(".json"))
	}
	if err != nil {
		os.Remove(f.Name())
		return "", failf("tokens cannot be kept: %s", err)
	}
	return where, nil
}

// Remove forgets what is kept.
func (s *store) Remove() error {
	if err := os.Remove(s.path(".json")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failf("the kept token cannot be removed: %s", err)
	}
	return nil
}

func newGCM(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// seal encrypts a text for one name.
func seal(key, text []byte, name string) ([]byte, error) {
	gcm, err := newGCM(key)
	if err != nil {
		return nil, err
	}
	return gcm.Seal(nil, nil, text, []byte(name)), nil
}

func open(key, sealed []byte, name string) ([]byte, error) {
	gcm, err := newGCM(key)
	if err != nil {
		return nil, err
	}
	return gcm.Open(nil, nil, sealed, []byte(name))
}
