package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"hatchel/adapters"
	"hatchel/hcl/value"
	"hatchel/runtime/mcp"
)

// ResourceUpdated makes an audience of the tests one that follows no resources.
func (audience) ResourceUpdated(string) {}

// got is what a request for a prompt or a resource is answered with: the members of the result, or the error.
func got(d mcp.Document, err error) string {
	if err != nil {
		var e *mcp.Error
		if !errors.As(err, &e) {
			return "other: " + err.Error()
		}
		data := ""
		if e.Data != nil && !strings.Contains(string(e.Data), "correlationId") {
			data = " " + string(e.Data)
		}
		return "error: " + e.Error() + data
	}
	if d.Members == nil {
		return "questions"
	}
	return "{" + string(d.Members.AppendJSON(nil)) + "}"
}

func getPrompt(t testing.TB, h *Host, toolset, name, arguments string) string {
	t.Helper()
	return got(h.GetPrompt(t.Context(), &mcp.CallRequest{Name: name, Arguments: []byte(arguments), Caller: &mcp.Caller{Revision: mcp.Revision20251125, Toolset: toolset}}))
}

func readResource(t testing.TB, h *Host, toolset, uri string) string {
	t.Helper()
	return got(h.ReadResource(t.Context(), &mcp.CallRequest{Name: uri, Caller: &mcp.Caller{Revision: mcp.Revision20251125, Toolset: toolset}}))
}

