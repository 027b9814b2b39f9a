package webhook

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"hatchel/runtime/durable/state"
)

const secret = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// received is a request to a receiver.
type received struct {
	at      time.Time
	host    string
	id      string
	body    string
	refused error // by the library of Standard Webhooks
}

// receiver is an HTTP server in memory.
type receiver struct {
	conns  chan net.Conn
	answer func(n int, w http.ResponseWriter, r *http.Request) // to the nth request, from 1

	mu  sync.Mutex
	got []received
}

func newReceiver(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) *receiver {
	t.Helper()
	r := &receiver{conns: make(chan net.Conn), answer: answer}
	server := &http.Server{Handler: r}
	var serving sync.WaitGroup
	serving.Go(func() { server.Serve(r) })
	t.Cleanup(func() {
		server.Close()
		serving.Wait()
	})
	return r
}

func (r *receiver) Accept() (net.Conn, error) {
	c, ok := <-r.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (r *receiver) Close() error   { close(r.conns); return nil }
func (r *receiver) Addr() net.Addr { return &net.UnixAddr{} }

func (r *receiver) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case r.conns <- far:
		return near, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	oracle, _ := webhooks.NewWebhookRaw([]byte(secret))
	checked := oracle.Verify(body, req.Header)
	r.mu.Lock()
	r.got = append(r.got, received{time.Now(), req.Host, req.Header.Get("webhook-id"), string(body), checked})
	n := len(r.got)
	r.mu.Unlock()
	r.answer(n, w, req)
}

func (r *receiver) all() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]received(nil), r.got...)
}

// within returns the largest number of requests in any period of that length.
func (r *receiver) within(length time.Duration) (most int) {
	got := r.all()
	for i, first := range got {
		n := 0
		for _, x := range got[i:] {
			if x.at.Sub(first.at) < length {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

func always(status int) func(int, http.ResponseWriter, *http.Request) {
	return func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

func hang(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func hook(name string) Endpoint {
	return Endpoint{Name: name, URL: "http://" + name + ".example/hooks?token=hunter22", Origin: "http://" + name + ".example", Keys: [][]byte{[]byte(secret)}, Timeout: 10 * time.Second, Retention: 24 * time.Hour}
}

func serviceOf(log *slog.Logger, hooks ...Endpoint) Config {
	s := Config{Hooks: map[string]Endpoint{}, Agent: "hatchel/test", Log: log}
	for _, h := range hooks {
		s.Hooks[h.Name] = h
	}
	return s
}

func inMemory(t *testing.T) *state.SQLite {
	t.Helper()
	store, err := state.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

// connected returns an outbox whose webhooks lead to receivers by their host names.
func connected(t *testing.T, store state.Records, to map[string]*receiver, hooks ...Endpoint) *Outbox {
	t.Helper()
	o := New(t.Context(), func(context.Context, string) (*Event, bool, error) { return nil, true, nil })
	transport := newTransport()
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, _ := net.SplitHostPort(address)
		return to[strings.TrimSuffix(host, ".example")].dial(ctx, network, address)
	}
	o.client = newClient(transport)
	o.Configure(serviceOf(slog.New(slog.DiscardHandler), hooks...))
	o.Open(store)
	t.Cleanup(func() {
		o.Close()
		o.client.GetClient().CloseIdleConnections()
	})
	return o
}

func put(t *testing.T, o *Outbox, store state.Records, h Endpoint, id string) {
	t.Helper()
	e := &Event{ID: id, Type: "task.finished", At: time.Now(), Data: map[string]any{"id": id, "text": "<&>"}}
	if err := o.Enqueue(t.Context(), store, h, e); err != nil {
		t.Fatal(err)
	}
}

// pass lets time pass until everything is idle.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
