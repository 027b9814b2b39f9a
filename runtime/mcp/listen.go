package mcp

import (
	"bytes"
	"context"
	"errors"
	"net/http"
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

// grant has u hear of what it wishes to hear of, as far as there is such a thing, and returns the message that says how far that is. It reports
// whether it is anything at all.
func (s *Server) grant(ctx context.Context, u *subscription, c *Caller, w wishes) (acknowledged []byte, some bool) {
	u.lists = w.lists
	u.hearOfLists()
	var uris, tasks []string
	for _, uri := range w.uris {
		err := u.follows.add(ctx, c, uri)
		if err == nil {
			uris = append(uris, uri)
		} else if !errors.As(err, new(*Error)) {
			s.options.Logger.ErrorContext(ctx, "a resource cannot be followed", "uri", uri, "error", err)
		}
	}
	for _, id := range w.tasks {
		if s.listenTo(ctx, u, c, id) {
			tasks = append(tasks, id)
		}
	}
	return u.acknowledged(uris, tasks), w.lists != Changes{} || len(uris) > 0 || len(tasks) > 0
}

// listenTo has u hear of a task, first of how it stands, and reports whether there is such a task.
func (s *Server) listenTo(ctx context.Context, u *subscription, c *Caller, id string) bool {
	t := topic{taskTopic, id}
	s.audience.join(u, t) // first, so that no change is missed
	members, err := s.standing(ctx, &TaskRequest{Method: "tasks/get", ID: id, Caller: c})
	if err != nil {
		s.audience.leave(u, t)
		if !errors.As(err, new(*Error)) {
			s.options.Logger.ErrorContext(ctx, "a task cannot be listened to", "task", id, "error", err)
		}
		return false
	}
	u.box.putFirst(t, members)
	return true
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

// listenHTTP serves a subscription until the client goes away or takes nothing any more, or the server shuts down.
func (s *Server) listenHTTP(x *exchange, m *message, c *Caller) {
	if !x.accepts.events {
		refuse(x.w, http.StatusNotAcceptable, "The Accept header must allow text/event-stream")
		return
	}
	w, err := m.wishes(c)
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
	acknowledged, some := s.grant(x.r.Context(), u, c, w)
	x.notify(acknowledged)
	if some && !s.deliver(x, u) {
		return
	}
	x.finish(u.ended(x.view.info), http.StatusOK)
}

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
		u.take(func(frame []byte) { chunk = event{frame: frame}.append(chunk) })
		if chunk != nil && s.send(x.w, chunk) != nil {
			return false
		}
	}
	return true
}
