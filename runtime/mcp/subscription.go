package mcp

import (
	"strconv"

	"hatchel/hcl/jsonscan"
)

// subscription is what one recipient is promised to hear: a client of the legacy era as long as it is there, or one subscriptions/listen.
type subscription struct {
	id      []byte // of the subscriptions/listen, as sent; nil for a client of the legacy era
	toolset string
	lists   Changes // the lists it wants to hear of
	box     mailbox
	follows follows
	looks   func(id string) ([]byte, error) // looks up how a task stands, where that may take a moment; nil where it may not

	topics map[topic]struct{} // the documents and tasks it hears of; guarded by audience.mu
	gone   bool               // guarded by audience.mu
}

// newSubscription returns one that hears nothing yet. Who has it must end it.
func (s *Server) newSubscription(toolset string, id []byte) *subscription {
	u := &subscription{id: id, toolset: toolset, topics: make(map[topic]struct{})}
	u.follows = follows{subscription: u, server: s}
	return u
}

// deliver has ready called, which must not block, whenever there is something to take and was not before.
func (u *subscription) deliver(ready func()) {
	u.box.ready = ready
	u.box.open()
}

// hearOfLists has the recipient hear of the lists it wants to hear of, from now on.
func (u *subscription) hearOfLists() { u.follows.server.audience.joinLists(u) }

// end is the end of the subscription, for good. It may be called again.
func (u *subscription) end() {
	u.follows.server.audience.part(u)
	u.follows.end()
}

func (u *subscription) changed(c Changes) {
	if c.Tools && u.lists.Tools {
		u.box.put(topic{kind: toolsTopic}, nil)
	}
	if c.Prompts && u.lists.Prompts {
		u.box.put(topic{kind: promptsTopic}, nil)
	}
	if c.Resources && u.lists.Resources {
		u.box.put(topic{kind: resourcesTopic}, nil)
	}
}

// take calls each with up to most of the messages in the mailbox, whose memory is reused, and reports whether it leaves more.
func (u *subscription) take(most int, each func(frame []byte)) (more bool) {
	taken, more := u.box.take(most)
	if len(taken) == 0 {
		return false
	}
	b := borrow()
	defer b.release()
	for _, n := range taken {
		if n.topic.kind == taskTopic && n.said == nil && u.looks != nil {
			var err error
			if n.said, err = u.looks(n.topic.name); err != nil {
				continue // it is forgotten
			}
		}
		if n.topic.kind == documentTopic && !u.follows.heard(n.topic.name) {
			continue
		}
		b.b = u.notification(b.b[:0], n.topic, n.said)
		each(b.b)
	}
	return more
}

// mostSaid is how many bytes about a task wait for who can look at it later.
const mostSaid = 1 << 10

// waiting is what waits to be said of a task: nil when it is looked up in its time, so that one who listens to many tasks and is slow holds little.
func (u *subscription) waiting(said []byte) []byte {
	if u.looks != nil && len(said) > mostSaid {
		return nil
	}
	return said
}

// listFilters are how a subscriptions/listen names the lists.
var listFilters = [...]string{toolsTopic: "toolsListChanged", promptsTopic: "promptsListChanged", resourcesTopic: "resourcesListChanged"}

// topicMethods are the notifications that something has changed.
var topicMethods = [...]string{
	toolsTopic:     "notifications/tools/list_changed",
	promptsTopic:   "notifications/prompts/list_changed",
	resourcesTopic: "notifications/resources/list_changed",
	documentTopic:  "notifications/resources/updated",
	taskTopic:      "notifications/tasks",
}

// notification appends the message that t reads differently now.
func (u *subscription) notification(dst []byte, t topic, said []byte) []byte {
	dst = append(append(append(dst, `{"jsonrpc":"2.0","method":"`...), topicMethods[t.kind]...), '"')
	if u.id == nil {
		if t.kind == documentTopic {
			dst = append(jsonscan.AppendString(append(dst, `,"params":{"uri":`...), t.name), '}')
		}
		return append(dst, '}')
	}
	dst = u.appendID(append(dst, `,"params":{"_meta":{`...))
	dst = append(dst, '}')
	switch t.kind {
	case documentTopic:
		dst = jsonscan.AppendString(append(dst, `,"uri":`...), t.name)
	case taskTopic:
		dst = append(append(dst, ','), said...)
	}
	return append(dst, "}}"...)
}

// appendID appends the member of _meta that says which subscriptions/listen a message belongs to.
func (u *subscription) appendID(dst []byte) []byte {
	return append(append(dst, `"`+keySubscriptionID+`":`...), u.id...)
}

// acknowledged is the first message to who listens: what it will hear of.
func (u *subscription) acknowledged(uris, tasks []string) []byte {
	dst := u.appendID([]byte(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{`))
	dst = append(dst, `},"notifications":{`...)
	start := len(dst)
	for i, wanted := range []bool{u.lists.Tools, u.lists.Prompts, u.lists.Resources} {
		if wanted {
			dst = append(strconv.AppendQuote(comma(dst, start), listFilters[i]), ":true"...)
		}
	}
	for _, m := range []struct {
		name  string
		names []string
	}{{"resourceSubscriptions", uris}, {"taskIds", tasks}} {
		for i, name := range m.names {
			if i == 0 {
				dst = append(strconv.AppendQuote(comma(dst, start), m.name), ":["...)
			} else {
				dst = append(dst, ',')
			}
			dst = jsonscan.AppendString(dst, name)
		}
		if len(m.names) > 0 {
			dst = append(dst, ']')
		}
	}
	return append(dst, "}}}"...)
}

// comma appends a comma unless nothing follows start.
func comma(dst []byte, start int) []byte {
	if len(dst) == start {
		return dst
	}
	return append(dst, ',')
}

// ended is the reply to subscriptions/listen, which is due when the server has no more to tell.
func (u *subscription) ended(i *Info) []byte {
	dst := append(append([]byte(`{"jsonrpc":"2.0","id":`), u.id...), `,"result":{"resultType":"complete","_meta":{`...)
	return append(i.appendServerInfo(append(u.appendID(dst), ',')), "}}}"...)
}
