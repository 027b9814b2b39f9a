package mcp

import (
	"bytes"
	"maps"
	"slices"
	"sync"
)

// audience are the subscriptions that something may have to be told to.
type audience struct {
	mu     sync.Mutex
	lists  index[string] // by toolset; guarded by mu
	topics index[topic]  // the documents and tasks; guarded by mu
}

// index finds the subscriptions that share something.
type index[K comparable] map[K]map[*subscription]struct{}

func (i *index[K]) add(key K, u *subscription) {
	if *i == nil {
		*i = make(index[K])
	}
	if (*i)[key] == nil {
		(*i)[key] = make(map[*subscription]struct{})
	}
	(*i)[key][u] = struct{}{}
}

func (i index[K]) remove(key K, u *subscription) {
	delete(i[key], u)
	if len(i[key]) == 0 {
		delete(i, key)
	}
}

// joinLists has u hear of the lists it wants to hear of, from now on.
func (a *audience) joinLists(u *subscription) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !u.gone && u.lists != (Changes{}) {
		a.lists.add(u.toolset, u)
	}
}

// join has u hear of t from now on.
func (a *audience) join(u *subscription, t topic) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !u.gone {
		a.topics.add(t, u)
		u.topics[t] = struct{}{}
	}
}

// leave undoes join.
func (a *audience) leave(u *subscription, t topic) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.topics.remove(t, u)
	delete(u.topics, t)
	u.box.drop(t)
}

// part ends what u hears, for good.
func (a *audience) part(u *subscription) {
	a.mu.Lock()
	defer a.mu.Unlock()
	u.gone = true
	a.lists.remove(u.toolset, u)
	for t := range u.topics {
		a.topics.remove(t, u)
	}
	u.box.close()
}

// changed tells everybody about the lists of their toolset.
func (a *audience) changed(in func(toolset string) Changes) {
	a.mu.Lock()
	toolsets := slices.Collect(maps.Keys(a.lists))
	a.mu.Unlock()
	for _, toolset := range toolsets {
		c := in(toolset)
		if c == (Changes{}) {
			continue
		}
		a.mu.Lock()
		for u := range a.lists[toolset] {
			u.changed(c)
		}
		a.mu.Unlock()
	}
}

// repeat tells u of everything that it hears of, because it may have missed something.
func (a *audience) repeat(u *subscription) {
	a.mu.Lock()
	defer a.mu.Unlock()
	u.changed(u.lists)
	for t := range u.topics {
		u.box.put(t, nil)
	}
}

// tell leaves a message about a document or a task for who wants to hear of it.
func (a *audience) tell(t topic, said []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.topics[t]
	if len(all) == 0 {
		return
	}
	said = bytes.Clone(said)
	for u := range all {
		u.box.put(t, u.waiting(said))
	}
}
