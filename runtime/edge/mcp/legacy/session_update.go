package legacy

import (
	"context"
	"slices"
	"time"

	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/mcp/legacy/handover"
)

// The log level and the resources of a session are in its record. A process reads the level when a call is
// about to send its first message, and the resources when the client begins to read the session's own
// stream here, or when another process has changed them.

// readLevelTimeout is how long a message waits for the level of its session.
const readLevelTimeout = 2 * time.Second

// readLevel reads the level from the record.
func (sess *session) readLevel(ctx context.Context) int {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readLevelTimeout)
	defer cancel()
	r, _, err := sess.table.loadRecord(ctx, sess)
	if err != nil {
		return defaultLogLevel
	}
	level := max(slices.Index(mcp.LogLevels, r.Level), 0)
	if level == 0 {
		level = defaultLogLevel
	}
	sess.logLevel.CompareAndSwap(levelUnknown, int32(level))
	return level
}

func (sess *session) saveLevel(ctx context.Context, level string) error {
	return sess.table.updateRecord(ctx, sess, func(r *handover.SessionRecord) error {
		r.Level = level
		return nil
	})
}

// recordChanged follows the resources in the record that another process has changed, in the background.
func (sess *session) recordChanged(ctx context.Context) {
	if sess.isRead() && sess.stale.CompareAndSwap(false, true) {
		sess.uses.Add(1)
		sess.server.work.start(func() {
			defer sess.release()
			sess.stale.Store(false)
			sess.updateResources(ctx)
		})
	}
}

// updateShared changes the record and notifies the other processes.
func (sess *session) updateShared(ctx context.Context, change func(*handover.SessionRecord) error) error {
	err := sess.table.updateRecord(ctx, sess, change)
	if err == nil {
		sess.server.relay.Broadcast(ctx, &handover.Message{Kind: handover.KindChanged, Session: sess.name})
	}
	return err
}

// subscribe adds a resource to the record, if the Handler lets the caller follow it.
func (sess *session) subscribe(ctx context.Context, c *mcp.Caller, uri string) error {
	if err := sess.server.core.Follow(ctx, c, uri); err != nil {
		return err
	}
	defer sess.server.core.Unfollow(c, uri) // last, so that the reader misses nothing
	err := sess.updateShared(ctx, func(r *handover.SessionRecord) error {
		switch {
		case slices.Contains(r.Resources, uri):
		case len(r.Resources) >= mcp.MaxResources:
			return mcp.ErrTooManyResources
		default:
			r.Resources = append(r.Resources, uri)
		}
		return nil
	})
	if err == nil {
		err = sess.updateResources(ctx)
	}
	return err
}

// unsubscribe undoes subscribe.
func (sess *session) unsubscribe(ctx context.Context, uri string) error {
	err := sess.updateShared(ctx, func(r *handover.SessionRecord) error {
		r.Resources = slices.DeleteFunc(r.Resources, func(other string) bool { return other == uri })
		return nil
	})
	if err == nil {
		err = sess.updateResources(ctx)
	}
	return err
}

// updateResources follows the resources in the record if the client reads the session's own stream
// here, and none otherwise. Resources that the reader may no longer follow are left out.
func (sess *session) updateResources(ctx context.Context) error {
	sess.updating.Lock()
	defer sess.updating.Unlock()
	sess.mu.Lock()
	reader := sess.reader
	sess.mu.Unlock()
	if reader == nil {
		sess.subscription.KeepResources(nil)
		return nil
	}
	r, _, err := sess.table.loadRecord(ctx, sess)
	if err != nil {
		return err
	}
	sess.subscription.KeepResources(r.Resources)
	for _, uri := range r.Resources {
		sess.subscription.AddResource(ctx, reader, uri)
	}
	return nil
}
