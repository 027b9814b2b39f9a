package mcp

import (
	"slices"
	"sync"
)

// mailbox is the queue of notifications for one recipient. It contains at most one notification
// about a topic, the latest. So a recipient that does not read takes bounded memory, loses nothing
// and delays nobody.
type mailbox struct {
	mu       sync.Mutex
	ready    func()           // as in open; nil before; guarded by mu
	closed   bool             // guarded by mu
	order    []topic          // of the queued notifications; guarded by mu
	payloads map[topic][]byte // of the queued notifications; nil for none, or if it is looked up later; guarded by mu
}

// topic is something that can change.
type topic struct {
	kind topicKind
	name string // the toolset of a list, the URI of a resource, or the id of a task
}

type topicKind int

const (
	toolListTopic topicKind = iota
	promptListTopic
	resourceListTopic
	resourceTopic
	taskTopic
)

// notice is a notification about a topic.
type notice struct {
	topic   topic
	payload []byte
}

// put queues a notification. It replaces a queued one about the same topic.
func (b *mailbox) put(t topic, payload []byte) { b.enqueue(t, payload, true) }

// putIfAbsent is put for a notification that may be older than one that is queued.
func (b *mailbox) putIfAbsent(t topic, payload []byte) { b.enqueue(t, payload, false) }

func (b *mailbox) enqueue(t topic, payload []byte, replace bool) {
	b.mu.Lock()
	_, queued := b.payloads[t]
	if b.closed || queued && !replace {
		b.mu.Unlock()
		return
	}
	if !queued {
		b.order = append(b.order, t)
	}
	if b.payloads == nil {
		b.payloads = make(map[topic][]byte)
	}
	b.payloads[t] = payload
	ready, first := b.ready, len(b.order) == 1 && !queued
	b.mu.Unlock()
	if ready != nil && first {
		ready()
	}
}

// drop removes a queued notification about t.
func (b *mailbox) drop(t topic) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, queued := b.payloads[t]; !queued {
		return
	}
	delete(b.payloads, t)
	b.order = slices.DeleteFunc(b.order, func(queued topic) bool { return queued == t })
}

// open starts the delivery: ready is called whenever there is something to take after there was
// nothing. It must not block.
func (b *mailbox) open(ready func()) {
	b.mu.Lock()
	b.ready = ready
	waiting := len(b.order) > 0
	b.mu.Unlock()
	if waiting {
		ready()
	}
}

// close drops all notifications, queued and future.
func (b *mailbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed, b.order, b.payloads = true, nil, nil
}

// take removes up to limit notifications, if the mailbox is open, and reports whether there are
// more.
func (b *mailbox) take(limit int) (notices []notice, more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ready == nil || len(b.order) == 0 {
		return nil, false
	}
	n := min(limit, len(b.order))
	notices = make([]notice, n)
	for i, t := range b.order[:n] {
		notices[i] = notice{t, b.payloads[t]}
		delete(b.payloads, t)
	}
	if n == len(b.order) {
		b.order, b.payloads = nil, nil
		return notices, false
	}
	b.order = b.order[n:]
	return notices, true
}
