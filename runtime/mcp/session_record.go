package mcp

import (
	"context"
	"encoding/json"
	"time"
)

// SessionStore keeps the records of sessions for all processes of a server. Its methods are called
// concurrently.
type SessionStore interface {
	// LoadSession returns the record of a session and its version, which is 0 if there is none.
	LoadSession(ctx context.Context, name string) (body []byte, version int, err error)

	// SaveSession adds or replaces the record of a session of an owner, which is kept until a time. It
	// reports false, and changes nothing, if the record no longer has this version.
	SaveSession(ctx context.Context, name, owner string, body []byte, version int, until time.Time) (bool, error)
}

// sessionRecord is what a session has that does not fit in its id.
type sessionRecord struct {
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
	Info         json.RawMessage `json:"info,omitempty"`
}

// saveClient saves what the client said about itself in the record of a new session.
func (t *sessions) saveClient(ctx context.Context, sess *session) error {
	if t.store == nil {
		return errorf(CodeBusy, "params.clientInfo and params.capabilities have more than %d bytes, "+
			"and this server keeps no sessions", maxSealedSession-textsOffset)
	}
	body, err := json.Marshal(sessionRecord{Capabilities: sess.capabilities, Info: sess.info})
	if err != nil {
		return err
	}
	_, err = t.store.SaveSession(ctx, sess.name.String(), sess.owner.Owner(), body, 0, sess.expires)
	return err
}

// loadClient reads what saveClient has saved. It reports false if the record is gone.
func (t *sessions) loadClient(ctx context.Context, sess *session) (found bool, err error) {
	if t.store == nil {
		return false, nil
	}
	body, version, err := t.store.LoadSession(ctx, sess.name.String())
	if err != nil || version == 0 {
		return false, err
	}
	var record sessionRecord
	if err := json.Unmarshal(body, &record); err != nil {
		return false, err
	}
	sess.capabilities, sess.info = record.Capabilities, record.Info
	return true, nil
}
