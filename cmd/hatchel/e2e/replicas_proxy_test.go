package e2e_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"hatchel/internal/proxytest"
)

// roundTrip is a function that makes requests.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// repeatable reads the body of a request, and returns copies of the request.
func repeatable(r *http.Request) (copyOf func() *http.Request, body []byte) {
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	return func() *http.Request {
		other := r.Clone(r.Context())
		other.Body = io.NopCloser(bytes.NewReader(body))
		return other
	}, body
}

// badProxies do what proxies and networks do between a client and its server.
var badProxies = map[string]func(to http.RoundTripper) http.RoundTripper{
	// An answer reaches two processes at once.
	"sends answers twice": func(to http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			copyOf, body := repeatable(r)
			if !bytes.Contains(body, []byte(`"result"`)) {
				return to.RoundTrip(copyOf())
			}
			var first, second *http.Response
			var err error
			var both sync.WaitGroup
			both.Go(func() { first, err = to.RoundTrip(copyOf()) })
			both.Go(func() {
				if second, _ = to.RoundTrip(copyOf()); second != nil {
					second.Body.Close()
				}
			})
			both.Wait()
			return first, err
		})
	},
	// Requests overtake each other.
	"delays requests": func(to http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			select {
			case <-time.After(rand.N(150 * time.Millisecond)):
				return to.RoundTrip(r)
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		})
	},
	// The stream of a call is cut off after the question, so that the client returns for the result.
	"cuts streams": func(to http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			res, err := to.RoundTrip(r)
			if err == nil && r.Method == http.MethodPost && strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
				res.Body = &cutBody{ReadCloser: res.Body}
			}
			return res, err
		})
	},
}

// cutBody is an event stream that ends after the first question.
type cutBody struct {
	io.ReadCloser
	asked bool
}

func (b *cutBody) Read(data []byte) (int, error) {
	if b.asked {
		return 0, errors.New("cut off")
	}
	n, err := b.ReadCloser.Read(data)
	b.asked = bytes.Contains(data[:n], []byte(`"method"`)) && bytes.HasSuffix(data[:n], []byte("\n\n"))
	return n, err
}

// Whatever happens on the way, a question is answered and its call ends.
func TestReplicasServeClientsBehindABadProxy(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3)
	var addresses []string
	for _, r := range c.replicas {
		addresses = append(addresses, r.address())
	}
	for what, tamper := range badProxies {
		for _, kind := range legacyKinds {
			t.Run(what+"/"+kind.String(), func(t *testing.T) {
				t.Parallel()
				client := kind.connect(t, proxytest.Start(t, tamper, addresses...).URL+"/mcp", 1)[0]
				var calls sync.WaitGroup
				for i := range 12 {
					calls.Go(func() {
						if err := checkCall(client, []string{"form", "everybody", "echo"}[i%3]); err != nil {
							t.Error(err)
						}
					})
				}
				calls.Wait()
			})
		}
	}
}
