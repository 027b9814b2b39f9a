package runtime

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"hatchel/runtime/edge/mcp"
)

// concealing declares what could reveal a tool before its arguments are read: scopes, a header, a capability, a task.
const concealing = `
tool "hidden" {
  description = "For the staff."
  allow       = "'staff' in caller.groups"
  scopes      = ["more"]
  requires    = ["elicitation"]
  input "a" {
    type   = string
    header = "A"
  }
  text = "${input.a}"
}
tool "listed" {
  description = "For all, but not for all of it."
  allow       = "input.a != 'no'"
  input "a" { type = string }
  text = "${input.a}"
}
prompt "hidden" {
  description = "For the staff."
  allow       = "'staff' in caller.groups"
  argument "a" { type = integer }
  message "user" { text = "${input.a}" }
}
resource "hidden" {
  uri_template = "hidden://{a}"
  allow        = "'staff' in caller.groups"
  input "a" { type = integer }
  text = "${input.a}"
}`

// Who may never have something is answered as if there was nothing of its name, to the letter, whatever is wrong with the request beside that.
func TestWhatIsConcealedIsAnsweredAsWhatIsNotThere(t *testing.T) {
	w := newFakeBackend()
	h, path := newAuditedHost(t, concealing, w.use)
	for _, revision := range []mcp.Revision{mcp.Revision20251125, mcp.Revision20260728} {
		caller := callerOf("eve", "guests")
		caller.Revision = revision
		for _, arguments := range []string{`{"a":"x"}`, `{"a":1}`, `{"b":2}`, ``, `[`} {
			ask := func(name string) *mcp.CallRequest {
				return &mcp.CallRequest{Name: name, Arguments: []byte(arguments), Caller: caller, State: "made up"}
			}
			for what, do := range map[string]func(name string) error{
				"a tool": func(name string) error { _, err := requestTool(t.Context(), h, ask(name)); return err },
				"a tool with headers": func(name string) error {
					req, c := ask(name), *caller
					c.Header = http.Header{"Mcp-Param-A": {"other"}}
					req.Caller = &c
					_, err := requestTool(t.Context(), h, req)
					return err
				},
				"a prompt":   func(name string) error { _, err := h.GetPrompt(t.Context(), ask(name)); return err },
				"a resource": func(name string) error { _, err := h.ReadResource(t.Context(), ask(name+"://x")); return err },
				"a follower": func(name string) error { return h.SubscribeResource(t.Context(), caller, name+"://x") },
				"a completion": func(name string) error {
					_, err := h.Complete(t.Context(), &mcp.CompleteRequest{Kind: "prompt", Name: name, Argument: "a", Caller: caller})
					return err
				},
				"another value": func(name string) error {
					_, err := h.Complete(t.Context(), &mcp.CompleteRequest{Kind: "prompt", Name: name, Argument: "nothing", Caller: caller})
					return err
				},
			} {
				var hidden, absent *mcp.Error
				if !errors.As(do("hidden"), &hidden) || !errors.As(do("absent"), &absent) {
					t.Fatalf("%s: %v, and what is not there %v", what, hidden, absent)
				}
				same := func(text string) string { return strings.ReplaceAll(text, "hidden", "absent") }
				if same(hidden.Message) != absent.Message || hidden.Code != absent.Code || same(string(hidden.Data)) != string(absent.Data) {
					t.Errorf("%s with %s: %v %s, and what is not there %v %s", what, arguments, hidden, hidden.Data, absent, absent.Data)
				}
			}
		}
	}
	named := map[string]bool{}
	for _, r := range readRecords(t, path) {
		if r.Decision == "denied" && r.Outcome == "refused" {
			named[r.Kind+" "+r.Rule] = true
		}
	}
	for _, want := range []string{"tool tool.hidden.allow", "prompt prompt.hidden.allow", "resource resource.hidden.allow"} {
		if !named[want] {
			t.Errorf("the audit log does not name %s: %v", want, named)
		}
	}
	if got, _ := callText(t, h, &mcp.CallRequest{Name: "listed", Arguments: []byte(`{"a":"no"}`), Caller: callerOf("eve")}); got != "You are not allowed to make this call." {
		t.Errorf("of a tool that is listed: %s", got)
	}
}
