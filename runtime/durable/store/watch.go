package store

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"hatchel/hcl"
	"hatchel/internal/ctxtime"
	"hatchel/runtime/durable/grant"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/durable/webhook"
	"hatchel/runtime/stage/approval"
	"hatchel/runtime/stage/task"
)

// Watch opens the store and, from the first call on, handles what other processes change or leave
// behind.
func (s *State) Watch(ctx context.Context) error {
	opened, err := s.Open(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watching {
		return nil
	}
	attempted := func(err error) { s.Process.LogFailure("watching the state store for changes", err) }
	s.watching = s.Process.Go(func(ctx context.Context) {
		onChange := func(kind, name string) { s.onRemoteChange(ctx, opened, kind, name) }
		opened.Watch(ctx, onChange, attempted)
	})
	remote, looks := opened.Store.(state.RemoteStore)
	if looks {
		s.Process.Go(func(ctx context.Context) { s.look(ctx, remote, opened.Approvals) })
	}
	s.Tasks.Watch(looks)
	return nil
}

// onRemoteChange is called when another process has changed a record, or, with an empty kind, any
// record.
func (s *State) onRemoteChange(ctx context.Context, opened *Opened, kind, name string) {
	if kind == "" || kind == task.Kind {
		s.Tasks.OnRemoteChange(ctx, name)
	}
	opened.Approvals.NotifyChange(kind, name)
	if grants := s.CurrentGrants(); grants != nil {
		grants.Notify(kind, name)
	}
	if kind == "" || kind == webhook.Kind {
		s.outbox.Wake()
	}
	if kind == "" || kind == approval.Kind {
		s.RecordDecisions(name)
	}
	if kind == "" || kind == grant.UnrecordedKind {
		s.RecordRevocations()
	}
}

// look finds, every second, the changes of awaited approvals and tasks that another process made and could not
// announce, because it died in that moment. What cannot be read now is found a second later.
func (s *State) look(ctx context.Context, store state.RemoteStore, approvals *approval.Store) {
	for ctxtime.Sleep(ctx, time.Second) == nil {
		if s.Tasks.Look(ctx, store) == nil {
			approvals.Look(ctx, store)
		}
	}
}

// EnabledWebhooks returns the webhooks of a configuration that are enabled, by name.
func EnabledWebhooks(c *hcl.Config) map[string]webhook.Endpoint {
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

// ServeWebhooks delivers events to the webhooks of a configuration from now on. Version is that of the program.
func (s *State) ServeWebhooks(c *hcl.Config, version string, log *slog.Logger) {
	for _, name := range c.DisabledWebhooks() {
		log.Info("webhook disabled, its url is null", "webhook", name)
	}
	s.outbox.Configure(webhook.Config{Hooks: EnabledWebhooks(c), Agent: "hatchel/" + version, Log: log})
}

// StartDelivery delivers the events that are stored, if there can be any.
func (s *State) StartDelivery(ctx context.Context) error {
	store, err := s.OpenIfExists(ctx)
	if err != nil || store == nil {
		return err
	}
	s.outbox.Open(store)
	return s.Watch(ctx)
}

// enqueue calls store with the webhook of a name and the store, which it opens when it is not open. It ignores a
// webhook that is disabled, or was removed from the configuration.
func (s *State) enqueue(ctx context.Context, name string, store func(*Opened, webhook.Endpoint) error) error {
	endpoint, ok := s.outbox.Endpoint(name)
	if !ok {
		return nil
	}
	opened, err := s.Open(ctx)
	if err == nil {
		s.outbox.Open(opened)
		err = s.Watch(ctx)
	}
	if err != nil {
		return err
	}
	return store(opened, endpoint)
}

// Enqueue implements call.State and task.Events.
func (s *State) Enqueue(ctx context.Context, name string, e *webhook.Event) error {
	return s.enqueue(ctx, name, func(opened *Opened, endpoint webhook.Endpoint) error {
		return s.outbox.Enqueue(ctx, opened, endpoint, e)
	})
}

// enqueueSeries implements hook.Store.
func (s *State) enqueueSeries(ctx context.Context, name string, of *webhook.Series, e *webhook.Event, n int) error {
	return s.enqueue(ctx, name, func(opened *Opened, endpoint webhook.Endpoint) error {
		return s.outbox.EnqueueSeries(ctx, opened, endpoint, of, e, n)
	})
}

// WebhookHealth returns the health of the webhooks of a configuration, with the disabled ones.
func (s *State) WebhookHealth(ctx context.Context, c *hcl.Config) []webhook.Health {
	ctx, cancel := context.WithTimeout(ctx, PingTimeout)
	defer cancel()
	return s.outbox.Health(ctx, c.DisabledWebhooks()...)
}

// ProbeWebhooks reports the webhooks of a configuration that cannot be connected to.
func ProbeWebhooks(ctx context.Context, c *hcl.Config) (diags hcl.Diagnostics) {
	reasons, hooks := make([]string, len(c.Webhooks)), EnabledWebhooks(c)
	var running sync.WaitGroup
	for i, w := range c.Webhooks {
		if !w.Disabled {
			running.Go(func() { reasons[i] = webhook.CheckConnection(ctx, hooks[w.Name]) })
		}
	}
	running.Wait()
	for i, w := range c.Webhooks {
		if reasons[i] != "" {
			detail := "No event can be sent to " + w.DisplayAddress() + ": " + reasons[i] + "."
			diags = append(diags, &hcl.Diagnostic{Summary: "Webhook does not answer", Detail: detail, Subject: w.Range})
		}
	}
	return diags
}
