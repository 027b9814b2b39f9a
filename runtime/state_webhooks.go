package runtime

import (
	"context"

	"hatchel/hcl"
	"hatchel/runtime/webhook"
)

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
	s.outbox.Open(ctx, store)
	return s.watch(ctx)
}

// webhookHealth returns the health of the webhooks of a configuration, with the disabled ones.
func (s *State) webhookHealth(ctx context.Context, c *hcl.Config) []webhook.Health {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	return s.outbox.Health(ctx, c.DisabledWebhooks()...)
}
