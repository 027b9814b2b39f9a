package files

import (
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"hatchel/runtime/state"
)

// linkTime is how long the signed address of a file is good, unless the file expires before.
const linkTime = time.Hour

// What a signature lets its holder do.
const (
	mayRead   = "GET"
	mayUpload = "PUT"
)

// signature is that of what may be done until then, as it stands in an address.
func signature(ctx context.Context, store state.Store, may, id, expires string) (string, error) {
	secret, err := state.Secret(ctx, store)
	if err != nil {
		return "", err
	}
	key, err := hkdf.Key(sha256.New, secret, nil, "address of a file", sha256.Size)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(may + "\n" + id + "\n" + expires))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)), nil
}

// sign is the address of a file or of an upload, with a signature: an absolute one where it is known how others reach the server, else one that is relative to it.
func (s *Shelf) sign(ctx context.Context, may, path, id string, until time.Time) (string, error) {
	store, err := s.open(ctx)
	if err != nil {
		return "", err
	}
	expires := strconv.FormatInt(until.Unix(), 10)
	text, err := signature(ctx, store, may, id, expires)
	if err != nil {
		return "", err
	}
	return path + id + "?" + url.Values{"expires": {expires}, "signature": {text}}.Encode(), nil
}

// Link is a signed address of a file: who has it reads the file, for linkTime at most.
func (s *Shelf) Link(ctx context.Context, base string, f *File) (string, error) {
	until := time.Now().Add(linkTime)
	if f.Expires.Before(until) {
		until = f.Expires
	}
	return s.sign(ctx, mayRead, base+"/files/", f.ID, until)
}

// FindSigned returns the file of a signed address that is good for now, or ErrSignature, or ErrUnknown.
func (s *Shelf) FindSigned(ctx context.Context, id string, query url.Values) (*File, error) {
	if ok, err := s.signed(ctx, mayRead, id, query); err != nil || !ok {
		return nil, unsigned(err)
	}
	return s.Find(ctx, id)
}

func unsigned(err error) error {
	if err == nil {
		err = ErrSignature
	}
	return err
}

// ErrSignature is why an address is not good: nobody has signed it, or it has expired.
var ErrSignature = errors.New("the address is not signed, or has expired")

// signed reports whether an address is signed, for this and for now.
func (s *Shelf) signed(ctx context.Context, may, id string, query url.Values) (bool, error) {
	if !isID(id) || len(query["expires"]) != 1 || len(query["signature"]) != 1 {
		return false, nil
	}
	expires := query.Get("expires")
	until, err := strconv.ParseInt(expires, 10, 64)
	if err != nil || time.Now().Unix() >= until {
		return false, nil
	}
	store, err := s.open(ctx)
	if err != nil {
		return false, err
	}
	want, err := signature(ctx, store, may, id, expires)
	return err == nil && hmac.Equal([]byte(want), []byte(query.Get("signature"))), err
}

var signatures = regexp.MustCompile(`signature=[A-Za-z0-9_-]{43}`)

// Unsigned is a text in which no signed address is good, for those who are shown what is sent.
func Unsigned(text string) string { return signatures.ReplaceAllString(text, "signature=(hidden)") }
