package runtime

import (
	"strings"
	"testing"
	"testing/synctest"

	"hatchel/runtime/edge/mcp"
)

const maskOfSupport = `
mask "contact" {
  members = ["email"]
  unless  = "'support' in caller.groups"
}
`

// inGroup returns a caller of the request who is in a group, or in none.
func inGroup(req *mcp.CallRequest, group string) *mcp.CallRequest {
	c := *req.Caller
	id := &mcp.Identity{Key: "p", Subject: "ann"}
	if group != "" {
		id.Groups = []string{group}
	}
	c.Identity, c.Subject = id, "ann"
	req.Caller = &c
	return req
}

// What was stored for a caller who saw more than now is not shown to them: the result of a task, and that of a key.
func TestStoredResultsAreMaskedAsTheRulesAreNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, maskOfSupport+tool("t", task1h+`fake { value = { email = "ada@example.com", n = 1 } }`)+
			tool("k", keyed+`fake { value = { email = "ada@example.com", n = 1 } }`))
		for _, group := range []string{"support", ""} {
			r := mustCall(t, h, inGroup(modernRequest("t", `{}`, following), group))
			synctest.Wait()
			waitForTasks(t, h)
			for _, now := range []string{"support", ""} {
				read := inGroup(modernRequest("t", `{}`, following), now).Caller
				got, err := requestTask(t.Context(), h, &mcp.TaskRequest{Method: "tasks/get", ID: r.TaskID, Caller: read})
				if err != nil {
					t.Fatal(err)
				}
				text := string(got.AppendJSON(nil))
				want := "(masked)"
				switch {
				case group == "support" && now == "support":
					want = "ada@example.com"
				case group == "support":
					want = `you may no longer see what the mask \"contact\" hides`
				}
				if !strings.Contains(text, want) || want != "ada@example.com" && strings.Contains(text, "ada@") {
					t.Errorf("a task of %q, read by %q: %s", group, now, text)
				}
			}
			first := mustCall(t, h, inGroup(modernRequest("k", `{"idempotency_key":"of-`+group+`"}`, `{}`), group))
			again := mustCall(t, h, inGroup(modernRequest("k", `{"idempotency_key":"of-`+group+`"}`, `{}`), ""))
			if text := again.text(); strings.Contains(text, "ada@") || group == "support" != strings.Contains(text, "no longer see") {
				t.Errorf("a key of %q, first %s, then %s", group, first.text(), text)
			}
		}
	})
}

// A call that waits for its client goes on with what its caller may see by then, or not at all.
func TestAPausedCallIsNotContinuedForWhoLostARight(t *testing.T) {
	h := newHost(t, maskOfSupport+tool("t", `
		step "x" {
		  fake { value = { email = "ada@example.com" } }
		}
		step "who" {
		  ask "name" {
		    elicit {
		      message = "Who?"
		      fields  = object({ name = string })
		    }
		  }
		}
		text = "${step.x.value.email} for ${step.who.name.content.name}"
	`))
	const can = `{"elicitation":{"form":{}}}`
	for _, x := range []struct{ before, after, want string }{
		{"support", "support", "ada@example.com for Ada"},
		{"support", "", `you may no longer see what the mask "contact" hides`},
		{"", "support", "(masked) for Ada"},
	} {
		first := mustCall(t, h, inGroup(modernRequest("t", `{}`, can), x.before))
		again := inGroup(retryRequest(modernRequest("t", `{}`, can), first.RequestState, `{"name":`+accept+`}`), x.after)
		if text := mustCall(t, h, again).text(); !strings.Contains(text, x.want) {
			t.Errorf("%q, then %q: %s", x.before, x.after, text)
		}
	}
}
