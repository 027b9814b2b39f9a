package store

import (
	"context"
	"time"

	"hatchel/hcl"
	"hatchel/runtime/observe/metrics"
)

// SampleWebhooks returns how many deliveries of each webhook of a configuration wait, and for how long.
func (s *State) SampleWebhooks(ctx context.Context, c *hcl.Config) (out []metrics.Webhook) {
	for _, h := range s.WebhookHealth(ctx, c) {
		hook := metrics.Webhook{Name: h.Name, Pending: h.Pending}
		if h.Oldest != nil {
			hook.Oldest = time.Since(*h.Oldest)
		}
		out = append(out, hook)
	}
	return out
}

// CountPending returns how many approvals wait for a decision; nil when the store is not open or does not say.
func (s *State) CountPending(ctx context.Context) *int {
	opened := s.Current()
	if opened == nil {
		return nil
	}
	n, err := opened.Approvals.CountPending(ctx)
	if err != nil {
		return nil
	}
	return &n
}

// Sample asks the store; nil when it is not open.
func (s *State) Sample(ctx context.Context) *metrics.State {
	opened := s.Current()
	if opened == nil {
		return nil
	}
	began := time.Now()
	if health := s.Health(ctx); health != nil {
		return &metrics.State{Up: health.OK, Took: time.Since(began)}
	}
	_, err := opened.Store.Record(ctx, "probe", "probe")
	return &metrics.State{Up: err == nil, Took: time.Since(began)}
}

// CountTasks returns how many tasks are kept, by status; none when the store is not open or does not say.
func (s *State) CountTasks(ctx context.Context) map[string]int {
	if s.Current() == nil {
		return nil
	}
	counts, err := s.Tasks.Count(ctx)
	if err != nil {
		return nil
	}
	return counts
}
