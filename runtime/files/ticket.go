package files

import (
	"context"
	"encoding/json"
	"net/url"
	"time"

	"hatchel/runtime/state"
)

// ticket is what was said of a file that is to be uploaded to a signed address.
type ticket struct {
	Name string `json:"name,omitempty"`
	Type string `json:"type,omitempty"`
	By   string `json:"by,omitempty"` // who has asked for it, for the audit log
}

const ticketTime = 15 * time.Minute

// Ticket is a signed address to which one file can be uploaded, once, and by who has no credential. What it is called and of what type it is can be said before. It is ErrCrowded when the owner has
// asked for many that are still good.
func (s *Shelf) Ticket(ctx context.Context, u Upload) (id, address string, until time.Time, err error) {
	store, err := s.open(ctx)
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
	group := groupOf(u.Owner)
	if n, err := store.Count(ctx, kindTicket, group); err != nil || n >= mostFiles {
		return "", "", time.Time{}, crowded(err)
	}
	id, until = newID(), time.Now().Add(ticketTime).Truncate(time.Second)
	if _, err := store.Add(ctx, &state.Record{Kind: kindTicket, Name: id, Group: group, Due: until, Expires: until, Body: body, Yields: true, Quiet: true}); err != nil {
		return "", "", time.Time{}, err
	}
	address, err = s.sign(ctx, mayUpload, u.Rules.BaseURL+"/files/uploads/", id, until)
	return id, address, until, err
}

func crowded(err error) error {
	if err == nil {
		err = ErrCrowded
	}
	return err
}

// Redeem is the upload that a signed address is for, which it is once: ErrSignature when it is not good, ErrUnknown when it was used, and ErrAtOnce when it can be used later.
func (s *Shelf) Redeem(ctx context.Context, id string, query url.Values) (Upload, error) {
	if ok, err := s.signed(ctx, mayUpload, id, query); err != nil || !ok {
		return Upload{}, unsigned(err)
	}
	store, err := s.open(ctx)
	if err != nil {
		return Upload{}, err
	}
	r, err := store.Record(ctx, kindTicket, id)
	if err != nil {
		return Upload{}, err
	}
	var t ticket
	if r == nil || json.Unmarshal(r.Body, &t) != nil {
		return Upload{}, ErrUnknown
	}
	if !s.enter(r.Group) { // the address stays good
		return Upload{}, ErrAtOnce
	}
	s.leave(r.Group)
	r.Quiet = true
	if first, err := store.Remove(ctx, r); err != nil {
		return Upload{}, err
	} else if !first {
		return Upload{}, ErrUnknown
	}
	return Upload{Name: t.Name, Type: t.Type, By: t.By, id: id, group: r.Group}, nil
}
