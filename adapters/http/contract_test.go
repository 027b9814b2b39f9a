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

func TestContract(t *testing.T) {
	s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		switch r.URL.Path {
		case "/ok":
			_, _ = w.Write([]byte(`{"a": [1, 2]}`))
		case "/block":
			<-r.Context().Done()
		case "/echo": // of what was sent, as a careless service does
			w.WriteHeader(400)
			_ = r.Header.Write(w)
			fmt.Fprint(w, r.URL)
		case "/text":
			_, _ = w.Write([]byte("hello"))
		case "/reset":
			conn, _, _ := w.(nethttp.Hijacker).Hijack()
			reset(conn)
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
				Source:  tool(s.URL, "  auth {\n    "+auth+"\n  }", `  input "p" { type = string }`, `    get = "/${input.p}"`),
				Works:   `{"p": "ok"}`,
				Blocks:  `{"p": "block"}`,
				Fails:   map[string]string{"Echo": `{"p": "echo"}`, "NotJSON": `{"p": "text"}`, "Reset": `{"p": "reset"}`, "Climbing": `{"p": ".."}`},
				Secrets: []string{"s3cret-k3y", "bWU6czNjcmV0LWszeQ"},
				Private: []string{"127.0.0.1", port},
			})
		})
	}
}

func TestTokenContract(t *testing.T) {
	l := serveLogin(t, `, "expires_in": 3600`)
	adaptertest.Run(t, adaptertest.Case{Source: l.source("secret.key"), Works: `{}`, Secrets: []string{"s3cret-k3y", "Bearer t"}})
}

func TestPingAsksTheHostOnly(t *testing.T) {
	s := serve(t, answer(`{}`))
	b := adaptertest.Bind(t, tool(s.URL, "", "", `    get = "/"`))
	health := b.Handle("shop").(adapters.Health)
	if err := health.Ping(t.Context()); err != nil || s.count() != 0 {
		t.Errorf("%v, %d requests", err, s.count())
	}
	s.Close()
	if err := health.Ping(t.Context()); err == nil {
		t.Error("a closed port answered")
	}
}

// whole is a tool that writes its address out.
func whole(inputs, block string) adaptertest.Source {
	return adaptertest.Source{Set: set, HCL: fmt.Sprintf(`
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

func TestAddressCanBeWhole(t *testing.T) {
	s := serve(t, answer(`{}`))
	b := adaptertest.Bind(t, whole(`  input "id" { type = integer }`, fmt.Sprintf(`    get = "%s/a/${input.id}?b=1"`, s.URL)))
	if _, err := b.Do(t.Context(), `{"id": 7}`); err != nil || s.last().RequestURI != "/a/7?b=1" {
		t.Errorf("%v, %s", err, s.last().RequestURI)
	}
	if facts := b.Tool.Steps[0].Backend.Effects; !facts.OpenWorld {
		t.Errorf("%+v", facts)
	}
}

func TestHostsOfBlocksAreChecked(t *testing.T) {
	for _, x := range []struct{ block, want string }{
		{`get = input.url`, "must list the allowed hosts"},
		{"get = \"https://a.example/x\"\n hosts = [\"a.example\"]", "The host is part of the address"},
		{"get = input.url\n hosts = [\"a/b\"]", `"a/b" is not a host`},
	} {
		if said := adaptertest.Refusal(t, whole(`  input "url" { type = string }`, x.block)); !strings.Contains(said, x.want) {
			t.Errorf("%s: %s", x.block, said)
		}
	}
}

func TestHostOfAValueMustBeAllowed(t *testing.T) {
	s := serve(t, answer(`{}`))
	host := strings.TrimPrefix(s.URL, "http://")
	b := adaptertest.Bind(t, whole(`  input "url" { type = string }`, fmt.Sprintf("    get = input.url\n    hosts = [%q, \"*.example.invalid\"]", host)))
	if _, err := b.Do(t.Context(), fmt.Sprintf(`{"url": "%s/a?b=1"}`, s.URL)); err != nil || s.last().RequestURI != "/a?b=1" {
		t.Errorf("%v", err)
	}
	for _, url := range []string{
		"http://other.invalid/", "http://" + host + ".other.invalid/", "http://" + host + "@other.invalid/", "http://other.invalid#" + host, "ftp://" + host + "/", "//" + host, "file:///etc/passwd",
		"http://example.invalid/", "http://other.invalid/" + host, "http://127.0.0.1/", "http:/" + host, "", "http://" + host + `\\@other.invalid/`,
	} {
		_, err := b.Do(t.Context(), fmt.Sprintf(`{"url": "%s"}`, url))
		var f *adapters.Fault
		if !errors.As(err, &f) {
			t.Errorf("%s: %v", url, err)
		}
	}
	if s.count() != 1 {
		t.Error("a refused request was sent")
	}
}
