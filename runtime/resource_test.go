package runtime

import (
	"context"
	"strings"
	"testing"

	"hatchel/adapters"
	"hatchel/hcl/value"
	"hatchel/runtime/edge/mcp"
)

// A resource: what the file says, the URI that is read, what comes.
var resources = []struct{ claim, resource, uri, want string }{
	{"a text is plain",
		`uri  = "doc://a"
		 text = "Hello"`, "doc://a",
		`{"contents":[{"uri":"doc://a","mimeType":"text/plain","text":"Hello"}]}`},
	{"the media type is the author's",
		`uri       = "doc://a"
		 mime_type = "text/markdown"
		 text      = "# Hello"`, "doc://a",
		`{"contents":[{"uri":"doc://a","mimeType":"text/markdown","text":"# Hello"}]}`},
	{"data is a blob",
		`uri  = "doc://a"
		 data = "aGk="`, "doc://a",
		`{"contents":[{"uri":"doc://a","mimeType":"application/octet-stream","blob":"aGk="}]}`},
	{"bytes of a backend are a blob",
		`uri       = "doc://a.png"
		 mime_type = "image/png"
		 fake { do = "bytes" }`, "doc://a.png",
		`{"contents":[{"uri":"doc://a.png","mimeType":"image/png","blob":"aGk="}]}`},
	{"a value of a backend is JSON",
		`uri = "doc://a"
		 fake { value = [{ id = 1 }] }`, "doc://a",
		`{"contents":[{"uri":"doc://a","mimeType":"application/json","text":"[{\"id\":1}]"}]}`},
	{"variables of a template become what their types say",
		`uri_template = "doc://{id}/{name}"
		 input "id" { type = integer }
		 text = "${input.id + 1} ${input.name}"`, "doc://41/a%20b",
		`{"contents":[{"uri":"doc://41/a%20b","mimeType":"text/plain","text":"42 a b"}]}`},
	{"variables are validated",
		`uri_template = "doc://{id}"
		 input "id" { type = integer }
		 fake { do = "panic" }
		 text = "${input.id}"`, "doc://x",
		"error: The arguments are not valid, and nothing was done:\n- id: must be an integer, got the string \"x\" (-32602) {\"uri\":\"doc://x\"}"},
	{"a URI that leads to nothing is told with the URI",
		`uri_template = "doc://{id}"
		 text = "${input.id}"`, "other://x",
		`error: Resource not found: other://x (-32602) {"uri":"other://x"}`},
	{"a failure of the backend is an error of the protocol",
		`uri = "doc://a"
		 fake { do = "tells" }`, "doc://a",
		`error: refused with (secret) as the key (-32603) {"uri":"doc://a"}`},
	{"secrets are taken out of texts",
		`uri = "doc://a"
		 fake { do = "leaks" }`, "doc://a",
		`{"contents":[{"uri":"doc://a","mimeType":"application/json","text":"{\"key (secret)\":1,\"list\":[\"x(secret)y\",12]}"}]}`},
	{"what is too large is not sent in part",
		`uri = "doc://a"
		 fake { do = "huge" }`, "doc://a",
		`error: it holds 17 MiB, and no more than 16 MiB can be sent (-32603) {"uri":"doc://a"}`},
}

func TestResourcesAreRead(t *testing.T) {
	for _, c := range resources {
		t.Run(strings.ReplaceAll(c.claim, " ", "_"), func(t *testing.T) {
			w := newFakeBackend()
			w.do["bytes"] = func(context.Context, *adapters.Call) (any, error) { return value.Bytes("hi"), nil }
			w.do["huge"] = func(context.Context, *adapters.Call) (any, error) { return strings.Repeat("x", 17<<20), nil }
			h := newHost(t, neighbours+"resource \"r\" {\n"+c.resource+"\n}\n", w.use)
			if got := readResource(t, h, "", c.uri); got != c.want {
				t.Errorf("%s\n got %.500s\nwant %s", c.claim, got, c.want)
			}
		})
	}
}

func TestOneDocumentGoesBeforeAFamilyAndTheNameDecidesAmongFamilies(t *testing.T) {
	h := newHost(t, `
resource "b" {
  uri_template = "doc://{x}"
  text = "b ${input.x}"
}
resource "a" {
  uri_template = "doc://{+y}"
  text = "a ${input.y}"
}
resource "c" {
  uri  = "doc://one"
  text = "c"
}`)
	for uri, want := range map[string]string{"doc://one": `"c"`, "doc://two": `"a two"`} {
		if got := readResource(t, h, "", uri); !strings.Contains(got, `"text":`+want) {
			t.Errorf("%s: %s", uri, got)
		}
	}
}

func TestHowLongADocumentMayBeKeptIsTold(t *testing.T) {
	h := newHost(t, `
resource "public" {
  uri  = "doc://public"
  text = "x"
  cache {
    ttl   = "5m"
    scope = "public"
  }
}
resource "silent" {
  uri  = "doc://silent"
  text = "x"
}`)
	read := func(uri string) mcp.Document {
		d, err := h.ReadResource(t.Context(), &mcp.CallRequest{Name: uri, Caller: &mcp.Caller{}})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if d := read("doc://public"); d.TTL.Minutes() != 5 || d.Private {
		t.Errorf("got %v, private %v", d.TTL, d.Private)
	}
	if d := read("doc://silent"); d.TTL != 0 || !d.Private {
		t.Errorf("got %v, private %v", d.TTL, d.Private)
	}
}
