package sendonce

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestErrorsOfAConnectionThatIsNotUsedHaveTheirTexts has http2 return the errors that a race of a request with the end
// of its connection causes, which http2 does not export. A release of http2 with other texts fails it.
func TestErrorsOfAConnectionThatIsNotUsedHaveTheirTexts(t *testing.T) {
	for text, isClosed := range map[string]bool{textNotEstablished: true, textUnusable: false} {
		near, far := net.Pipe()
		go io.Copy(io.Discard, far)
		//lint:ignore SA1019 see pool
		c, err := newPool(&http.Transport{}).settings.NewClientConn(near)
		if err != nil {
			t.Fatal(err)
		}
		if c.SetDoNotReuse(); isClosed {
			c.Close()
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://a.example", strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.RoundTrip(r)
		if unprocessed, again := judge(err); err == nil || err.Error() != text || !unprocessed || !again {
			t.Errorf("got %v, not %s", err, text)
		}
		c.Close()
		far.Close()
	}
}

// TestConnectionsAreFoundByTheAddressThatIsDialed has hosts whose names net/http encodes before it dials.
func TestConnectionsAreFoundByTheAddressThatIsDialed(t *testing.T) {
	for _, text := range []string{
		"https://a.example", "https://A.example:8443", "https://[::1]/", "https://bücher.example", "https://BÜCHER.example:8443",
		"https://xn--bcher-kva.example", "https://xn--%C3%BC.example", "https://a%C2%ADb.example",
	} {
		dialed := ""
		next := &http.Transport{DialContext: func(_ context.Context, _, address string) (net.Conn, error) {
			dialed = address
			return nil, errors.ErrUnsupported
		}}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, text, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := next.RoundTrip(r); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", text, err)
		}
		if got := dialedAddress(r.URL); got != dialed {
			t.Errorf("%s: connections are found by %s, and %s is dialed", text, got, dialed)
		}
	}
}
