package endpoint

import (
	"crypto/tls"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// TestTLSThatIsAddedAndRemovedReachesTheListener changes whether connections use TLS while a listener is served, as a
// reload does that adds and removes a tls block.
func TestTLSThatIsAddedAndRemovedReachesTheListener(t *testing.T) {
	certified := httptest.NewUnstartedServer(nil)
	certified.StartTLS()
	defer certified.Close()
	certified.Client().Transport.(*http.Transport).DisableKeepAlives = true
	var config atomic.Pointer[tls.Config]
	e := new(Endpoint)
	defer e.Close()
	e.SetHandler(http.NotFoundHandler())
	l, err := e.Open(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e.Serve(l, Options{Name: "pages", TLS: config.Load, Log: slog.New(slog.DiscardHandler)})
	kept := &http.Client{Transport: new(http.Transport)}
	status := func(client *http.Client, scheme string) int {
		res, err := client.Get(scheme + "://" + l.Addr().String())
		if err != nil {
			return 0
		}
		defer res.Body.Close()
		io.Copy(io.Discard, res.Body)
		if client == kept && res.Close != ((scheme == "https") != (config.Load() != nil)) {
			t.Errorf("%s: the connection stays open: %t", scheme, !res.Close)
		}
		return res.StatusCode
	}
	for _, want := range []struct {
		config        *tls.Config
		plain, secure int
	}{
		{nil, http.StatusNotFound, 0},
		{&tls.Config{Certificates: certified.TLS.Certificates}, http.StatusBadRequest, http.StatusNotFound},
		{nil, http.StatusNotFound, 0},
	} {
		old := config.Swap(want.config)
		if old == nil && want.config != nil && status(kept, "http") != http.StatusNotFound {
			t.Error("a connection from before is not answered")
		}
		plain := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		if got := status(plain, "http"); want.config == nil && got != want.plain || want.config != nil && got == http.StatusNotFound {
			t.Errorf("HTTP: %d, want %d", got, want.plain)
		}
		if got := status(certified.Client(), "https"); got != want.secure {
			t.Errorf("HTTPS: %d, want %d", got, want.secure)
		}
		if want.config == nil {
			status(kept, "http")
		}
	}
}