// A prompt: what the file says, what the client sends, what it gets.
var prompts = []struct{ claim, prompt, arguments, want string }{
	{"a text is a message",
		`message "user" { text = "Hello" }`, `{}`,
		`{"description":"A prompt.","messages":[{"role":"user","content":{"type":"text","text":"Hello"}}]}`},
	{"arguments become what their types say",
		`argument "n" { type = integer }
		 argument "b" { type = bool }
		 argument "s" { type = string }
		 argument "o" { type = optional(integer, 7) }
		 message "user" { text = "${input.n + 1} ${input.b ? "yes" : "no"} ${input.s} ${input.o}" }`, `{"n":"41","b":"true","s":"5","o":""}`,
		`{"description":"A prompt.","messages":[{"role":"user","content":{"type":"text","text":"42 yes 5 7"}}]}`},
	{"all violations are told at once and nothing is done",
		`argument "n" { type = integer }
		 argument "e" { type = enum("a", "b") }
		 argument "s" { type = string }
		 fake { do = "panic" }
		 message "user" { text = "${input.n}${input.e}${input.s}" }`, `{"n":"x","e":"c","other":"1"}`,
		`error: The arguments are not valid, and nothing was done:` + "\n" + `- n: must be an integer, got the string "x"` + "\n" + `- e: must be one of "a", "b", got the string "c"` + "\n" + `- s: is required` + "\n" + `- unknown argument "other" (-32602)`},
	{"an argument that is no text is refused",
		`argument "n" { type = integer }
		 message "user" { text = "${input.n}" }`, `{"n":5}`,
		"error: The arguments are not valid, and nothing was done:\n- n: the arguments of a prompt are texts, and this is a number (-32602)"},
	{"what does not hold is told",
		`argument "n" { type = integer }
		 check "n is odd" { that = "input.n % 2 == 0" }
		 fake { do = "panic" }
		 message "user" { text = "${input.n}" }`, `{"n":"3"}`,
		`error: n is odd (-32602)`},
	{"messages hold every kind of content, each a message",
		`message "user" {
		   content "text" { text = "one" }
		   content "image" {
		     data      = "aGk="
		     mime_type = "image/png"
		   }
		   content "audio" {
		     data      = "aGk="
		     mime_type = "audio/wav"
		   }
		   content "resource" {
		     uri       = "doc://x"
		     mime_type = "text/plain"
		     text      = "inside"
		   }
		   content "resource" {
		     uri  = "doc://y"
		     data = "aGk="
		   }
		   content "link" {
		     uri         = "doc://z"
		     name        = "z"
		     title       = "Z"
		     description = "The last."
		     size        = 3
		   }
		 }
		 message "assistant" { text = "two" }`, `{}`,
		`{"description":"A prompt.","messages":[` +
			`{"role":"user","content":{"type":"text","text":"one"}},` +
			`{"role":"user","content":{"type":"image","data":"aGk=","mimeType":"image/png"}},` +
			`{"role":"user","content":{"type":"audio","data":"aGk=","mimeType":"audio/wav"}},` +
			`{"role":"user","content":{"type":"resource","resource":{"uri":"doc://x","mimeType":"text/plain","text":"inside"}}},` +
			`{"role":"user","content":{"type":"resource","resource":{"uri":"doc://y","blob":"aGk="}}},` +
			`{"role":"user","content":{"type":"resource_link","uri":"doc://z","name":"z","title":"Z","description":"The last.","size":3}},` +
			`{"role":"assistant","content":{"type":"text","text":"two"}}]}`},
	{"content is annotated",
		`argument "at" { type = string }
		 message "user" {
		   content "text" {
		     text = "one"
		     annotations {
		       audience      = ["user", "assistant"]
		       priority      = 0.5
		       last_modified = input.at
		     }
		   }
		 }`, `{"at":"2026-01-31T15:04:05Z"}`,
		`{"description":"A prompt.","messages":[{"role":"user","content":{"type":"text","text":"one","annotations":{"audience":["user","assistant"],"priority":0.5,"lastModified":"2026-01-31T15:04:05Z"}}}]}`},
	{"messages are written for each row, those whose condition holds",
		`fake { value = [{ id = 1 }, { id = 2 }, { id = 3 }] }
		 message "user" {
		   each = output.value
		   when = "each.value.id != 2"
		   text = "${each.key}: ${each.value.id}"
		 }
		 message "assistant" {
		   when = "false"
		   text = "never"
		 }`, `{}`,
		`{"description":"A prompt.","messages":[{"role":"user","content":{"type":"text","text":"0: 1"}},{"role":"user","content":{"type":"text","text":"2: 3"}}]}`},
	{"steps come before messages",
		`step "one" {
		   fake { value = 1 }
		 }
		 step "two" {
		   fake { value = step.one.value + 1 }
		 }
		 message "user" { text = "${step.two.value}" }`, `{}`,
		`{"description":"A prompt.","messages":[{"role":"user","content":{"type":"text","text":"2"}}]}`},
	{"a failure of the backend is an error of the protocol, in the words of the prompt",
		`fake { do = "fault" }
		 message "user" { text = "x" }
		 error = "Failed: ${error.message} (${error.status})"`, `{}`,
		`error: Failed: no such order (404) (-32603)`},
	{"an error of ours says nothing of its cause",
		`fake { do = "broken" }
		 message "user" { text = "x" }`, `{}`,
		`error: the prompt failed because of a problem on the server, not because of its arguments; the server's log has the reason (-32603)`},
	{"a panic ends the request alone",
		`fake { do = "panic" }
		 message "user" { text = "x" }`, `{}`,
		`error: the prompt failed because of a problem on the server, not because of its arguments; the server's log has the reason (-32603)`},
	{"secrets are taken out of messages",
		`fake { do = "leaks" }
		 message "user" { text = "${output.value.list[0]}" }`, `{}`,
		`{"description":"A prompt.","messages":[{"role":"user","content":{"type":"text","text":"x(secret)y"}}]}`},
}

