package mcp

import "time"

// The limits of what is known of sessions that their clients have ended.
const (
	maxDeleted     = 100_000
	deletedTimeout = 24 * time.Hour
)

// deletedSessions are the sessions that their clients have ended. Their ids are valid until they
// expire, so this only keeps clients from using them by mistake. The oldest ones are forgotten.
type deletedSessions struct {
	names map[sessionName]struct{}
	order []deletedSession // oldest first
}

type deletedSession struct {
	name sessionName
	at   time.Time
}

func (d *deletedSessions) has(name sessionName) bool {
	_, deleted := d.names[name]
	return deleted
}

func (d *deletedSessions) add(name sessionName) {
	if d.has(name) {
		return
	}
	if d.names == nil {
		d.names = make(map[sessionName]struct{})
	}
	now := time.Now()
	d.names[name] = struct{}{}
	d.order = append(d.order, deletedSession{name, now})
	for len(d.order) > maxDeleted || now.Sub(d.order[0].at) > deletedTimeout {
		delete(d.names, d.order[0].name)
		d.order = d.order[1:]
	}
}
