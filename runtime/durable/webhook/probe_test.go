package webhook

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestUntrustedCertificateIsRejected(t *testing.T) {
	reached := make(chan struct{}, 1)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached <- struct{}{} }))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	defer server.Close()
	h := hook("ops")
	h.URL = server.URL
	o := New(t.Context(), nil)
	if why := CheckConnection(t.Context(), h); why != "the certificate of the receiver is not trusted here" {
		t.Errorf("Reach returns %q", why)
	}
	failed := o.send(t.Context(), &delivery{ID: "task-1", Body: []byte("{}")}, h, "hatchel/test")
	if failed == nil || failed.message != "the certificate of the receiver is not trusted here" {
		t.Errorf("send returns %+v", failed)
	}
	select {
	case <-reached:
		t.Error("a request was sent")
	default:
	}
}

func TestReachSendsNoRequest(t *testing.T) {
	reached := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached <- struct{}{} }))
	h := hook("ops")
	h.URL = server.URL + "/hooks?token=hunter22"
	if why := CheckConnection(t.Context(), h); why != "" {
		t.Errorf("Reach returns %q", why)
	}
	server.Close()
	if why := CheckConnection(t.Context(), h); why != "the receiver refuses connections" {
		t.Errorf("Reach returns %q", why)
	}
	select {
	case <-reached:
		t.Error("a request was sent")
	default:
	}
}
