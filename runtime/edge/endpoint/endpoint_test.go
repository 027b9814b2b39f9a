package endpoint

import (
	"log/slog"
	"net/http"
	"testing"
)

func TestAListenerIsSharedMovedAndClosed(t *testing.T) {
	e := new(Endpoint)
	defer e.Close()
	open := func(address string) *Listener {
		t.Helper()
		l, err := e.Open(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	first := open("127.0.0.1:0")
	e.Serve(first, Options{Name: "pages", Log: slog.New(slog.DiscardHandler)})
	url := "http://" + first.Addr().String()
	status := func() int {
		res, err := http.Get(url)
		if err != nil {
			return 0
		}
		res.Body.Close()
		return res.StatusCode
	}
	if got := status(); got != http.StatusServiceUnavailable {
		t.Errorf("before the server is made: %d", got)
	}
	e.SetHandler(http.NotFoundHandler())
	if open("127.0.0.1:0") != first {
		t.Error("the same address was opened again")
	}
	if _, err := e.Open(t.Context(), first.Addr().String()); err == nil || err.Error() != "the address is in use" {
		t.Errorf("an address that is in use: %v", err)
	}
	e.Discard(first)
	if got := status(); got != http.StatusNotFound {
		t.Errorf("a listener that is served was discarded: %d", got)
	}
	rejected := open("localhost:0")
	e.Discard(rejected)
	if rejected.listener.Close() == nil {
		t.Error("the listener of a rejected configuration stays open")
	}
	e.Serve(open("localhost:0"), Options{Name: "pages", Log: slog.New(slog.DiscardHandler)})
	if got := status(); got != 0 {
		t.Errorf("the first listener still serves: %d", got)
	}
	e.Discard(first)
}
