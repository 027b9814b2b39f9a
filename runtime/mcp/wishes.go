package mcp

import (
	"context"
	"errors"
	"sync"

	"hatchel/hcl/jsonscan"
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
		v, ok := jsonscan.Lookup(m.notifications, listFilters[i])
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
	raw, ok := jsonscan.Lookup(m.notifications, key)
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
	uris, noURI := s.try(ctx, c, w.uris, u.follows.add)
	tasks, noTask := s.try(ctx, c, w.tasks, u.listenTo)
	some = u.lists != Changes{} || len(uris)+len(tasks) > 0
	switch {
	case some:
	case noURI != nil:
		refused = noURI
	default:
		refused = noTask
	}
	return u.acknowledged(uris, tasks), some, refused
}

// try has each name begin to be heard of, and returns those of which that is so, and why it is not so of the first of the others.
func (s *Server) try(ctx context.Context, c *Caller, names []string, begin func(context.Context, *Caller, string) error) (begun []string, refused error) {
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
	for i, err := range errs {
		if err == nil {
			begun = append(begun, names[i])
			continue
		}
		if refused == nil {
			refused = err
		}
		if !errors.As(err, new(*Error)) {
			s.options.Logger.ErrorContext(ctx, "a subscription failed", "name", names[i], "error", err)
		}
	}
	return begun, refused
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
