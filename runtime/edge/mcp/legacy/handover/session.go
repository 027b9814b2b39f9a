package handover

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"hatchel/runtime/edge/mcp"
)

// Store keeps what belongs to sessions for all processes of a server. Its methods are called
// concurrently. While it is unavailable, their error is [ErrUnavailable].
type Store interface {
	CallStore

	// LoadSession returns the record of a session and its version, which is 0 if there is none.
	LoadSession(ctx context.Context, name string) (body []byte, version int, err error)

	// SaveSession adds or replaces the record of a session of an owner, which is kept until a time. It
	// reports false, and changes nothing, if the record no longer has this version.
	SaveSession(ctx context.Context, name, owner string, body []byte, version int, until time.Time) (bool, error)

	// RemoveSession removes the record of a session, if there is one.
	RemoveSession(ctx context.Context, name string) error

	// SaveDeleted saves the names of sessions that their clients have ended, until a time.
	SaveDeleted(ctx context.Context, names []byte, until time.Time) error

	// LoadDeleted calls add with the names of each SaveDeleted, the latest first, until add returns
	// false.
	LoadDeleted(ctx context.Context, add func(names []byte) bool) error
}

// SessionRecord is what a session has that is not in its id.
type SessionRecord struct {
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
	Info         json.RawMessage `json:"info,omitempty"`
	Level        string          `json:"level,omitempty"`     // of log messages; empty for the default
	Resources    []string        `json:"resources,omitempty"` // that the client is subscribed to
}

// MaxSessionRecord is the maximum size of what the record of a session has of its client, in bytes.
const MaxSessionRecord = 4 << 10

// ErrRecordTooLarge is returned for a change after which the record would be too large.
var ErrRecordTooLarge = mcp.Errorf(mcp.CodeBusy, "The session keeps at most %d bytes, of which most are the URIs of "+
	"its subscriptions. Unsubscribe from a resource first", MaxSessionRecord)

// size returns how many bytes of the record the client determines.
func (r *SessionRecord) size() int {
	size := len(r.Capabilities) + len(r.Info)
	for _, uri := range r.Resources {
		size += len(uri)
	}
	return size
}

// Change applies a change to the record. It changes nothing if change fails, or if the record would be too large. One
// that is, which an earlier version of the program has stored, can still become smaller.
func (r *SessionRecord) Change(change func(*SessionRecord) error) error {
	changed := *r
	changed.Resources = slices.Clone(r.Resources)
	if err := change(&changed); err != nil {
		return err
	}
	if size := changed.size(); size > MaxSessionRecord && size > r.size() {
		return ErrRecordTooLarge
	}
	*r = changed
	return nil
}

// LoadSession returns the record of a session and its version, which is 0 if there is none.
func (r *Relay) LoadSession(ctx context.Context, name SessionName) (record SessionRecord, version int, err error) {
	body, version, err := r.store.LoadSession(ctx, name.String())
	if err == nil && version > 0 {
		err = json.Unmarshal(body, &record)
	}
	return record, version, err
}

// UpdateSession changes the record of a session of an owner, which is kept until a time. The function change is called
// again if another request has changed the record in the meantime, and changes nothing when it fails.
func (r *Relay) UpdateSession(
	ctx context.Context, name SessionName, owner string, until time.Time, change func(*SessionRecord) error,
) error {
	for {
		record, version, err := r.LoadSession(ctx, name)
		if err != nil {
			return err
		}
		if err := record.Change(change); err != nil {
			return err
		}
		body, err := json.Marshal(record)
		if err != nil {
			return err
		}
		saved, err := r.store.SaveSession(ctx, name.String(), owner, body, version, until)
		if saved || err != nil {
			return err
		}
	}
}
