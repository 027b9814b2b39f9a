package mcp

import (
	"context"
	"strconv"

	"hatchel/hcl/jsonscan"
)

// subscription is what one recipient is notified of: a legacy client, or one subscriptions/listen.
type subscription struct {
	id         []byte // of the subscriptions/listen, as sent; nil for a legacy client
	toolset    string
	mailbox    mailbox
	resources  resourceSubscriptions
	lookUpTask func(id string) ([]byte, error) // returns the state of a task, and may block; nil if delivery must not

	topics map[topic]struct{} // guarded by subscriptionRegistry.mu
	closed bool               // guarded by subscriptionRegistry.mu
}

// newSubscription returns a subscription without topics. Its owner must close it.
func (s *Server) newSubscription(toolset string, id []byte) *subscription {
	sub := &subscription{id: id, toolset: toolset, topics: make(map[topic]struct{})}
	sub.resources = resourceSubscriptions{subscription: sub, server: s, byURI: make(map[string]*resourceSubscription)}
	return sub
}

// start starts the delivery: ready is called whenever there is something to drain after there was
// nothing. It must not block.
func (sub *subscription) start(ready func()) {
	sub.mailbox.ready = ready
	sub.mailbox.open()
}

// subscribeLists subscribes to lists of the toolset.
func (sub *subscription) subscribeLists(kinds ...topicKind) {
	for _, kind := range kinds {
		sub.resources.server.subscriptions.add(sub, topic{kind, sub.toolset})
	}
}

// subscribeTask subscribes to a task. The first notification is its current state.
func (sub *subscription) subscribeTask(ctx context.Context, c *Caller, id string) error {
	s, t := sub.resources.server, topic{taskTopic, id}
	s.subscriptions.add(sub, t) // first, so that no change is missed
	members, err := s.taskState(ctx, c, id)
	if err != nil {
		s.subscriptions.remove(sub, t)
		return err
	}
	sub.mailbox.putIfAbsent(t, sub.limitPayload(members))
	return nil
}

// close ends the subscription. It may be called again.
func (sub *subscription) close() {
	sub.resources.server.subscriptions.unsubscribe(sub)
	sub.resources.close()
}

// drain calls send with up to limit notifications, whose memory is reused. It reports whether there
// are more.
func (sub *subscription) drain(limit int, send func(frame []byte)) (more bool) {
	notices, more := sub.mailbox.take(limit)
	if len(notices) == 0 {
		return false
	}
	b := borrowBuffer()
	defer b.release()
	for _, n := range notices {
		if n.topic.kind == taskTopic && n.payload == nil && sub.lookUpTask != nil {
			var err error
			if n.payload, err = sub.lookUpTask(n.topic.name); err != nil {
				continue // the task no longer exists
			}
		}
		if n.topic.kind == resourceTopic && !sub.resources.mayNotify(n.topic.name) {
			continue
		}
		b.b = sub.appendNotification(b.b[:0], n.topic, n.payload)
		send(b.b)
	}
	return more
}

// maxPayload is how many bytes about a task are queued for a recipient that can look up the task
// later.
const maxPayload = 1 << 10

// limitPayload returns what is queued about a task: nil if it is looked up at delivery, so that a
// slow recipient of many tasks takes little memory.
func (sub *subscription) limitPayload(payload []byte) []byte {
	if sub.lookUpTask != nil && len(payload) > maxPayload {
		return nil
	}
	return payload
}

// notificationMethods are the methods of the notifications about each kind of topic.
var notificationMethods = [...]string{
	toolListTopic:     "notifications/tools/list_changed",
	promptListTopic:   "notifications/prompts/list_changed",
	resourceListTopic: "notifications/resources/list_changed",
	resourceTopic:     "notifications/resources/updated",
	taskTopic:         "notifications/tasks",
}

func (sub *subscription) appendNotification(dst []byte, t topic, payload []byte) []byte {
	dst = append(append(append(dst, `{"jsonrpc":"2.0","method":"`...), notificationMethods[t.kind]...), '"')
	if sub.id == nil {
		if t.kind == resourceTopic {
			dst = append(jsonscan.AppendString(append(dst, `,"params":{"uri":`...), t.name), '}')
		}
		return append(dst, '}')
	}
	dst = append(sub.appendID(append(dst, `,"params":{"_meta":{`...)), '}')
	switch t.kind {
	case resourceTopic:
		dst = jsonscan.AppendString(append(dst, `,"uri":`...), t.name)
	case taskTopic:
		dst = append(append(dst, ','), payload...)
	}
	return append(dst, "}}"...)
}

// appendID appends the member of _meta with the id of the subscriptions/listen.
func (sub *subscription) appendID(dst []byte) []byte {
	return append(append(dst, `"`+keySubscriptionID+`":`...), sub.id...)
}

// acknowledgement returns the first message of a subscriptions/listen: what it is subscribed to.
func (sub *subscription) acknowledgement(lists []topicKind, uris, tasks []string) []byte {
	dst := []byte(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{`)
	dst = append(sub.appendID(dst), `},"notifications":{`...)
	start := len(dst)
	for _, kind := range lists {
		dst = append(strconv.AppendQuote(appendComma(dst, start), listFilters[kind]), ":true"...)
	}
	if len(uris) > 0 {
		dst = AppendStrings(append(appendComma(dst, start), `"resourceSubscriptions":`...), uris)
	}
	if len(tasks) > 0 {
		dst = AppendStrings(append(appendComma(dst, start), `"taskIds":`...), tasks)
	}
	return append(dst, "}}}"...)
}

// appendComma appends a comma unless start is the end.
func appendComma(dst []byte, start int) []byte {
	if len(dst) == start {
		return dst
	}
	return append(dst, ',')
}

// endReply returns the reply to subscriptions/listen, which the server sends when it ends the
// subscription.
func (sub *subscription) endReply(i *Info) []byte {
	dst := append([]byte(`{"jsonrpc":"2.0","id":`), sub.id...)
	dst = append(dst, `,"result":{"resultType":"complete","_meta":{`...)
	return append(i.appendServerInfo(append(sub.appendID(dst), ',')), "}}}"...)
}
