package files

import (
	"context"
	"encoding/json"
	"net/url"
	"time"

	"hatchel/runtime/state"
)

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
	store, err := s.process.Store(ctx)
	if err != nil {
		return Upload{}, err
	}
	r, err := store.Record(ctx, kindTicket, id)
	if err != nil {
		return Upload{}, err
	}
	var t ticket
	if r == nil || json.Unmarshal(r.Body, &t) != nil {
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
