package legacy

import (
	"hatchel/runtime/mcp"

	"context"
	"encoding/json"
	"slices"
	"time"
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

// sessionRecord is what a session has that is not in its id.
type sessionRecord struct {
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
	Info         json.RawMessage `json:"info,omitempty"`
	Level        string          `json:"level,omitempty"`     // of log messages; empty for the default
	Resources    []string        `json:"resources,omitempty"` // that the client is subscribed to
}

// saveClient saves what the client said about itself in the record of a new session.
func (t *sessions) saveClient(ctx context.Context, sess *session) error {
	if t.store == nil {
		return mcp.Errorf(mcp.CodeBusy, "params.clientInfo and params.capabilities have more than %d bytes, "+
			"and this server keeps no state", maxSealedSession-textsOffset)
	}
	return t.updateRecord(ctx, sess, func(r *sessionRecord) error {
		r.Capabilities, r.Info = sess.capabilities, sess.info
		return nil
	})
}

// loadClient reads what saveClient has saved. It reports false if there is no record.
func (t *sessions) loadClient(ctx context.Context, sess *session) (found bool, err error) {
	r, version, err := t.loadRecord(ctx, sess)
	sess.capabilities, sess.info = r.Capabilities, r.Info
	return version > 0, err
}

// loadRecord returns the record of a session and its version. Without a store it is the one in memory.
func (t *sessions) loadRecord(ctx context.Context, sess *session) (r sessionRecord, version int, err error) {
	if t.store == nil {
		sess.mu.Lock()
		defer sess.mu.Unlock()
		r = sess.record
		r.Resources = slices.Clone(r.Resources)
		return r, 0, nil
	}
	body, version, err := t.store.LoadSession(ctx, sess.name.String())
	if err == nil && version > 0 {
		err = json.Unmarshal(body, &r)
	}
	return r, version, err
}

// updateRecord changes the record of a session. The function change is called again if another
// request has changed the record in the meantime, and changes nothing when it fails.
func (t *sessions) updateRecord(ctx context.Context, sess *session, change func(*sessionRecord) error) error {
	if t.store == nil {
		sess.mu.Lock()
		defer sess.mu.Unlock()
		return change(&sess.record)
	}
	for {
		r, version, err := t.loadRecord(ctx, sess)
		if err != nil {
			return err
		}
		if err := change(&r); err != nil {
			return err
		}
		body, err := json.Marshal(r)
		if err != nil {
			return err
		}
		owner := sess.owner.Owner()
		saved, err := t.store.SaveSession(ctx, sess.name.String(), owner, body, version, sess.expires)
		if saved || err != nil {
			return err
		}
	}
}
