package runtime

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"hatchel/runtime/edge/mcp"
)

// apiKeyBlock returns an auth block with one key.
func apiKeyBlock(name, key string) string {
	return fmt.Sprintf("auth {\n  api_key %q { sha256 = \"%x\" }\n}\n", name, sha256.Sum256([]byte(key)))
}

// authenticateKey returns the caller of a request over HTTP with a key; an empty key is none.
func authenticateKey(t *testing.T, h *Host, key string) *mcp.Caller {
	t.Helper()
	c := &mcp.Caller{Revision: mcp.Revision20260728, Capabilities: []byte(following), Header: http.Header{}}
	if key == "" {
		return c
	}
	i, refused := h.Authenticator().Authenticate(&http.Request{Header: http.Header{"X-Api-Key": {key}}})
	if refused != nil {
		t.Fatal(refused.Reason)
	}
	c.Identity, c.Subject = i, i.Subject
	return c
}

// isUnauthorized reports whether an error says that the caller is not authenticated.
func isUnauthorized(err error) bool {
	var e *mcp.Error
	return errors.As(err, &e) && e.Code == mcp.CodeUnauthorized
}

func TestARequestIsServedByTheConfigurationThatKnowsWhoMadeIt(t *testing.T) {
	const tool = "tool \"t\" {\n description = \"A tool.\"\n text = \"${coalesce(caller.subject, \"nobody\")}\"\n}\nresource \"r\" {\n uri = \"x://r\"\n text = \"x\"\n}\nprompt \"p\" {\n description = \"A prompt.\"\n message \"user\" { text = \"x\" }\n}\n"
	h := newHost(t, tool)
	asks := func(c *mcp.Caller) (errs []error) {
		for _, ask := range []func() error{
			func() error {
				_, err := requestTool(t.Context(), h, &mcp.CallRequest{Name: "t", Arguments: []byte(`{}`), Caller: c})
				return err
			},
			func() error {
				_, err := h.ReadResource(t.Context(), &mcp.CallRequest{Name: "x://r", Caller: c})
				return err
			},
			func() error {
				_, err := h.GetPrompt(t.Context(), &mcp.CallRequest{Name: "p", Arguments: []byte(`{}`), Caller: c})
				return err
			},
			func() error {
				err := h.SubscribeResource(t.Context(), c, "x://r")
				if err == nil {
					h.UnsubscribeResource(c, "x://r")
				}
				return err
			},
		} {
			errs = append(errs, ask())
		}
		return errs
	}
	check := func(what string, c *mcp.Caller, served bool) {
		t.Helper()
		for i, err := range asks(c) {
			if served && err != nil || !served && !isUnauthorized(err) {
				t.Errorf("%s, request %d: %v", what, i, err)
			}
		}
		if n := h.List(t.Context(), c, mcp.Tools).Len(); (n > 0) != served {
			t.Errorf("%s: %d tools are listed", what, n)
		}
	}
	nobody := authenticateKey(t, h, "")
	check("nobody, where nobody is asked", nobody, true)
	load(t, h, tool+apiKeyBlock("ada", "the key of ada 012345"))
	ada := authenticateKey(t, h, "the key of ada 012345")
	check("nobody, where somebody is known", nobody, false)
	check("ada", ada, true)
	check("who has started the process", &mcp.Caller{Revision: mcp.Revision20260728}, true)
	load(t, h, tool+anotherTool+apiKeyBlock("ada", "the key of ada 012345"))
	check("ada, after a reload", ada, true)
	load(t, h, tool+apiKeyBlock("ada", "another key of ada 012345"))
	check("ada with the key before", ada, false)
	load(t, h, tool)
	check("ada, where nobody is asked", ada, false)
}

const anotherTool = "tool \"another\" {\n description = \"Another tool.\"\n text = \"x\"\n}\n"

func TestWhoStandsNoMoreIsLetGoAtTheReload(t *testing.T) {
	const tool = "tool \"t\" {\n description = \"A tool.\"\n text = \"x\"\n}\n"
	h := newHost(t, tool+apiKeyBlock("ada", "the key of ada 012345"))
	ada, let := authenticateKey(t, h, "the key of ada 012345").Identity, &departures{}
	h.SetNotifier(let)
	load(t, h, tool+anotherTool+apiKeyBlock("ada", "the key of ada 012345"))
	if !let.stands(ada) || let.stands(nil) {
		t.Error("ada was let go, or nobody was not")
	}
	load(t, h, tool+apiKeyBlock("bob", "the key of bob 012345"))
	if let.stands(ada) {
		t.Error("ada was not let go")
	}
}