func TestPromptsAreWritten(t *testing.T) {
	for _, c := range prompts {
		t.Run(strings.ReplaceAll(c.claim, " ", "_"), func(t *testing.T) {
			h := newWorld().host(t, neighbours+"prompt \"p\" {\ndescription = \"A prompt.\"\n"+c.prompt+"\n}\n")
			defer h.Close()
			if got := getPrompt(t, h, "", "p", c.arguments); got != c.want {
				t.Errorf("%s\n got %s\nwant %s", c.claim, got, c.want)
			}
		})
	}
}

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
			w := newWorld()
			w.do["bytes"] = func(context.Context, *adapters.Call) (any, error) { return value.Bytes("hi"), nil }
			w.do["huge"] = func(context.Context, *adapters.Call) (any, error) { return strings.Repeat("x", 17<<20), nil }
			h := w.host(t, neighbours+"resource \"r\" {\n"+c.resource+"\n}\n")
			defer h.Close()
			if got := readResource(t, h, "", c.uri); got != c.want {
				t.Errorf("%s\n got %.500s\nwant %s", c.claim, got, c.want)
			}
		})
	}
}

func TestOneDocumentGoesBeforeAFamilyAndTheNameDecidesAmongFamilies(t *testing.T) {
	h := newWorld().host(t, `
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
	defer h.Close()
	for uri, want := range map[string]string{"doc://one": `"c"`, "doc://two": `"a two"`} {
		if got := readResource(t, h, "", uri); !strings.Contains(got, `"text":`+want) {
			t.Errorf("%s: %s", uri, got)
		}
	}
}

func TestHowLongADocumentMayBeKeptIsTold(t *testing.T) {
	h := newWorld().host(t, `
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
	defer h.Close()
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

func TestPromptsAndResourcesAreListedWithAllThatIsSaidOfThem(t *testing.T) {
	h := newWorld().host(t, `
prompt "p" {
  title       = "P"
  description = "A prompt."
  icons       = [{ src = "https://x.example/i.png", mime_type = "image/png", sizes = ["48x48"] }]
  argument "style" {
    type        = enum("short", "long")
    title       = "Style"
    description = "How much."
  }
  argument "n" { type = optional(integer) }
  message "user" { text = "${input.style} ${input.n == null ? 0 : input.n}" }
}
prompt "bare" {
  description = "Bare."
  message "user" { text = "x" }
}
resource "doc" {
  uri         = "doc://a"
  title       = "Doc"
  description = "A document."
  text        = "Hello"
  annotations {
    audience      = ["user"]
    priority      = 1
    last_modified = "2026-01-31T15:04:05Z"
  }
}
resource "family" {
  uri_template = "doc://{id}/data"
  mime_type    = "application/json"
  text         = "${input.id}"
}
resource "hidden" {
  uri    = "doc://hidden"
  listed = false
  text   = "x"
}`)
	defer h.Close()
	for of, want := range map[mcp.Listing]string{
		mcp.Prompts: `{"prompts":[{"name":"bare","description":"Bare."},{"name":"p","title":"P","description":"A prompt.","icons":[{"src":"https://x.example/i.png","mimeType":"image/png","sizes":["48x48"]}],` +
			`"arguments":[{"name":"style","title":"Style","description":"How much. One of short, long.","required":true},{"name":"n","description":"An integer."}]}]}`,
		mcp.Resources: `{"resources":[{"name":"doc","uri":"doc://a","title":"Doc","description":"A document.","mimeType":"text/plain","size":5,` +
			`"annotations":{"audience":["user"],"priority":1,"lastModified":"2026-01-31T15:04:05Z"}}]}`,
		mcp.Templates: `{"resourceTemplates":[{"name":"family","uriTemplate":"doc://{id}/data","mimeType":"application/json"}]}`,
	} {
		list := h.List(t.Context(), &mcp.Caller{}, of)
		legacy, modern := string(list.AppendResult(nil, mcp.Revision20251125)), string(list.AppendResult(nil, mcp.Revision20260728))
		if legacy != want {
			t.Errorf("legacy\n got %s\nwant %s", legacy, want)
		}
		if !strings.HasPrefix(modern, `{"resultType":"complete",`+want[1:len(want)-1]) || !json.Valid([]byte(modern)) {
			t.Errorf("modern\n got %s\nwant %s", modern, want)
		}
	}
	if got := readResource(t, h, "", "doc://hidden"); !strings.Contains(got, `"text":"x"`) {
		t.Errorf("what is not listed cannot be read: %s", got)
	}
}
