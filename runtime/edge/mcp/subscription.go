package mcp

import (
	"context"
	"maps"
	"strconv"
	"sync"

	"hatchel/hcl/jsonscan"
)

// Subscription is what one recipient is notified of: a legacy client, or one subscriptions/listen.
type Subscription struct {
	id         []byte // of the subscriptions/listen, as sent; nil for a legacy client
	toolset    string
	mailbox    mailbox
	server     *Server
	cancel     context.CancelFunc              // cancels a pending subscribe; nil if its caller does
	lookUpTask func(id string) ([]byte, error) // returns the state of a task, and may block; nil if delivery must not

	mu        sync.Mutex
	resources map[string]*resourceSubscription // by URI; guarded by mu
	ended     bool                             // no resources are added; guarded by mu
	last      *Caller                          // who subscribed last and probably subscribes again; guarded by mu

	topics map[topic]struct{} // guarded by subscriptionRegistry.mu
	closed bool               // guarded by subscriptionRegistry.mu
}

// NewSubscription returns a subscription without topics. Its owner must close it.
func (s *Server) NewSubscription(toolset string, id []byte) *Subscription {
	return &Subscription{id: id, toolset: toolset, server: s}
}

// subscribeLists subscribes to lists of the toolset.
func (sub *Subscription) subscribeLists(kinds ...topicKind) {
	for _, kind := range kinds {
		sub.server.subscriptions.add(sub, topic{kind, sub.toolset})
	}
}

// SubscribeAllLists subscribes to all lists of the toolset.
func (sub *Subscription) SubscribeAllLists() {
	sub.subscribeLists(toolListTopic, promptListTopic, resourceListTopic)
}

// Pause ends the subscriptions until others are added, and drops their notifications.
func (sub *Subscription) Pause() { sub.server.subscriptions.pause(sub) }

// Renotify notifies the recipient of all that it may have missed: of resources, and of lists if these are set.
func (sub *Subscription) Renotify(lists bool) {
	kinds := resourceTopic
	if lists {
		kinds = toolListTopic
	}
	sub.server.subscriptions.renotify(sub, kinds)
}

// Open starts the delivery: ready is called whenever there is something to drain after there was nothing. It must not
// block.
func (sub *Subscription) Open(ready func()) { sub.mailbox.open(ready) }

// subscribeTask subscribes to a task. The first notification is its current state.
func (sub *Subscription) subscribeTask(ctx context.Context, c *Caller, id string) error {
	s, t := sub.server, topic{taskTopic, id}
	s.subscriptions.add(sub, t) // first, so that no change is missed
	members, err := s.taskState(ctx, c, id)
	if err != nil {
		s.subscriptions.remove(sub, t)
		return err
	}
	sub.mailbox.putIfAbsent(t, sub.limitPayload(members))
	return nil
}

// Close ends the subscription. It may be called again.
func (sub *Subscription) Close() {
	sub.server.subscriptions.unsubscribe(sub)
	sub.mu.Lock()
	resources := sub.resources
	sub.resources, sub.ended = nil, true
	sub.mu.Unlock()
	for uri, one := range resources {
		if one.followed {
			sub.server.Unfollow(one.caller, uri)
		}
	}
}

// Drain calls send with up to limit notifications, whose memory is reused. It reports whether there
// are more.
func (sub *Subscription) Drain(limit int, send func(frame []byte)) (more bool) {
	notices, more := sub.mailbox.take(limit)
	if len(notices) == 0 {
		return false
	}
	b := BorrowBuffer()
	defer b.Release()
	for _, n := range notices {
		if n.topic.kind == taskTopic && n.payload == nil && sub.lookUpTask != nil {
			var err error
			if n.payload, err = sub.lookUpTask(n.topic.name); err != nil {
				continue // the task no longer exists
			}
		}
		if n.topic.kind == resourceTopic && !sub.mayNotify(n.topic.name) {
			continue
		}
		b.B = sub.appendNotification(b.B[:0], n.topic, n.payload)
		send(b.B)
	}
	return more
}

// maxPayload is how many bytes about a task are queued for a recipient that can look up the task
// later.
const maxPayload = 1 << 10

