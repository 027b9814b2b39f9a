package webhook

import (
	"context"
	"slices"
	"strings"
	"time"

	"hatchel/runtime/state"
)

// Health is what waits for a webhook.
type Health struct {
	Name    string     `json:"name"`
	Off     bool       `json:"off,omitempty"` // nothing is delivered to it
	To      string     `json:"to,omitempty"`  // its scheme and host
	Waiting int        `json:"waiting"`       // deliveries, those being sent among them
	Oldest  *time.Time `json:"oldest,omitempty"`
	Error   string     `json:"error,omitempty"` // of what the oldest has failed last, or else the last of all
}

// oldestAmong is how many deliveries are looked at for the oldest.
const oldestAmong = 100

// Health says of every webhook what waits for it, also of those that are off, by name: what they were to be told before waits until they are on again, or its time has passed. While the store is away, or not open, nothing is known to wait.
func (o *Outbox) Health(ctx context.Context, off ...string) []Health {
	o.mu.Lock()
	service, store := o.service, o.store
	o.mu.Unlock()
	all := make([]Health, 0, len(service.Hooks)+len(off))
	for _, hook := range service.Hooks {
		h := Health{Name: hook.Name, To: hook.Place}
		if store != nil {
			h.look(ctx, store)
		}
		if h.Error == "" && h.Waiting > 0 {
			h.Error = o.absence(h.Name)
		}
		all = append(all, h)
	}
	for _, name := range off {
		h := Health{Name: name, Off: true}
		if store != nil {
			h.look(ctx, store)
		}
		all = append(all, h)
	}
	slices.SortFunc(all, func(a, b Health) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func (h *Health) look(ctx context.Context, store state.Records) {
	n, err := store.Count(ctx, Kind, h.Name)
	if err != nil || n == 0 {
		return
	}
	rows, err := store.List(ctx, state.Query{Kind: Kind, Group: h.Name, Limit: oldestAmong})
	if err != nil {
		return
	}
	h.Waiting = n
	var oldest *delivery
	for _, row := range rows {
		if d, err := readRecord(row); err == nil && (oldest == nil || d.Put < oldest.Put) {
			oldest = d
		}
	}
	if oldest != nil {
		at := time.UnixMilli(oldest.Put).UTC()
		h.Oldest, h.Error = &at, oldest.Failed
	}
}
