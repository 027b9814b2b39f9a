package http_test

import (
	"errors"
	"fmt"
	"net"
	nethttp "net/http"
	"strings"
	"testing"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
)

func TestContractWithKeys(t *testing.T) {
	s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		switch r.URL.Path {
		case "/ok":
			_, _ = w.Write([]byte(`{"a": [1, 2]}`))
		case "/block":
			<-r.Context().Done()
		case "/echo": // repeats the request, as a careless service does
			w.WriteHeader(400)
			_ = r.Header.Write(w)
			fmt.Fprint(w, r.URL)
		case "/text":
			_, _ = w.Write([]byte("hello"))
		case "/reset":
			conn, _, _ := w.(nethttp.Hijacker).Hijack()
			resetConn(conn)
			conn.Close()
		}
	})
	for name, auth := range map[string]string{
		"bearer": `bearer = secret.key`,
		"basic":  `basic = { username = "me", password = secret.key }`,
		"header": `header = { X-Api-Key = secret.key }`,
		"query":  `query = { appid = secret.key }`,
	} {
		t.Run(name, func(t *testing.T) {
			_, port, err := net.SplitHostPort(strings.TrimPrefix(s.URL, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			adaptertest.Run(t, adaptertest.Case{
				Source:       source(s.URL, "  auth {\n    "+auth+"\n  }", `  input "p" { type = string }`, `    get = "/${input.p}"`),
				ValidCall:    `{"p": "ok"}`,
				BlockingCall: `{"p": "block"}`,
				FailingCalls: map[string]string{"echo": `{"p": "echo"}`, "not JSON": `{"p": "text"}`, "reset": `{"p": "reset"}`, "parent directory": `{"p": ".."}`},
				Secrets:      []string{"s3cret-k3y", "bWU6czNjcmV0LWszeQ"},
				Private:      []string{"127.0.0.1", port},
			})
		})
	}
}

func TestContractWithTokens(t *testing.T) {
	l := serveTokens(t, `, "expires_in": 3600`)
	adaptertest.Run(t, adaptertest.Case{Source: l.source("secret.key"), ValidCall: `{}`, Secrets: []string{"s3cret-k3y", "Bearer t"}})
}

func TestPing(t *testing.T) {
	s := serve(t, respond(`{}`))
	b := adaptertest.Bind(t, source(s.URL, "", "", `    get = "/"`))
	health := b.Handle("shop").(adapters.Health)
	t.Run("connects without a request", func(t *testing.T) {
		if err := health.Ping(t.Context()); err != nil || s.count() != 0 {
			t.Errorf("%v, %d requests", err, s.count())
		}
	})
	t.Run("fails if the port is closed", func(t *testing.T) {
		s.Close()
		if err := health.Ping(t.Context()); err == nil {
			t.Error("no error")
		}
	})
}

// sourceWithURL returns a configuration of one tool without a connection.
func sourceWithURL(inputs, block string) adaptertest.Source {
	return adaptertest.Source{Set: testSet, HCL: fmt.Sprintf(`
tool "t" {
  description = "Test."
%s
  http {
%s
  }
  result = "output"
}
`, inputs, block)}
}

func TestAddressCanBeAURL(t *testing.T) {
	s := serve(t, respond(`{}`))
	b := adaptertest.Bind(t, sourceWithURL(`  input "id" { type = integer }`, fmt.Sprintf(`    get = "%s/a/${input.id}?b=1"`, s.URL)))
	if _, err := b.Do(t.Context(), `{"id": 7}`); err != nil || s.last().RequestURI != "/a/7?b=1" {
		t.Errorf("%v, %s", err, s.last().RequestURI)
	}
	if effects := b.Tool.Steps[0].Backend.Effects; !effects.OpenWorld {
		t.Errorf("%+v", effects)
	}
}

func TestHostsAreChecked(t *testing.T) {
	for _, x := range []struct{ block, want string }{
		{`get = input.url`, "must list the allowed hosts"},
		{"get = \"https://a.example/x\"\n hosts = [\"a.example\"]", "The host is part of the address"},
		{"get = input.url\n hosts = [\"a/b\"]", `"a/b" is not a host`},
	} {
		t.Run(x.block, func(t *testing.T) {
			wantPart(t, adaptertest.MustReject(t, sourceWithURL(`  input "url" { type = string }`, x.block)), x.want)
		})
	}
}

func TestHostFromAValueMustBeAllowed(t *testing.T) {
	s := serve(t, respond(`{}`))
	host := strings.TrimPrefix(s.URL, "http://")
	b := adaptertest.Bind(t, sourceWithURL(`  input "url" { type = string }`, fmt.Sprintf("    get = input.url\n    hosts = [%q, \"*.example.invalid\"]", host)))
	t.Run("allowed", func(t *testing.T) {
		if _, err := b.Do(t.Context(), fmt.Sprintf(`{"url": "%s/a?b=1"}`, s.URL)); err != nil || s.last().RequestURI != "/a?b=1" {
			t.Errorf("%v", err)
		}
	})
	for _, url := range []string{
		"http://other.invalid/", "http://" + host + ".other.invalid/", "http://" + host + "@other.invalid/", "http://other.invalid#" + host, "ftp://" + host + "/", "//" + host, "file:///etc/passwd",
		"http://example.invalid/", "http://other.invalid/" + host, "http://127.0.0.1/", "http:/" + host, "", "http://" + host + `\\@other.invalid/`,
	} {
		t.Run("rejected/"+url, func(t *testing.T) {
			_, err := b.Do(t.Context(), fmt.Sprintf(`{"url": "%s"}`, url))
			var f *adapters.Fault
			if !errors.As(err, &f) {
				t.Errorf("got %v", err)
			}
			if s.count() != 1 {
				t.Error("the rejected request was sent")
			}
		})
	}
}
