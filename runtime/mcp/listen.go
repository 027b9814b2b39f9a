package mcp

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

// wishes are what a subscriptions/listen asks to hear of.
type wishes struct {
	lists       Changes
	uris, tasks []string
}

// wishes reads them. Tasks are an extension, so only a client that has declared it may ask for them.
func (m *message) wishes(c *Caller) (w wishes, err *Error) {
	if m.notifications == nil || m.notifications[0] != '{' {
		return w, errorf(CodeInvalidParams, "params.notifications must be an object")
	}
	for i, wanted := range []*bool{&w.lists.Tools, &w.lists.Prompts, &w.lists.Resources} {
		v, ok := lookup(m.notifications, listFilters[i])
		if *wanted = string(v) == "true"; ok && !*wanted && string(v) != "false" {
			return w, errorf(CodeInvalidParams, "params.notifications.%s must be true or false", listFilters[i])
		}
	}
	if w.uris, err = m.names("resourceSubscriptions"); err != nil {
		return w, err
	}
	if w.tasks, err = m.names("taskIds"); err != nil {
		return w, err
	}
	if w.tasks != nil && !c.Can("extensions", TasksExtension) {
		return w, MissingCapability("extensions", TasksExtension)
	}
	return w, nil
}

// names reads one of the members of params.notifications that are arrays of strings; nil when there is none.
func (m *message) names(key string) ([]string, *Error) {
	raw, ok := lookup(m.notifications, key)
	if !ok {
		return nil, nil
	}
	names, ok := texts(raw)
	switch {
	case !ok:
		return nil, errorf(CodeInvalidParams, "params.notifications.%s must be an array of strings", key)
	case len(names) > mostFollowed:
		return nil, errorf(CodeInvalidParams, "params.notifications.%s has %d elements, and %d are the most", key, len(names), mostFollowed)
	}
	return names, nil
}

// mostAtOnce is how many documents and tasks of one subscriptions/listen the Handler is asked about at the same time.
const mostAtOnce = 16

// grant has u hear of what it wishes to hear of, as far as there is such a thing, and returns the message that says how far that is. It reports
// whether it is anything at all; where that is not so because nothing of it exists, there is an error instead.
func (s *Server) grant(ctx context.Context, u *subscription, c *Caller, w wishes) (acknowledged []byte, some bool, refused error) {
	u.lists = w.lists
	u.hearOfLists()
	some = w.lists != Changes{}
	try := func(names []string, begin func(context.Context, *Caller, string) error) (begun []string) {
		errs := make([]error, len(names))
		var all sync.WaitGroup
		room := make(chan struct{}, mostAtOnce)
		for i, name := range names {
			room <- struct{}{}
			all.Go(func() {
				errs[i] = begin(ctx, c, name)
				<-room
			})
		}
		all.Wait()
		for i, name := range names {
			err := errs[i]
			switch {
			case err == nil:
				begun, some = append(begun, name), true
				continue
			case refused == nil:
				refused = err
			}
			if !errors.As(err, new(*Error)) {
				s.options.Logger.ErrorContext(ctx, "a subscription failed", "name", name, "error", err)
			}
		}
		return begun
	}
	uris := try(w.uris, u.follows.add)
	tasks := try(w.tasks, u.listenTo)
	if some {
		refused = nil
	}
	return u.acknowledged(uris, tasks), some, refused
}

// listenTo has u hear of a task, first of how it stands.
func (u *subscription) listenTo(ctx context.Context, c *Caller, id string) error {
	s, t := u.follows.server, topic{taskTopic, id}
	s.audience.join(u, t) // first, so that no change is missed
	members, err := s.standing(ctx, &TaskRequest{Method: "tasks/get", ID: id, Caller: c})
	if err != nil {
		s.audience.leave(u, t)
		return err
	}
	u.box.putFirst(t, u.waiting(members))
	return nil
}

// wake returns what makes one receiver of c receive.
func wake(c chan<- struct{}) func() {
	return func() {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// mostWished is how many bytes a request for a subscription may have, which stays in memory as long as the subscription.
const mostWished = 256 << 10

// listenHTTP serves a subscription until the client goes away or takes nothing any more, or the server shuts down.
func (s *Server) listenHTTP(x *exchange, m *message, c *Caller) {
	if !x.accepts.events {
		refuse(x.w, http.StatusNotAcceptable, "The Accept header must allow text/event-stream")
		return
	}
	w, err := m.wishes(c)
	if err == nil && x.size > mostWished {
		err = errorf(CodeInvalidParams, "A request for a subscription may have %d bytes, and this one has %d", mostWished, x.size)
	}
	if err != nil {
		x.fail(err, m.id)
		return
	}
	if !s.waits.enter() {
		x.fail(errorf(CodeBusy, "Too many subscriptions at once. Try again shortly"), m.id)
		return
	}
	defer s.waits.leave()
	u := s.newSubscription(x.view.toolset, bytes.Clone(m.id))
	defer u.end()
	u.looks = func(id string) ([]byte, error) {
		return s.standing(x.r.Context(), &TaskRequest{Method: "tasks/get", ID: id, Caller: c})
	}
	x.await()
	acknowledged, some, refused := s.grant(x.r.Context(), u, c, w)
	x.quiet()
	if refused != nil {
		x.fail(s.refused(x.r.Context(), m, refused), m.id)
		return
	}
	x.notify(acknowledged)
	if some && !s.deliver(x, u) {
		return
	}
	x.finish(u.ended(x.view.info), http.StatusOK)
}

// fewNotices is how many messages are put together to be sent at once: each may be as large as the result of a task.
const fewNotices = 16

// deliver sends what u hears, and reports whether the subscription is to be ended in form.
func (s *Server) deliver(x *exchange, u *subscription) bool {
	news := make(chan struct{}, 1)
	u.deliver(wake(news))
	alive := time.NewTicker(s.options.KeepAlive)
	defer alive.Stop()
	for closing := false; !closing; {
		chunk := []byte(nil)
		select {
		case <-news:
		case <-alive.C:
			chunk = []byte(": keep-alive\n\n")
		case <-s.closing:
			closing = true
		case <-x.r.Context().Done():
			return false
		}
		for more := true; more; chunk = chunk[:0] {
			more = u.take(fewNotices, func(frame []byte) { chunk = event{frame: frame}.append(chunk) })
			if len(chunk) > 0 && s.send(x.w, chunk) != nil {
				return false
			}
		}
	}
	return true
}
