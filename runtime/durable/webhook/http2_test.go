package webhook

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// TestAReceiverOfHTTP2GetsAnAttemptOnce has a receiver accept an event over HTTP/2, and reset the stream of another one
// that it has read: the attempt has failed, and what follows is another attempt.
func TestAReceiverOfHTTP2GetsAnAttemptOnce(t *testing.T) {
	var accepted, reset atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.ProtoMajor != 2:
			w.WriteHeader(http.StatusHTTPVersionNotSupported)
		case r.URL.Path == "/reset":
			reset.Add(1)
			panic(http.ErrAbortHandler)
		default:
			accepted.Add(1)
		}
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	transport := newTransport()
	transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	o := &Outbox{client: newClient(transport)}
	defer o.client.GetClient().CloseIdleConnections()
	send := func(path string) *failure {
		h := Endpoint{URL: s.URL + path, Keys: [][]byte{[]byte(secret)}, Timeout: time.Minute}
		return o.send(t.Context(), &delivery{ID: "d"}, h, "hatchel/test")
	}
	if f := send("/"); f != nil || accepted.Load() != 1 {
		t.Errorf("%d requests: %+v", accepted.Load(), f)
	}
	if f := send("/reset"); f == nil || reset.Load() != 1 {
		t.Errorf("%d requests of a stream that is reset: %+v", reset.Load(), f)
	}
}
