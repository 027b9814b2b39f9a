package mcp

import "sync"

// mailbox holds what one recipient has not been told yet, in the order in which it came up: of everything it can hear about at most once, and only
// the latest. So one that does not read costs no more than what it has asked for, loses nothing, and delays nobody.
type mailbox struct {
	ready func() // called when there is something to take and was not before. It must not block

	mu    sync.Mutex
	state boxState         // guarded by mu
	order []topic          // what there is to take; guarded by mu
	said  map[topic][]byte // what is to be said of a topic, nil for nothing or what is looked up when it is taken; guarded by mu
}

type boxState int

const (
	boxWaiting boxState = iota // for the recipient to be ready
	boxOpen
	boxClosed
)

// topic is something that can change.
type topic struct {
	kind topicKind
	name string // the URI of a document, or the id of a task
}

type topicKind int

const (
	toolsTopic topicKind = iota
	promptsTopic
	resourcesTopic
	documentTopic
	taskTopic
)

// put leaves a message about t, which replaces one that has not been taken.
func (b *mailbox) put(t topic, said []byte) {
	b.leave(t, said, true)
}

// putFirst is put for what may be older than a message about t that is there already.
func (b *mailbox) putFirst(t topic, said []byte) {
	b.leave(t, said, false)
}

func (b *mailbox) leave(t topic, said []byte, newer bool) {
	b.mu.Lock()
	_, there := b.said[t]
	if b.state == boxClosed || there && !newer {
		b.mu.Unlock()
		return
	}
	if !there {
		b.order = append(b.order, t)
	}
	if b.said == nil {
		b.said = make(map[topic][]byte)
	}
	b.said[t] = said
	call := b.state == boxOpen && len(b.order) == 1 && !there
	b.mu.Unlock()
	if call {
		b.ready()
	}
}

// drop takes back what has not been taken about t.
func (b *mailbox) drop(t topic) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, there := b.said[t]; !there {
		return
	}
	delete(b.said, t)
	for i := range b.order {
		if b.order[i] == t {
			b.order = append(b.order[:i], b.order[i+1:]...)
			return
		}
	}
}

// open says that the recipient is ready for what is there and for what will come.
func (b *mailbox) open() {
	b.mu.Lock()
	call := b.state == boxWaiting && len(b.order) > 0
	if b.state == boxWaiting {
		b.state = boxOpen
	}
	b.mu.Unlock()
	if call {
		b.ready()
	}
}

// close drops what is there and what will come.
func (b *mailbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state, b.order, b.said = boxClosed, nil, nil
}

// take takes up to most of what is there, if the box is open, and reports whether that leaves more.
func (b *mailbox) take(most int) (taken []notice, more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state != boxOpen || len(b.order) == 0 {
		return nil, false
	}
	n := min(most, len(b.order))
	taken = make([]notice, n)
	for i, t := range b.order[:n] {
		taken[i] = notice{t, b.said[t]}
		delete(b.said, t)
	}
	if n == len(b.order) {
		b.order, b.said = nil, nil
		return taken, false
	}
	b.order = b.order[n:]
	return taken, true
}

// notice is what there is to tell about a topic.
type notice struct {
	topic topic
	said  []byte
}
