package files

import (
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"time"

	"hatchel/internal/lazyregexp"
	"hatchel/runtime/durable/state"
)

// downloadTTL is how long a signed download URL is valid, unless the file expires before.
const downloadTTL = time.Hour

// The HTTP methods that a signature allows.
const (
	allowGet = "GET"
	allowPut = "PUT"
)

// ErrSignature is returned for a URL without a valid signature, or whose time has passed.
var ErrSignature = errors.New("the URL is not signed, or has expired")

// signature returns the signature of a URL that allows a method for a file until expires.
func (s *Store) signature(ctx context.Context, method, id, expires string) (string, error) {
	store, err := s.process.Store(ctx)
	if err != nil {
		return "", err
	}
	secret, err := state.Secret(ctx, store)
	if err != nil {
		return "", err
	}
	key, err := hkdf.Key(sha256.New, secret, nil, "address of a file", sha256.Size)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(method + "\n" + id + "\n" + expires))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)), nil
}

// sign returns a signed URL below a path. It is relative to the server when path is.
func (s *Store) sign(ctx context.Context, method, path, id string, until time.Time) (string, error) {
	expires := strconv.FormatInt(until.Unix(), 10)
	text, err := s.signature(ctx, method, id, expires)
	if err != nil {
		return "", err
	}
	return path + id + "?" + url.Values{"expires": {expires}, "signature": {text}}.Encode(), nil
}

// SignedURL returns a signed download URL of a file: everyone who has it can read the file, for an hour
// at most. Without a base the URL is relative to the server.
func (s *Store) SignedURL(ctx context.Context, base string, f *File) (string, error) {
	until := slices.MinFunc([]time.Time{f.Expires, time.Now().Add(downloadTTL)}, time.Time.Compare)
	return s.sign(ctx, allowGet, base+"/files/", f.ID, until)
}

// FindSigned returns the file of a signed download URL. It fails with ErrSignature when the query
// holds no valid signature, and with [ErrNotFound] when there is no such file.
func (s *Store) FindSigned(ctx context.Context, id string, query url.Values) (*File, error) {
	if err := s.verify(ctx, allowGet, id, query); err != nil {
		return nil, err
	}
	return s.Find(ctx, id)
}

// verify returns ErrSignature unless the query holds a valid signature for this method, file and
// time.
func (s *Store) verify(ctx context.Context, method, id string, query url.Values) error {
	if !isID(id) || len(query["expires"]) != 1 || len(query["signature"]) != 1 {
		return ErrSignature
	}
	expires := query.Get("expires")
	until, err := strconv.ParseInt(expires, 10, 64)
	if err != nil || time.Now().Unix() >= until {
		return ErrSignature
	}
	want, err := s.signature(ctx, method, id, expires)
	if err == nil && !hmac.Equal([]byte(want), []byte(query.Get("signature"))) {
		err = ErrSignature
	}
	return err
}

var signatureParameter = lazyregexp.New(`signature=[A-Za-z0-9_-]{43}`)

// RedactSignatures replaces the signatures in a text, so that none of its URLs can be used.
func RedactSignatures(text string) string {
	return signatureParameter.ReplaceAllString(text, "signature=(hidden)")
}

// ticket is the body of the record of an upload that was announced.
type ticket struct {
	Name string `json:"name,omitempty"`
	Type string `json:"type,omitempty"`
	By   string `json:"by,omitempty"` // who has requested it, for the audit log
}

const ticketTTL = 15 * time.Minute

// Ticket returns a signed URL at which one file can be uploaded once, without credentials, and the
// ID that the file will have. Name and Type of u may say in advance what it will be. It fails with
// [ErrQuotaExceeded] when the owner has too many unused tickets.
func (s *Store) Ticket(ctx context.Context, u Upload) (id, address string, until time.Time, err error) {
	store, err := s.process.Store(ctx)
	if err != nil {
		return "", "", time.Time{}, err
	}
	t := ticket{By: u.By}
	if u.Name != "" {
		t.Name = CleanName(u.Name)
	}
	if u.Type != "" {
		t.Type = CleanType(u.Type)
	}
	body, err := json.Marshal(t)
	if err != nil {
		return "", "", time.Time{}, err
	}
	group := ownerGroup(u.Owner)
	n, err := store.Count(ctx, kindTicket, group)
	if err == nil && n >= maxFiles {
		err = ErrQuotaExceeded
	}
	if err != nil {
		return "", "", time.Time{}, err
	}
	id, until = newID(), time.Now().Add(ticketTTL).Truncate(time.Second)
	r := &state.Record{
		Kind: kindTicket, Name: id, Group: group, Due: until, Expires: until, Body: body,
		Priority: state.Low, NoNotify: true,
	}
	if _, err := store.Add(ctx, r); err != nil {
		return "", "", time.Time{}, err
	}
	address, err = s.sign(ctx, allowPut, u.Rules.BaseURL+"/files/uploads/", id, until)
	return id, address, until, err
}

// ConsumeTicket consumes the ticket of a signed upload URL and returns the upload that it is for. It fails
// with ErrSignature when the URL is not valid, with [ErrNotFound] when the ticket was used, and with
// [ErrTooManyUploads] when the owner has too many uploads in progress; then the ticket can be used later.
func (s *Store) ConsumeTicket(ctx context.Context, id string, query url.Values) (Upload, error) {
	if err := s.verify(ctx, allowPut, id, query); err != nil {
		return Upload{}, err
	}
	store, r, err := s.findRecord(ctx, kindTicket, id)
	if err != nil {
		return Upload{}, err
	}
	var t ticket
	if json.Unmarshal(r.Body, &t) != nil {
		return Upload{}, ErrNotFound
	}
	if !s.startUpload(r.Group) {
		return Upload{}, ErrTooManyUploads
	}
	s.endUpload(r.Group)
	r.NoNotify = true
	removed, err := store.Remove(ctx, r)
	if err == nil && !removed {
		err = ErrNotFound
	}
	if err != nil {
		return Upload{}, err
	}
	return Upload{Name: t.Name, Type: t.Type, By: t.By, id: id, group: r.Group}, nil
}
