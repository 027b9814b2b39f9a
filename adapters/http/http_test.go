package http_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
	"hatchel/adapters/http"
	"hatchel/hcl/value"
)

var testSet = adapters.Set{Adapters: []adapters.Adapter{http.Adapter()}, Connectors: []adapters.Connector{http.Connector()}}

// recorder is a service that records the requests it receives.
type recorder struct {
	*httptest.Server
	mu   sync.Mutex
	seen []received
}

type received struct {
	*nethttp.Request
	body string
}

func serve(t testing.TB, h nethttp.HandlerFunc) *recorder {
	t.Helper()
	s := &recorder{}
	s.Server = httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.seen = append(s.seen, received{r, string(body)})
		s.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *recorder) last() received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[len(s.seen)-1]
}

func (s *recorder) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.seen)
}

// source returns a configuration of one tool over a connection to a service.
func source(url, connection, inputs, block string) adaptertest.Source {
	return adaptertest.Source{
		Set: testSet,
		Env: map[string]string{"KEY": "s3cret-k3y"},
		HCL: fmt.Sprintf(`
secret "key" { env = "KEY" }
connection "http" "shop" {
  base_url = %q
%s
}
tool "t" {
  description = "Test."
%s
  http "shop" {
%s
  }
  result = "output"
}
`, url, connection, inputs, block),
	}
}

func respond(text string) nethttp.HandlerFunc {
	return func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, text)
	}
}

// wantFault returns the fault that a call returned, and checks that it has no secrets.
func wantFault(t *testing.T, err error) *adapters.Fault {
	t.Helper()
	var f *adapters.Fault
	if !errors.As(err, &f) {
		t.Fatalf("not a fault: %v", err)
	}
	adaptertest.CheckFault(t, f, "127.0.0.1", "s3cret-k3y")
	return f
}

func wantPart(t *testing.T, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%q does not contain %q", text, part)
	}
}

func resolved(t *testing.T, v any) any {
	t.Helper()
	v, err := value.ResolveAll(v)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestGet(t *testing.T) {
	s := serve(t, respond(` { "id" : 42, "big": 12345678901234567890 } `))
	b := adaptertest.Bind(t, source(s.URL+"/api/v1/", "", `  input "id" { type = integer }`, `    get = "/orders/${input.id}"
    query = { expand = ["a", "b"], none = null, q = "x&y=z" }`))
	out, err := b.Do(t.Context(), `{"id": 42}`)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("sends the path and the query", func(t *testing.T) {
		if got := s.last().RequestURI; got != "/api/v1/orders/42?expand=a&expand=b&q=x%26y%3Dz" {
			t.Errorf("requested %s", got)
		}
	})
	t.Run("returns the body as compact JSON", func(t *testing.T) {
		got := string(out["body"].(value.LazyJSON).AppendJSON(nil))
		if got != `{"id":42,"big":12345678901234567890}` {
			t.Errorf("body %s", got)
		}
	})
	t.Run("decodes numbers exactly", func(t *testing.T) {
		body := resolved(t, out["body"]).(map[string]any)
		if body["id"] != 42 || fmt.Sprint(body["big"]) != "12345678901234567890" {
			t.Errorf("body %v", body)
		}
	})
	t.Run("returns the status and the headers", func(t *testing.T) {
		if out["status"] != 200 || out["headers"].(map[string]any)["content-type"] != "application/json" {
			t.Errorf("output %v", out)
		}
	})
}
