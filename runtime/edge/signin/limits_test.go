package signin_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hatchel/runtime/durable/grant"
	"hatchel/runtime/edge/auth/issuertest"
	"hatchel/runtime/edge/signin"
)

// ask sends a request to the server without a connection, from an address.
func (r *rig) ask(from, method, path, body string) *httptest.ResponseRecorder {
	q := httptest.NewRequestWithContext(r.t.Context(), method, path, strings.NewReader(body))
	q.RemoteAddr, q.Host = from+":4711", "127.0.0.1"
	switch {
	case strings.HasPrefix(body, "{"):
		q.Header.Set("Content-Type", "application/json")
	case body != "":
		q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	w := httptest.NewRecorder()
	r.server.ServeHTTP(w, q)
	return w
}

// TestANetworkHasABoundedNumberOfRequests sends more from one network than it may; others are served, and tokens that
// are given count for nothing.
func TestANetworkHasABoundedNumberOfRequests(t *testing.T) {
	r := openRig(t, declared+"register { redirects = [\"loopback\"] }\n", "")
	p := r.program("inspector", inspector)
	paths := map[string]string{
		"/oauth/authorize": "GET", "/oauth/token": "POST", "/oauth/register": "POST", "/oauth/revoke": "POST",
		"/oauth/callback": "GET", "/oauth/consent": "POST",
	}
	served := 0
	for n := range 15 * len(paths) {
		for path, method := range paths {
			if n%len(paths) != 0 {
				continue
			}
			w := r.ask("192.0.2.1", method, path, map[string]string{"GET": "", "POST": "x=y"}[method])
			if w.Code == http.StatusTooManyRequests {
				if w.Header().Get("Retry-After") == "" {
					t.Errorf("%s: no Retry-After", path)
				}
				continue
			}
			served++
		}
	}
	if served != 60 {
		t.Errorf("%d requests are served", served)
	}
	if w := r.ask("192.0.2.1", "GET", "/.well-known/oauth-authorization-server", ""); w.Code != http.StatusOK {
		t.Errorf("the metadata is answered with %d", w.Code)
	}
	if w := r.ask("198.51.100.1", "GET", p.request(), ""); w.Code != http.StatusOK {
		t.Errorf("another network is answered with %d", w.Code)
	}
	// The clients of a company share an address, and nobody there locks out those who are signed in.
	code := p.code()
	for range 70 {
		p.refresh("x")
	}
	if a := p.refresh("x"); a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") == "" {
		t.Errorf("a wrong token is answered with %+v", a)
	}
	// What gives no tokens is counted, with whatever it has besides.
	if w := r.ask("127.0.0.1", "GET", p.request("code", code), ""); w.Code != http.StatusTooManyRequests {
		t.Errorf("a request for authorization with a code is answered with %d", w.Code)
	}
	a := p.redeem(code)
	for range 70 {
		if a = p.refresh(a.Refresh); a.status != http.StatusOK {
			t.Fatalf("the refresh gives %+v", a)
		}
	}
}

// TestASlowProviderDoesNotHoldUpRefreshes lets many callbacks wait for the provider.
func TestASlowProviderDoesNotHoldUpRefreshes(t *testing.T) {
	r := openRig(t, declared, "")
	p := r.program("inspector", inspector)
	a := p.signIn()
	var all []*begun
	for range 20 {
		all = append(all, r.begin(t))
	}
	held := make(chan struct{})
	r.provider.SetFaults(issuertest.Faults{Held: held})
	var waiting sync.WaitGroup
	for _, s := range all {
		waiting.Go(func() { s.browser.send("GET", s.back, nil) })
	}
	done := make(chan *answer)
	go func() { done <- p.refresh(a.Refresh) }()
	select {
	case next := <-done:
		if next.status != http.StatusOK {
			t.Errorf("the refresh gives %+v", next)
		}
	case <-time.After(10 * time.Second):
		t.Error("the refresh waits for the provider")
	}
	close(held)
	waiting.Wait()
}

