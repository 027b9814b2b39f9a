package legacy

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/mcp/legacy/handover"
)

// saveClient saves what the client said about itself in the record of a new session.
func (t *sessions) saveClient(ctx context.Context, sess *session) error {
	if t.store == nil {
		return mcp.Errorf(mcp.CodeBusy, "params.clientInfo and params.capabilities have more than %d bytes, "+
			"and this server keeps no state", maxSealedSession-textsOffset)
	}
	err := t.updateRecord(ctx, sess, func(r *handover.SessionRecord) error {
		r.Capabilities, r.Info = sess.capabilities, sess.info
		return nil
	})
	if errors.Is(err, handover.ErrRecordTooLarge) {
		return mcp.InvalidParams("params.clientInfo, without its icons, and params.capabilities have more than %d "+
			"bytes", handover.MaxSessionRecord)
	}
	return err
}

// withoutIcons returns the info of a client without its icons, which may be whole images and which nothing shows.
func withoutIcons(info []byte) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(info, &members) != nil || members["icons"] == nil {
		return info
	}
	delete(members, "icons")
	shorter, err := json.Marshal(members)
	if err != nil {
		return info
	}
	return shorter
}

// loadClient reads what saveClient has saved. It reports false if there is no record.
func (t *sessions) loadClient(ctx context.Context, sess *session) (found bool, err error) {
	r, version, err := t.loadRecord(ctx, sess)
	sess.capabilities, sess.info = r.Capabilities, r.Info
	return version > 0, err
}

// loadRecord returns the record of a session and its version. Without a store it is the one in memory.
func (t *sessions) loadRecord(ctx context.Context, sess *session) (r handover.SessionRecord, version int, err error) {
	if t.store == nil {
		sess.mu.Lock()
		defer sess.mu.Unlock()
		r = sess.record
		r.Resources = slices.Clone(r.Resources)
		return r, 0, nil
	}
	return t.server.relay.LoadSession(ctx, sess.name)
}

// updateRecord changes the record of a session. The function change is called again if another
// request has changed the record in the meantime, and changes nothing when it fails.
func (t *sessions) updateRecord(ctx context.Context, sess *session, change func(*handover.SessionRecord) error) error {
	if t.store == nil {
		sess.mu.Lock()
		defer sess.mu.Unlock()
		return sess.record.Change(change)
	}
	return t.server.relay.UpdateSession(ctx, sess.name, sess.owner.Owner(), sess.expires, change)
}
