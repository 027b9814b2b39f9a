package runtime

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"hatchel/hcl"
	"hatchel/runtime/state"
	"hatchel/runtime/webhook"
)

// enqueueEvent remembers that an event is to be delivered to webhooks, before it returns. Of any number of events with the same id, which is made of letters, digits, _ and -, one is
// delivered to each webhook. Data is encoded as JSON; known secrets are taken out of it.
func (g *Generation) enqueueEvent(ctx context.Context, names []string, id, event string, data any) error {
	encoded, err := json.Marshal(data)
	if err != nil {
		return err
	}
	return g.enqueue(ctx, names, &webhook.Event{ID: id, Type: event, At: time.Now(), Data: json.RawMessage(g.scrubber.JSON(encoded))})
}

func (g *Generation) enqueue(ctx context.Context, names []string, e *webhook.Event) error {
	hooks := enabledWebhooks(g.Config)
	if !slices.ContainsFunc(names, func(name string) bool { return hooks[name].Name != "" }) {
		return nil
	}
	store, err := g.build.State.openWebhooks(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		h, on := hooks[name]
		if !on {
			continue
		}
		if err := g.build.State.outbox.Put(ctx, store, h, e); err != nil {
			return err
		}
	}
	return nil
}

// enabledWebhooks are the webhooks of a configuration that are not off, by name.
func enabledWebhooks(c *hcl.Config) map[string]webhook.Hook {
	hooks := make(map[string]webhook.Hook, len(c.Webhooks))
	for _, w := range c.Webhooks {
		if w.Disabled {
			continue
		}
		hooks[w.Name] = webhook.Hook{Name: w.Name, URL: w.URL.Reveal(), Place: w.DisplayAddress(), Keys: w.Keys(), Timeout: w.Timeout, Keep: w.Retention}
	}
	return hooks
}

// serveWebhooks says what webhooks there are from now on, and with what they are told.
func (s *State) serveWebhooks(g *Generation) {
	for _, name := range g.Config.DisabledWebhooks() {
		g.log().Info("a webhook is off, because its url is null: it is told nothing", "webhook", name)
	}
	s.outbox.Serve(webhook.Service{Hooks: enabledWebhooks(g.Config), Agent: "hatchel/" + g.build.Version, Log: g.log()})
}

// openWebhooks opens the store, unless it is open, and has what is put into the outbox delivered, by this process or another.
func (s *State) openWebhooks(ctx context.Context) (state.Store, error) {
	store, _, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	s.outbox.Open(ctx, store)
	return store, s.tasks.startHeartbeat(ctx)
}

// webhookHealth says what waits for webhooks, and which of those of a configuration are off.
func (s *State) webhookHealth(ctx context.Context, c *hcl.Config) []webhook.Health {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	return s.outbox.Health(ctx, c.DisabledWebhooks()...)
}

// startDelivery has what is left of deliveries delivered, if there can be any: it opens the store only if that is there already, or was asked for.
func (s *State) startDelivery(ctx context.Context) error {
	s.mu.Lock()
	there := s.store != nil || s.config != nil || s.existed != nil && s.existed(s.config)
	s.mu.Unlock()
	if !there {
		return nil
	}
	_, err := s.openWebhooks(ctx)
	return err
}

// resolveEvent implements webhook.Settled.
func (s *State) resolveEvent(ctx context.Context, of string) (*webhook.Event, bool, error) {
	if id, ok := strings.CutPrefix(of, ofTask); ok {
		return s.taskEvent(ctx, id)
	}
	if id, ok := strings.CutPrefix(of, ofApproval); ok {
		return s.approvalEvent(ctx, id)
	}
	return nil, true, nil
}