// departures records which callers stay authenticated.
type departures struct {
	audience
	stands func(*mcp.Identity) bool
}

func (d *departures) ListsChanged(func(string) mcp.Changes)  {}
func (d *departures) Retain(stands func(*mcp.Identity) bool) { d.stands = stands }

func TestScopesAreThoseOfAllThatACallTakes(t *testing.T) {
	h := newHost(t, `
		tool "inner" {
		  description = "A tool."
		  scopes      = ["b", "a"]
		  text        = "x"
		}
		tool "outer" {
		  description = "A tool."
		  scopes      = ["a"]
		  step "one" {
		    tool "inner" {}
		  }
		  text = "y"
		}
		resource "r" {
		  uri    = "x://r"
		  scopes = ["c"]
		  text   = "x"
		}`)
	ask := func(scopes ...string) error {
		c := &mcp.Caller{Revision: mcp.Revision20260728, Identity: &mcp.Identity{Subject: "ada", Scopes: scopes}}
		_, err := requestTool(t.Context(), h, &mcp.CallRequest{Name: "outer", Arguments: []byte(`{}`), Caller: c})
		return err
	}
	for scopes, want := range map[string]string{"": "a b", "a": "a b", "b": "a b", "a b": "", "b c a": ""} {
		err := ask(strings.Fields(scopes)...)
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasSuffix(err.Error(), want+" (-32011)")) {
			t.Errorf("with %q: %v", scopes, err)
		}
	}
	c := &mcp.Caller{Revision: mcp.Revision20260728, Identity: &mcp.Identity{Subject: "ada"}}
	if _, err := h.ReadResource(t.Context(), &mcp.CallRequest{Name: "x://r", Caller: c}); err == nil {
		t.Error("the resource was read without its scope")
	}
	if err := h.SubscribeResource(t.Context(), c, "x://r"); err == nil {
		t.Error("the resource is followed without its scope")
	}
	c.Identity = nil // nobody is asked
	if _, err := h.ReadResource(t.Context(), &mcp.CallRequest{Name: "x://r", Caller: c}); err != nil {
		t.Error(err)
	}
}

func TestTasksAndQuestionsAreThoseOfTheirCaller(t *testing.T) {
	w := newFakeBackend()
	h := newHost(t, `
		tool "t" {
		  description = "A tool."
		  task {}
		  step "who" {
		    ask "name" {
		      elicit {
		        message = "Who?"
		        fields  = object({ name = string })
		      }
		    }
		  }
		  text = "${caller.subject} of ${caller.claims.tenant}, ${caller.groups[0]}"
		}`, w.use)
	identity := func(key, subject string) func(*mcp.Caller) {
		return func(c *mcp.Caller) {
			c.Identity = &mcp.Identity{Subject: subject, Key: key, Claims: []byte(`{"tenant":"t1"}`), Groups: []string{"finance"}}
			c.Subject = subject
		}
	}
	req := modernRequest("t", `{}`, following)
	identity("one", "ada")(req.Caller)
	id := mustCall(t, h, req).TaskID
	waitFor(t, func() bool {
		r, err := taskRequest(t, h, "tasks/get", id, "", identity("one", "ada"))
		return err == nil && r.Status == "input_required"
	})
	for what, who := range map[string]func(*mcp.Caller){"another": identity("one", "bob"), "one of that name": identity("two", "ada"), "nobody": func(*mcp.Caller) {}} {
		if _, err := taskRequest(t, h, "tasks/get", id, "", who); !isUnknownTask(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := taskRequest(t, h, "tasks/update", id, `{"name":{"action":"accept","content":{"name":"x"}}}`, identity("one", "ada")); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		r, err := taskRequest(t, h, "tasks/get", id, "", identity("one", "ada"))
		return err == nil && r.Status == "completed" && r.Result.text() == "ada of t1, finance"
	})
}
