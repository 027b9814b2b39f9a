package mcp

import (
	"cmp"
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"hatchel/hcl/jsonscan"
)

// listenFilter is the filter of a subscriptions/listen.
type listenFilter struct {
	lists       []topicKind
	uris, tasks []string
}

// listFilters are the members of params.notifications for the lists.
var listFilters = [...]string{
	toolListTopic:     "toolsListChanged",
	promptListTopic:   "promptsListChanged",
	resourceListTopic: "resourcesListChanged",
}

// listenFilter reads params.notifications. Tasks are an extension, which the client must declare.
func (m *Message) listenFilter(c *Caller) (f listenFilter, err *Error) {
	if !IsObject(m.Param("notifications")) {
		return f, InvalidParams("params.notifications must be an object")
	}
	for kind, member := range listFilters {
		v, ok := jsonscan.Lookup(m.params, "notifications", member)
		switch {
		case string(v) == "true":
			f.lists = append(f.lists, topicKind(kind))
		case ok && string(v) != "false":
			return f, InvalidParams("params.notifications.%s must be true or false", member)
		}
	}
	if f.uris, err = m.filterNames("resourceSubscriptions"); err != nil {
		return f, err
	}
	for _, uri := range f.uris {
		if err := checkURI("an element of params.notifications.resourceSubscriptions", uri); err != nil {
			return f, err
		}
	}
	if f.tasks, err = m.filterNames("taskIds"); err != nil {
		return f, err
	}
	if f.tasks != nil && !c.Can("extensions", TasksExtension) {
		return f, MissingCapability("extensions", TasksExtension)
	}
	return f, nil
}

// filterNames reads a member of params.notifications that is an array of strings. It returns nil if
// there is none.
func (m *Message) filterNames(key string) ([]string, *Error) {
	value, ok := jsonscan.Lookup(m.params, "notifications", key)
	if !ok {
		return nil, nil
	}
	names, ok := distinctStrings(value, MaxResources)
	switch {
	case !ok:
		return nil, InvalidParams("params.notifications.%s must be an array of strings", key)
	case len(names) > MaxResources:
		return nil, InvalidParams("params.notifications.%s has more than %d elements", key, MaxResources)
	}
	return names, nil
}

// distinctStrings returns the elements of a scanned array of strings, without duplicates, and at most one more than
// limit. It reports false for any other value.
func distinctStrings(value []byte, limit int) (list []string, ok bool) {
	scan := jsonscan.New(value, 1)
	if scan.Peek() != '[' || scan.EnterArray() != nil {
		return nil, false
	}
	seen := make(map[string]bool)
	for {
		if more, err := scan.NextElement(); err != nil || !more {
			return list, err == nil
		}
		element, err := scan.Value()
		if err != nil || element[0] != '"' {
			return nil, false
		}
		if len(list) > limit {
			continue
		}
		if text, _ := jsonscan.Text(element); !seen[text] {
			seen[text] = true
			list = append(list, text)
		}
	}
}

// maxConcurrentSubscribes is how many resources or tasks of one subscriptions/listen the Handler is
// asked about at a time.
const maxConcurrentSubscribes = 16

// subscribe subscribes sub to what the filter names, as far as it exists, and returns the message
// that says how far. It reports whether sub is subscribed to anything. If it is not because nothing
// exists, it returns an error instead.
func (s *Server) subscribe(
	ctx context.Context, sub *Subscription, c *Caller, f listenFilter,
) (acknowledgement []byte, any bool, refused error) {
	sub.subscribeLists(f.lists...)
	uris, refused := s.subscribeAll(ctx, c, f.uris, sub.AddResource)
	tasks, err := s.subscribeAll(ctx, c, f.tasks, sub.subscribeTask)
	if any = len(f.lists)+len(uris)+len(tasks) > 0; any {
		return sub.acknowledgement(f.lists, uris, tasks), true, nil
	}
	return sub.acknowledgement(nil, nil, nil), false, cmp.Or(refused, err)
}

// subscribeAll calls subscribe for every name. It returns the names that succeeded and the first
// error.
func (s *Server) subscribeAll(
	ctx context.Context, c *Caller, names []string, subscribe func(context.Context, *Caller, string) error,
) (subscribed []string, refused error) {
	errs := make([]error, len(names))
	var group errgroup.Group
	group.SetLimit(maxConcurrentSubscribes)
	for i, name := range names {
		group.Go(func() error {
			errs[i] = subscribe(ctx, c, name)
			return nil
		})
	}
	group.Wait()
	for i, err := range errs {
		if err == nil {
			subscribed = append(subscribed, names[i])
			continue
		}
		if refused == nil {
			refused = err
		}
		if !errors.As(err, new(*Error)) {
			s.options.Logger.ErrorContext(ctx, "subscription failed", "name", names[i], "error", err)
		}
	}
	return subscribed, refused
}