// TestLargeAndStrangeBodiesAreRefused sends bodies that no client sends.
func TestLargeAndStrangeBodiesAreRefused(t *testing.T) {
	r := openRig(t, declared+"register { redirects = [\"loopback\"] }\n", "")
	for _, c := range []struct {
		path, kind, body string
		status           int
	}{
		{"/oauth/token", "application/x-www-form-urlencoded", "grant_type=" + strings.Repeat("x", 65<<10), 413},
		{"/oauth/register", "application/json", `{"client_name":"` + strings.Repeat("x", 65<<10) + `"}`, 413},
		{"/oauth/token", "application/json", `{"grant_type":"authorization_code"}`, 400},
		{"/oauth/token", "", "grant_type=authorization_code", 400},
		{"/oauth/token", "application/x-www-form-urlencoded", "grant_type=%zz", 400},
		{"/oauth/token", "application/x-www-form-urlencoded", "grant_type=a&grant_type=b", 400},
		{"/oauth/register", "application/x-www-form-urlencoded", "a=b", 400},
		{"/oauth/register", "application/json", "[]", 400},
		{"/oauth/revoke", "application/x-www-form-urlencoded", "", 400},
	} {
		q, err := http.NewRequestWithContext(t.Context(), "POST", r.url+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		if c.kind != "" {
			q.Header.Set("Content-Type", c.kind)
		}
		resp, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != c.status || !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
			t.Errorf("%s %.40s: %s %s", c.path, c.body, resp.Status, resp.Header.Get("Content-Type"))
		}
	}
	for path, method := range map[string]string{"/oauth/token": "GET", "/oauth/authorize": "DELETE", "/oauth/jwks": "POST"} {
		q, _ := http.NewRequestWithContext(t.Context(), method, r.url+path, nil)
		resp, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") == "" {
			t.Errorf("%s %s: %s", method, path, resp.Status)
		}
	}
}

// TestRefreshesThatWaitForTheProviderHoldUpNoOthers has many refreshes for which a provider is asked that does not
// answer.
func TestRefreshesThatWaitForTheProviderHoldUpNoOthers(t *testing.T) {
	r := openRig(t, declared+`scopes = ["openid", "offline_access"]`, "")
	p := r.program("inspector", inspector)
	a := p.signIn()
	grants, err := r.host.Operator().State.Grants(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := grants.List(t.Context(), grant.Query{Limit: 1})
	if err != nil || len(list) != 1 {
		t.Fatalf("%d sign-ins, %v", len(list), err)
	}
	due, err := grants.Find(t.Context(), list[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	due.Upstream.Renewed = time.Now().Add(-2 * time.Hour)
	var tokens []string
	for range 20 {
		due.ID = grant.NewID()
		code, err := grants.Create(t.Context(), due)
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, p.redeem(code).Refresh)
	}
	held := make(chan struct{})
	r.provider.SetFaults(issuertest.Faults{Held: held})
	var waiting sync.WaitGroup
	var answered atomic.Int32
	for _, token := range tokens {
		waiting.Go(func() {
			p.refresh(token)
			answered.Add(1)
		})
	}
	for range 20 { // one at a time, while the others arrive
		if next := p.refresh(a.Refresh); next.status != http.StatusOK {
			t.Fatalf("a refresh gives %+v", next)
		}
	}
	if n := answered.Load(); n > 4 {
		t.Errorf("%d refreshes have not waited for the provider", n)
	}
	close(held)
	waiting.Wait()
}

// TestABodyThatDoesNotArriveHoldsNoConnection begins requests and does not finish them, also where nobody reads their
// bodies.
func TestABodyThatDoesNotArriveHoldsNoConnection(t *testing.T) {
	signin.SetBodyTimeout(t, 50*time.Millisecond)
	r := openRig(t, declared, "")
	const form = "Content-Type: application/x-www-form-urlencoded\r\n"
	for _, head := range []string{
		"POST /oauth/token HTTP/1.1\r\n" + form, "POST /oauth/consent HTTP/1.1\r\n" + form,
		"POST /oauth/token HTTP/1.1\r\nContent-Type: application/json\r\n", "PUT /oauth/token HTTP/1.1\r\n",
		"GET /oauth/authorize HTTP/1.1\r\n", "GET /.well-known/oauth-authorization-server HTTP/1.1\r\n",
		"POST /oauth/none HTTP/1.1\r\n",
	} {
		c, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(5 * time.Second))
		if _, err := c.Write([]byte(head + "Host: 127.0.0.1\r\nContent-Length: 1000\r\n\r\ngrant_type=")); err != nil {
			t.Fatal(err)
		}
		if answer, err := io.ReadAll(c); err != nil || len(answer) == 0 {
			t.Errorf("%q is answered with %q (%v)", head, answer, err)
		}
	}
}
