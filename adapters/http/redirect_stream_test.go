package http

import (
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"hatchel/adapters"
)

// TestAStreamedBodyIsSentAgainAfterARedirect streams a body, as one with uploaded files is.
func TestAStreamedBodyIsSentAgainAfterARedirect(t *testing.T) {
	var bodies []string
	server := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		if r.URL.Path == "/" {
			nethttp.Redirect(w, r, "/new", nethttp.StatusTemporaryRedirect)
		}
	}))
	defer server.Close()
	s := newService(nil, defaultRedirects, adapters.Env{Defer: func(func() error) {}})
	a := &action{block: &block{As: asText, OKStatus: []string{"2xx"}}, service: s, method: "POST", maxBody: 1 << 20}
	a.okStatus, _ = parseStatuses(a.block.OKStatus)
	r := &compiledRequest{target: []byte(server.URL), header: nethttp.Header{}, call: &adapters.Call{}, stream: new(bodyStream)}
	want := strings.Repeat("a part of a file, ", 10_000)
	r.stream.addText(want[:100])
	r.stream.addText(want[100:])
	if _, err := a.roundTrip(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if len(bodies) != 2 || bodies[0] != want || bodies[1] != want {
		t.Errorf("%d bodies", len(bodies))
	}
}