// limitPayload returns what is queued about a task: nil if it is looked up at delivery, so that a
// slow recipient of many tasks takes little memory.
func (sub *Subscription) limitPayload(payload []byte) []byte {
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

func (sub *Subscription) appendNotification(dst []byte, t topic, payload []byte) []byte {
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
func (sub *Subscription) appendID(dst []byte) []byte {
	return append(append(dst, `"`+keySubscriptionID+`":`...), sub.id...)
}

// acknowledgement returns the first message of a subscriptions/listen: what it is subscribed to.
func (sub *Subscription) acknowledgement(lists []topicKind, uris, tasks []string) []byte {
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
func (sub *Subscription) endReply(i *Info) []byte {
	dst := append([]byte(`{"jsonrpc":"2.0","id":`), sub.id...)
	dst = append(dst, `,"result":{"resultType":"complete","_meta":{`...)
	return append(i.appendServerInfo(append(sub.appendID(dst), ',')), "}}}"...)
}

// resourceSubscription is a subscription to one resource, possibly pending. The Handler follows the
// resource for it. Its booleans are guarded by subscription.mu.
type resourceSubscription struct {
	started  chan struct{} // closed when the Handler has returned
	err      error         // of the Handler, when started is closed
	caller   *Caller       // who subscribed
	followed bool          // the Handler has returned nil
	revoked  bool          // the caller may no longer be notified and has been notified once since
}

// MaxResources is the maximum number of resources of one subscription. The Handler watches each of
// them.
const MaxResources = 1000

var ErrTooManyResources = Errorf(CodeBusy,
	"The limit of %d resource subscriptions is reached. Unsubscribe from one of them first", MaxResources)

// AddResource subscribes to a resource. If there is a subscription already, it waits for that.
func (sub *Subscription) AddResource(ctx context.Context, c *Caller, uri string) error {
	sub.mu.Lock()
	if existing := sub.resources[uri]; existing != nil || sub.ended {
		sub.mu.Unlock()
		return existing.wait(ctx)
	}
	if len(sub.resources) >= MaxResources {
		sub.mu.Unlock()
		return ErrTooManyResources
	}
	sub.last = c.Snapshot(sub.last)
	added := &resourceSubscription{started: make(chan struct{}), caller: sub.last}
	if sub.resources == nil {
		sub.resources = make(map[string]*resourceSubscription)
	}
	sub.resources[uri] = added
	sub.server.subscriptions.add(sub, topic{resourceTopic, uri}) // first, so that no change is missed
	sub.mu.Unlock()

	added.err = sub.server.Follow(ctx, c, uri) // may block
	defer close(added.started)
	sub.mu.Lock()
	current := sub.resources[uri] == added // it has not been removed meanwhile
	switch {
	case current && added.err != nil:
		sub.removeLocked(uri)
	case current:
		added.followed = true
	}
	sub.mu.Unlock()
	if !current && added.err == nil {
		sub.server.Unfollow(added.caller, uri)
	}
	return added.err
}

// wait waits until the Handler has returned and returns its error. It returns nil for nil.
func (r *resourceSubscription) wait(ctx context.Context) error {
	if r == nil {
		return nil
	}
	select {
	case <-r.started:
		return r.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// mayNotify reports whether the recipient is notified of the resource. A caller that may no longer
// read it is notified once, so that its client finds out.
func (sub *Subscription) mayNotify(uri string) bool {
	sub.mu.Lock()
	one := sub.resources[uri]
	sub.mu.Unlock()
	if one == nil {
		return false
	}
	may := sub.server.mayFollow(one.caller, uri)
	sub.mu.Lock()
	defer sub.mu.Unlock()
	before := one.revoked
	one.revoked = !may
	return may || !before
}

// readsAs reports whether the subscription to a resource is that of a caller whom of selects.
func (sub *Subscription) readsAs(uri string, of func(*Caller) bool) bool {
	sub.mu.Lock()
	one := sub.resources[uri]
	sub.mu.Unlock()
	return one != nil && of(one.caller)
}

// RemoveResource ends the subscription to a resource, if there is one.
func (sub *Subscription) RemoveResource(uri string) {
	sub.mu.Lock()
	one := sub.resources[uri]
	followed := one != nil && one.followed
	sub.removeLocked(uri)
	sub.mu.Unlock()
	if followed {
		sub.server.Unfollow(one.caller, uri)
	}
}

// KeepResources ends the subscriptions to all other resources.
func (sub *Subscription) KeepResources(uris []string) {
	sub.mu.Lock()
	others := maps.Clone(sub.resources)
	sub.mu.Unlock()
	for _, uri := range uris {
		delete(others, uri)
	}
	for uri := range others {
		sub.RemoveResource(uri)
	}
}

func (sub *Subscription) removeLocked(uri string) {
	delete(sub.resources, uri)
	sub.server.subscriptions.remove(sub, topic{resourceTopic, uri})
}

// recoverError is deferred. It makes a panic an error.
func recoverError(err *error) {
	if p := recover(); p != nil {
		*err = panicError(p)
	}
}

// Follow has the Handler watch a resource. A panic is an error.
func (s *Server) Follow(ctx context.Context, c *Caller, uri string) (err error) {
	defer recoverError(&err)
	return s.handler.SubscribeResource(ctx, c, uri)
}

// mayFollow calls MayNotify of the Handler. After a panic the result is false.
func (s *Server) mayFollow(c *Caller, uri string) (may bool) {
	defer s.logPanic("subscription check failed", uri)
	return s.handler.MayNotify(c, uri)
}

// Unfollow undoes follow. No client may be waiting, so a panic is only logged.
func (s *Server) Unfollow(c *Caller, uri string) {
	defer s.logPanic("unsubscribe failed", uri)
	s.handler.UnsubscribeResource(c, uri)
}

// logPanic is deferred. It logs a panic about a resource.
func (s *Server) logPanic(message, uri string) {
	if p := recover(); p != nil {
		s.options.Logger.Error(message, "uri", uri, "error", panicError(p))
	}
}
