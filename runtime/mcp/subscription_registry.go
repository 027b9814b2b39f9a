package mcp

import (
	"bytes"
	"maps"
	"slices"
	"sync"
)

// subscriptionRegistry finds the subscriptions that a change concerns.
type subscriptionRegistry struct {
	mu      sync.Mutex
	lists   index[string] // by toolset; guarded by mu
	byTopic index[topic]  // resources and tasks; guarded by mu
}

// index maps keys to sets of subscriptions.
type index[K comparable] map[K]map[*subscription]struct{}

func (i *index[K]) add(key K, sub *subscription) {
	if *i == nil {
		*i = make(index[K])
	}
	if (*i)[key] == nil {
		(*i)[key] = make(map[*subscription]struct{})
	}
	(*i)[key][sub] = struct{}{}
}

func (i index[K]) remove(key K, sub *subscription) {
	delete(i[key], sub)
	if len(i[key]) == 0 {
		delete(i, key)
	}
}

// addLists subscribes sub to the lists that it names.
func (r *subscriptionRegistry) addLists(sub *subscription) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !sub.closed && sub.lists != (Changes{}) {
		r.lists.add(sub.toolset, sub)
	}
}

// add subscribes sub to t.
func (r *subscriptionRegistry) add(sub *subscription, t topic) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !sub.closed {
		r.byTopic.add(t, sub)
		sub.topics[t] = struct{}{}
	}
}

// remove undoes add and drops a queued notification.
func (r *subscriptionRegistry) remove(sub *subscription, t topic) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byTopic.remove(t, sub)
	delete(sub.topics, t)
	sub.mailbox.drop(t)
}

// unsubscribe removes sub for good.
func (r *subscriptionRegistry) unsubscribe(sub *subscription) {
	r.mu.Lock()
	defer r.mu.Unlock()
	sub.closed = true
	r.lists.remove(sub.toolset, sub)
	for t := range sub.topics {
		r.byTopic.remove(t, sub)
	}
	sub.mailbox.close()
}

// notifyLists notifies all subscriptions of the changed lists of their toolset.
func (r *subscriptionRegistry) notifyLists(in func(toolset string) Changes) {
	r.mu.Lock()
	toolsets := slices.Collect(maps.Keys(r.lists))
	r.mu.Unlock()
	for _, toolset := range toolsets {
		c := in(toolset)
		if c == (Changes{}) {
			continue
		}
		r.mu.Lock()
		for sub := range r.lists[toolset] {
			sub.putChanges(c)
		}
		r.mu.Unlock()
	}
}

// renotify notifies sub of everything that it is subscribed to, because it may have missed a
// notification.
func (r *subscriptionRegistry) renotify(sub *subscription) {
	r.mu.Lock()
	defer r.mu.Unlock()
	sub.putChanges(sub.lists)
	for t := range sub.topics {
		sub.mailbox.put(t, nil)
	}
}

// notify notifies the subscriptions to a resource or a task.
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
