package server

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const namedCard = `
server {
  name    = "finance"
  title   = "Finance"
  version = "1.2.0"
  website = "https://tools.example.com/about"
  icons   = [{ src = "https://tools.example.com/icon.png", mime_type = "image/png", sizes = ["48x48"], theme = "dark" }]
  card {
    name        = "com.example/finance-tools"
    url         = "https://tools.example.com/mcp"
    description = "Invoices and ledgers."
  }
}
`

// cardOracle is schema.json of modelcontextprotocol/experimental-ext-server-card at 8924e086, under Apache-2.0.
func cardOracle(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile("testdata/server-card.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("card.json", schema); err != nil {
		t.Fatal(err)
	}
	return c.MustCompile("card.json#/$defs/ServerCard")
}

func TestTheCardIsValidAndForEverybody(t *testing.T) {
	schema := cardOracle(t)
	valid := func(text string) error {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(v)
	}
	s := serveNamed(t, atLoopback, namedCard+namedAuth+namedTools)
	card := s.ask(s.ServeHTTP, "GET", cardPath, "Accept", cardType)
	if err := valid(card.Body.String()); err != nil {
		t.Errorf("%v: %s", err, card.Body)
	}
	for _, part := range []string{"name", "version", "description", "$schema"} { // the oracle refuses what is wrong
		var m map[string]any
		if err := json.Unmarshal(card.Body.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		delete(m, part)
		less, err := json.Marshal(m)
		if err != nil || valid(string(less)) == nil {
			t.Errorf("a card without %s is valid", part)
		}
	}
	want := `{"$schema":"https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json","name":"com.example/finance-tools",` +
		`"title":"Finance","version":"1.2.0","description":"Invoices and ledgers.","websiteUrl":"https://tools.example.com/about",` +
		`"icons":[{"src":"https://tools.example.com/icon.png","mimeType":"image/png","sizes":["48x48"],"theme":"dark"}],` +
		`"remotes":[{"type":"streamable-http","url":"https://tools.example.com/mcp","supportedProtocolVersions":` +
		`["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]}]}`
	if got := card.Body.String(); card.Code != http.StatusOK || got != want || card.Header().Get("Content-Type") != cardType {
		t.Errorf("%d %v\n%s\nwant\n%s", card.Code, card.Header(), got, want)
	}
	if got := s.ask(s.ServeHTTP, "GET", catalogPath); got.Header().Get("Content-Type") != catalogType || got.Body.String() !=
		`{"specVersion":"1.0","entries":[{"identifier":"urn:air:example.com:mcp:finance-tools",`+
			`"type":"application/mcp-server-card+json","url":"https://tools.example.com/mcp/server-card"}]}` {
		t.Errorf("%v %s", got.Header(), got.Body)
	}
}

func TestTheCardIsForPagesOfEveryOriginAndIsRevalidated(t *testing.T) {
	s := serveNamed(t, atLoopback, namedCard+namedAuth+namedTools)
	for _, path := range []string{cardPath, catalogPath} {
		first := s.ask(s.ServeHTTP, "GET", path, "Origin", "https://evil.example")
		tag := first.Header().Get("ETag")
		if first.Code != http.StatusOK || first.Header().Get("Access-Control-Allow-Origin") != "*" || tag == "" ||
			first.Header().Get("Access-Control-Allow-Credentials") != "" || first.Header().Get("Access-Control-Expose-Headers") != "ETag" ||
			first.Header().Get("Cache-Control") != "public, max-age=3600" {
			t.Errorf("%s: %d %v", path, first.Code, first.Header())
		}
		if again := s.ask(s.ServeHTTP, "GET", path, "If-None-Match", tag); again.Code != http.StatusNotModified || again.Body.Len() > 0 {
			t.Errorf("%s again: %d %s", path, again.Code, again.Body)
		}
		for method, want := range map[string]int{"HEAD": 200, "OPTIONS": 204, "POST": 405, "DELETE": 405} {
			if got := s.ask(s.ServeHTTP, method, path); got.Code != want || want != 405 && got.Body.Len() > 0 {
				t.Errorf("%s %s: %d %s", method, path, got.Code, got.Body)
			}
		}
		if got := s.ask(s.ServeHTTP, "GET", path, "Host", "evil.example"); got.Code != http.StatusForbidden {
			t.Errorf("%s at another name: %d", path, got.Code)
		}
		s.load(strings.Replace(namedCard, "Invoices", "Bills", 1) + namedAuth + namedTools)
		again := s.ask(s.ServeHTTP, "GET", path, "If-None-Match", tag)
		if changed := again.Code == http.StatusOK; changed != (path == cardPath) {
			t.Errorf("%s after a reload: %d", path, again.Code)
		}
	}
	s.load(namedAuth + namedTools)
	for _, path := range []string{cardPath, catalogPath} {
		if got := s.ask(s.ServeHTTP, "GET", path); got.Code != http.StatusUnauthorized {
			t.Errorf("%s without a card: %d %s", path, got.Code, got.Body)
		}
	}
}
