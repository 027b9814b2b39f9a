package mcp

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"sync"
)

// subscriptionRegistry finds the subscriptions that a change concerns.
type subscriptionRegistry struct {
	mu      sync.Mutex
	byTopic map[topic]map[*Subscription]struct{} // guarded by mu
}

// add subscribes sub to t.
func (r *subscriptionRegistry) add(sub *Subscription, t topic) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if sub.closed {
		return
	}
	if r.byTopic[t] == nil {
		r.byTopic[t] = make(map[*Subscription]struct{})
	}
	r.byTopic[t][sub] = struct{}{}
	if sub.topics == nil {
		sub.topics = make(map[topic]struct{})
	}
	sub.topics[t] = struct{}{}
}

// remove undoes add and drops a queued notification.
func (r *subscriptionRegistry) remove(sub *Subscription, t topic) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removeLocked(sub, t)
	sub.mailbox.drop(t)
}

func (r *subscriptionRegistry) removeLocked(sub *Subscription, t topic) {
	delete(sub.topics, t)
	delete(r.byTopic[t], sub)
	if len(r.byTopic[t]) == 0 {
		delete(r.byTopic, t)
	}
}

// unsubscribe removes sub for good.
func (r *subscriptionRegistry) unsubscribe(sub *Subscription) {
	r.mu.Lock()
	defer r.mu.Unlock()
	sub.closed = true
	for t := range sub.topics {
		r.removeLocked(sub, t)
	}
	sub.mailbox.close()
}

// pause ends the subscriptions of sub until it adds others, and drops its notifications.
func (r *subscriptionRegistry) pause(sub *Subscription) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for t := range sub.topics {
		r.removeLocked(sub, t)
		sub.mailbox.drop(t)
	}
}

// notifyLists notifies all subscriptions of the changed lists of their toolset.
func (r *subscriptionRegistry) notifyLists(in func(toolset string) Changes) {
	toolsets := make(map[string]bool)
	r.mu.Lock()
	for t := range r.byTopic {
		if t.kind <= resourceListTopic {
			toolsets[t.name] = true
		}
	}
	r.mu.Unlock()
	for toolset := range toolsets {
		c := in(toolset)
		for kind, changed := range []bool{c.Tools, c.Prompts, c.Resources} {
			if changed {
				r.notify(topic{topicKind(kind), toolset}, nil)
			}
		}
	}
}

// renotify notifies sub of everything of these kinds, and those after them, that it is subscribed to,
// because it may have missed a notification.
func (r *subscriptionRegistry) renotify(sub *Subscription, kinds topicKind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	byKind := func(a, b topic) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name)) }
	for _, t := range slices.SortedFunc(maps.Keys(sub.topics), byKind) {
		if t.kind >= kinds {
			sub.mailbox.put(t, nil)
		}
	}
}

// has reports whether there are subscriptions to a topic.
func (r *subscriptionRegistry) has(t topic) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.byTopic[t]) > 0
}

// notifySome notifies the subscriptions to a resource: those of callers whom of selects, nil for all.
func (r *subscriptionRegistry) notifySome(t topic, of func(*Caller) bool) {
	if of == nil {
		r.notify(t, nil)
		return
	}
	r.mu.Lock()
	subscribers := slices.Collect(maps.Keys(r.byTopic[t]))
	r.mu.Unlock()
	for _, sub := range subscribers {
		if !sub.readsAs(t.name, of) { // takes the lock of sub, which add is called with
			continue
		}
		r.mu.Lock()
		if _, still := r.byTopic[t][sub]; still {
			sub.mailbox.put(t, nil)
		}
		r.mu.Unlock()
	}
}

// notify notifies the subscriptions to a topic.
func (r *subscriptionRegistry) notify(t topic, payload []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	subscribers := r.byTopic[t]
	if len(subscribers) == 0 {
		return
	}
	payload = bytes.Clone(payload)
	for sub := range subscribers {
		sub.mailbox.put(t, sub.limitPayload(payload))
	}
}
