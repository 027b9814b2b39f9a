package webhook

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"hatchel/internal/proxy"
	"hatchel/runtime/durable/state"
)

// Health describes the pending deliveries of a webhook.
type Health struct {
	Name     string     `json:"name"`
	Disabled bool       `json:"off,omitempty"` // the webhook is disabled, and nothing is delivered
	Origin   string     `json:"to,omitempty"`  // scheme and host
	Pending  int        `json:"waiting"`       // deliveries, including those in flight
	Oldest   *time.Time `json:"oldest,omitempty"`
	Error    string     `json:"error,omitempty"` // of the last attempt of the oldest, or else of any
}

// maxOldestScan is how many deliveries are searched for the oldest one.
const maxOldestScan = 100

// Health returns the health of every webhook, and of the disabled ones whose names are given, sorted
// by name. Events from before a webhook was disabled wait until it is enabled, or their retention has
// passed. While the store is not open or unavailable no delivery counts as waiting.
func (o *Outbox) Health(ctx context.Context, disabled ...string) []Health {
	o.mu.Lock()
	service, store := o.service, o.store
	o.mu.Unlock()
	all := make([]Health, 0, len(service.Hooks)+len(disabled))
	for _, hook := range service.Hooks {
		all = append(all, Health{Name: hook.Name, Origin: hook.Origin})
	}
	for _, name := range disabled {
		all = append(all, Health{Name: name, Disabled: true})
	}
	for i := range all {
		h := &all[i]
		if store != nil {
			h.readPending(ctx, store)
		}
		if !h.Disabled && h.Error == "" && h.Pending > 0 {
			e := o.stateOf(h.Name)
			h.Error = e.lastFailure()
		}
	}
	slices.SortFunc(all, func(a, b Health) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func (h *Health) readPending(ctx context.Context, store state.Records) {
	n, err := store.Count(ctx, Kind, h.Name)
	if err != nil || n == 0 {
		return
	}
	records, err := store.List(ctx, state.Query{Kind: Kind, Group: h.Name, Limit: maxOldestScan})
	if err != nil {
		return
	}
	h.Pending = n
	var oldest *delivery
	now := time.Now().UnixMilli() // that of a series is created, and late, when its interval begins
	for _, r := range records {
		d, err := decodeRecord(r)
		if err == nil && d.Created <= now && (oldest == nil || d.Created < oldest.Created) {
			oldest = d
		}
	}
	if oldest != nil {
		at := time.UnixMilli(oldest.Created).UTC()
		h.Oldest, h.Error = &at, oldest.Error
	}
}

// CheckConnection connects to the receiver of a webhook, or to the proxy in front of it, and sends no request.
// It returns the reason of a failure for the operator, without the URL, or an empty string.
func CheckConnection(ctx context.Context, h Endpoint) string {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	to, err := url.Parse(h.URL)
	if err != nil {
		return connectionFailure(err, false).message
	}
	via, err := proxy.FromEnvironment()(&http.Request{URL: to})
	if err != nil {
		return proxy.ErrorText(err)
	}
	address := ""
	if via != nil {
		to, address = via, proxy.Address(via)
	}
	dial, port := new(net.Dialer).DialContext, "80"
	if to.Scheme == "https" {
		dial, port = new(tls.Dialer).DialContext, "443"
	}
	if to.Port() != "" {
		port = to.Port()
	}
	conn, err := dial(ctx, "tcp", cmp.Or(address, net.JoinHostPort(to.Hostname(), port)))
	if err != nil {
		return connectionFailure(err, false).message
	}
	conn.Close()
	return ""
}
