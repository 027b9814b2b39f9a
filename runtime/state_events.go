package runtime

import (
	"context"
	"time"

	"hatchel/hcl"
	"hatchel/internal/ctxtime"
	"hatchel/runtime/approval"
	"hatchel/runtime/state"
	"hatchel/runtime/task"
	"hatchel/runtime/webhook"
)

// watch opens the store and, from the first call on, handles what other processes change or leave
// behind.
func (s *State) watch(ctx context.Context) error {
	opened, err := s.open(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watching {
		return nil
	}
	attempted := func(err error) { s.process.LogFailure("watching the state store for changes", err) }
	s.watching = s.process.Go(func(ctx context.Context) {
		onChange := func(kind, name string) { s.onRemoteChange(ctx, opened, kind, name) }
		opened.Watch(ctx, onChange, attempted)
	})
	remote, looks := opened.Store.(state.RemoteStore)
	if looks {
		s.process.Go(func(ctx context.Context) { s.look(ctx, remote, opened.book) })
	}
	s.tasks.Watch(looks)
	return nil
}

// onRemoteChange is called when another process has changed a record, or, with an empty kind, any
// record.
func (s *State) onRemoteChange(ctx context.Context, opened *openState, kind, name string) {
	if kind == "" || kind == task.Kind {
		s.tasks.OnRemoteChange(ctx, name)
	}
	opened.book.NotifyChange(kind, name)
	if kind == "" || kind == webhook.Kind {
		s.outbox.Wake()
	}
	if kind == "" || kind == approval.Kind {
		s.recordDecisions(name)
	}
}

// look finds, every second, the changes of awaited approvals and tasks that another process made and could not
// announce, because it died in that moment. What cannot be read now is found a second later.
func (s *State) look(ctx context.Context, store state.RemoteStore, book *approval.Store) {
	for ctxtime.Sleep(ctx, time.Second) == nil {
		if s.tasks.Look(ctx, store) == nil {
			book.Look(ctx, store)
		}
	}
}

// enabledWebhooks returns the webhooks of a configuration that are enabled, by name.
func enabledWebhooks(c *hcl.Config) map[string]webhook.Endpoint {
	hooks := make(map[string]webhook.Endpoint, len(c.Webhooks))
	for _, w := range c.Webhooks {
		if w.Disabled {
			continue
		}
		hooks[w.Name] = webhook.Endpoint{
			Name: w.Name, URL: w.URL.Reveal(), Origin: w.DisplayAddress(), Keys: w.Keys(), Timeout: w.Timeout,
			Retention: w.Retention,
		}
	}
	return hooks
}

// serveWebhooks delivers events to the webhooks of a generation from now on.
func (s *State) serveWebhooks(g *Generation) {
	for _, name := range g.Config.DisabledWebhooks() {
		g.log().Info("webhook disabled, its url is null", "webhook", name)
	}
	agent := "hatchel/" + g.build.Version
	s.outbox.Configure(webhook.Config{Hooks: enabledWebhooks(g.Config), Agent: agent, Log: g.log()})
}

// startDelivery delivers the events that are stored, if there can be any.
func (s *State) startDelivery(ctx context.Context) error {
	store, err := s.openIfExists(ctx)
	if err != nil || store == nil {
		return err
	}
	s.outbox.Open(store)
	return s.watch(ctx)
}

// enqueue calls store with the webhook of a name and the store, which it opens when it is not open. It ignores a
// webhook that is disabled, or was removed from the configuration.
func (s *State) enqueue(ctx context.Context, name string, store func(*openState, webhook.Endpoint) error) error {
	endpoint, ok := s.outbox.Endpoint(name)
	if !ok {
		return nil
	}
	opened, err := s.open(ctx)
	if err == nil {
		s.outbox.Open(opened)
		err = s.watch(ctx)
	}
	if err != nil {
		return err
	}
	return store(opened, endpoint)
}

// Enqueue implements call.State and task.Events.
func (s *State) Enqueue(ctx context.Context, name string, e *webhook.Event) error {
	return s.enqueue(ctx, name, func(opened *openState, endpoint webhook.Endpoint) error {
		return s.outbox.Enqueue(ctx, opened, endpoint, e)
	})
}

// enqueueSeries implements hook.Store.
func (s *State) enqueueSeries(ctx context.Context, name string, of *webhook.Series, e *webhook.Event, n int) error {
	return s.enqueue(ctx, name, func(opened *openState, endpoint webhook.Endpoint) error {
		return s.outbox.EnqueueSeries(ctx, opened, endpoint, of, e, n)
	})
}

// webhookHealth returns the health of the webhooks of a configuration, with the disabled ones.
func (s *State) webhookHealth(ctx context.Context, c *hcl.Config) []webhook.Health {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	return s.outbox.Health(ctx, c.DisabledWebhooks()...)
}
