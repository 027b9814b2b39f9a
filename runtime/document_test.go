package runtime

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"hatchel/runtime/edge/mcp"
)

// ResourceUpdated makes an audience of the tests one that follows no resources.
func (audience) ResourceUpdated(string, func(*mcp.Caller) bool) {}

// documentText returns the result of a request for a prompt or a resource, or the error.
func documentText(d mcp.Document, err error) string {
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
	return documentText(h.GetPrompt(t.Context(), &mcp.CallRequest{Name: name, Arguments: []byte(arguments), Caller: &mcp.Caller{Revision: mcp.Revision20251125, Toolset: toolset}}))
}

func readResource(t testing.TB, h *Host, toolset, uri string) string {
	t.Helper()
	return documentText(h.ReadResource(t.Context(), &mcp.CallRequest{Name: uri, Caller: &mcp.Caller{Revision: mcp.Revision20251125, Toolset: toolset}}))
}

func TestPromptsAndResourcesAreListedWithAllThatIsSaidOfThem(t *testing.T) {
	h := newHost(t, `
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

func TestAPromptAndAResourceCanAskTheClient(t *testing.T) {
	h := newHost(t, `prompt "p" {
  description = "A prompt."
  step "who" {
    ask "name" {
      elicit {
        message = "Who?"
        fields  = object({ name = string })
      }
    }
  }
  message "user" { text = "Hello ${step.who.name.content.name}" }
}
resource "r" {
  uri = "doc://r"
  step "who" {
    ask "name" {
      elicit {
        message = "Who?"
        fields  = object({ name = string })
      }
    }
  }
  text = "Hello ${step.who.name.content.name}"
}
prompt "fault" {
  description = "A prompt."
  step "stop" {
    fault {
      code    = 1001
      message = "Not today"
    }
  }
  message "user" { text = "x" }
}`)
	caller := &mcp.Caller{Revision: mcp.Revision20260728, Capabilities: []byte(`{"elicitation":{}}`)}
	for name, c := range map[string]struct {
		serve func(*mcp.CallRequest) (mcp.Document, error)
		want  string
	}{
		"p":       {func(r *mcp.CallRequest) (mcp.Document, error) { return h.GetPrompt(t.Context(), r) }, `{"description":"A prompt.","messages":[{"role":"user","content":{"type":"text","text":"Hello Ada"}}]}`},
		"doc://r": {func(r *mcp.CallRequest) (mcp.Document, error) { return h.ReadResource(t.Context(), r) }, `{"contents":[{"uri":"doc://r","mimeType":"text/plain","text":"Hello Ada"}]}`},
	} {
		d, err := c.serve(&mcp.CallRequest{Name: name, Caller: caller})
		if err != nil || d.Questions == nil || len(d.Questions.Ask) != 1 || d.Questions.Ask[0].Key != "name" {
			t.Fatalf("%s: %v, %v", name, d, err)
		}
		again := &mcp.CallRequest{Name: name, Caller: caller, State: d.Questions.State, Answers: []byte(`{"name":{"action":"accept","content":{"name":"Ada"}}}`)}
		if got := documentText(c.serve(again)); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", name, got, c.want)
		}
		if got := documentText(c.serve(again)); !strings.HasPrefix(got, "error: requestState was not issued") {
			t.Errorf("%s: a state was used twice: %s", name, got)
		}
		if got := documentText(c.serve(&mcp.CallRequest{Name: name, Caller: &mcp.Caller{Revision: mcp.Revision20260728}})); !strings.HasPrefix(got, "error: ") {
			t.Errorf("%s: a client that cannot be asked got %s", name, got)
		}
	}
	if got := getPrompt(t, h, "", "fault", "{}"); got != "error: Not today (1001)" {
		t.Errorf("got %s", got)
	}
}
