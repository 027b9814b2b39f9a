package legacy

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"time"

	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/mcp/legacy/handover"
)

// The limits of session ids.
const (
	sessionLife      = 30 * 24 * time.Hour
	maxSealedSession = 1500 // bytes of an id before it is encoded; what is larger is in the record of the session
	maxSessionID     = 2200 // bytes of a header
)

// A session id is the session itself, sealed for its toolset and its owner, so that each process with
// the key knows every session, also after a restart: the name, the expiry, the revision, whether the
// texts are in the record of the session, the size of the capabilities, the capabilities, and the
// client info.
const (
	expiryOffset   = len(handover.SessionName{})
	revisionOffset = expiryOffset + 8
	storedOffset   = revisionOffset + len(mcp.Revision20251125)
	sizeOffset     = storedOffset + 1
	textsOffset    = sizeOffset + 4
)

// sessionUse is what an id is sealed for. No name of a toolset has a line break.
func sessionUse(toolset string, owner *mcp.Identity) string {
	return "session\n" + toolset + "\n" + owner.Owner()
}

// newID names a new session and sets its id. Texts that are too large for a header are saved in the
// record of the session.
func (t *sessions) newID(ctx context.Context, sess *session) error {
	rand.Read(sess.name[:])
	sess.expires = time.Now().Add(sessionLife)
	if textsOffset+len(sess.capabilities)+len(sess.info) > maxSealedSession {
		sess.info = withoutIcons(sess.info)
	}
	plain := make([]byte, 0, textsOffset+len(sess.capabilities)+len(sess.info))
	plain = append(plain, sess.name[:]...)
	plain = binary.BigEndian.AppendUint64(plain, uint64(sess.expires.UnixMilli()))
	plain = append(append(plain, sess.revision...), 0)
	plain = binary.BigEndian.AppendUint32(plain, uint32(len(sess.capabilities)))
	plain = append(append(plain, sess.capabilities...), sess.info...)
	if len(plain) > maxSealedSession {
		plain = plain[:textsOffset]
		plain[storedOffset] = 1
		if err := t.saveClient(ctx, sess); err != nil {
			return err
		}
	}
	sess.id = t.sealer.Seal(plain, sessionUse(sess.toolset, sess.owner))
	return nil
}

// openID returns the session that an id was given to in this toolset, or nil. If stored is set, the
// texts are in the record of the session.
func (t *sessions) openID(id, toolset string, owner *mcp.Identity) (sess *session, stored bool) {
	if len(id) > maxSessionID {
		return nil, false
	}
	plain, ok := t.sealer.Open(id, sessionUse(toolset, owner))
	if !ok {
		return nil, false
	}
	expires := time.UnixMilli(int64(binary.BigEndian.Uint64(plain[expiryOffset:])))
	if !time.Now().Before(expires) {
		return nil, false
	}
	sess = &session{
		peer: peer{server: t.server, toolset: toolset, revision: mcp.Revision(plain[revisionOffset:storedOffset])},
		name: handover.SessionName(plain[:expiryOffset]), id: id, expires: expires,
		owner: owner.WithoutToken(), reopened: true,
	}
	sess.logLevel.Store(levelUnknown)
	texts, size := plain[textsOffset:], binary.BigEndian.Uint32(plain[sizeOffset:])
	if stored = plain[storedOffset] != 0; !stored {
		sess.capabilities, sess.info = nonEmpty(texts[:size]), nonEmpty(texts[size:])
	}
	return sess, stored
}

// nonEmpty returns a text, and nil for an empty one.
func nonEmpty(text []byte) []byte {
	if len(text) == 0 {
		return nil
	}
	return text[:len(text):len(text)]
}
