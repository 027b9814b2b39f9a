package runtime

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"hatchel/runtime/edge/mcp"
)

// divided declares operations of each kind, of which some are allowed to one group.
const divided = `
tool "a" {
  description = "A."
  text        = "a"
}
tool "b" {
  description = "B."
  allow       = "'b' in caller.groups"
  text        = "b"
}
prompt "p" {
  description = "P."
  message "user" { text = "x" }
}
prompt "q" {
  description = "Q."
  message "user" { text = "x" }
}
resource "r" {
  uri  = "doc://r"
  text = "x"
}
resource "s" {
  uri  = "doc://s"
  text = "x"
}
resource "f" {
  uri_template = "f://{x}"
  text         = "${input.x}"
}
toolset "some" {
  tools   = ["b"]
  prompts = ["q"]
}
policy "documents" {
  prompts   = ["q"]
  resources = ["s", "f"]
  allow     = "'b' in caller.groups"
}
`

// visibleTools returns the names that each list shows a caller.
func visibleTools(h *Host, c *mcp.Caller) string {
	var all []string
	for _, of := range []mcp.Listing{mcp.Tools, mcp.Prompts, mcp.Resources, mcp.Templates} {
		all = append(all, strings.Join(h.List(context.Background(), c, of).Names(), ","))
	}
	return strings.Join(all, " | ")
}

func TestWhatACallerMayNotCallIsNotListedForThem(t *testing.T) {
	h := newHost(t, divided)
	if got := visibleTools(h, callerOf("ada", "a", "b")); got != "a,b | p,q | r,s | f" {
		t.Errorf("who may call everything sees %s", got)
	}
	for _, c := range []*mcp.Caller{{}, callerOf("eve"), callerOf("ada", "a")} {
		if got := visibleTools(h, c); got != "a | p | r | " {
			t.Errorf("%s sees %s", c.Subject, got)
		}
	}
	inside := callerOf("eve")
	inside.Toolset = "some"
	if got := visibleTools(h, inside); got != " |  |  | " {
		t.Errorf("in the toolset eve sees %s", got)
	}
	for of, private := range map[mcp.Listing]bool{mcp.Tools: true, mcp.Prompts: true, mcp.Resources: true, mcp.Templates: true} {
		for _, c := range []*mcp.Caller{callerOf("ada", "b"), callerOf("eve")} {
			answer := string(h.List(t.Context(), c, of).AppendResult(nil, mcp.Revision20260728))
			if strings.Contains(answer, `"cacheScope":"private"`) != private {
				t.Errorf("a list that depends on the caller is for everybody: %s", answer)
			}
		}
	}
}

func TestWhatDependsOnNobodyIsListedForEverybodyAlike(t *testing.T) {
	h := newHost(t, divided[:strings.Index(divided, "policy ")]+`policy "none" {
		tools = ["a"]
		deny  = "tool.read_only"
	}
	policy "late" {
		resources = ["f"]
		deny      = "input.x == 'no'"
	}`)
	if got := visibleTools(h, callerOf("ada", "b")); got != "b | p,q | r,s | f" {
		t.Errorf("seen %s", got)
	}
	for _, of := range []mcp.Listing{mcp.Prompts, mcp.Resources, mcp.Templates} {
		if answer := string(h.List(t.Context(), callerOf("ada"), of).AppendResult(nil, mcp.Revision20260728)); strings.Contains(answer, "private") {
			t.Errorf("nothing depends on the caller, and the list is private: %s", answer)
		}
	}
}

func TestWhatReadsInputsHidesNothing(t *testing.T) {
	h := newHost(t, paying+`
policy "large" {
  tools = ["pay"]
  deny  = "input.amount > 10 && 'finance' not in caller.groups"
}
policy "own" {
  tools = ["pay"]
  allow = "input.note == caller.subject"
}`)
	if got := visibleTools(h, callerOf("eve")); got != "look,pay |  |  | " {
		t.Errorf("seen %s", got)
	}
}

func TestClientsAreToldWhenAReloadDecidesOtherwise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, divided)
		e := newRecordingNotifier()
		h.SetNotifier(e)
		eve := callerOf("eve")
		if err := h.SubscribeResource(t.Context(), eve, "doc://r"); err != nil {
			t.Fatal(err)
		}
		load(t, h, divided+`policy "late" {
			tools = ["a"]
			deny  = "caller.subject == 'nobody' && length(input) > 3"
		}`)
		e.expect(t)
		load(t, h, divided+`policy "eve" { deny = "caller.subject == 'eve'" }`)
		e.expect(t, `"" {true true true}`, "doc://r")
		if got := visibleTools(h, eve); got != " |  |  | " {
			t.Errorf("eve sees %s", got)
		}
		load(t, h, divided+"\n"+`policy "eve" { deny = "caller.subject == 'eve'" } # as before`)
		e.expect(t)
		load(t, h, divided+`locals { bad = "mallory" }`+"\n"+`policy "eve" { deny = "caller.subject == local.bad" }`)
		e.expect(t, `"" {true true true}`, "doc://r")
		load(t, h, divided+`locals { bad = "eve" }`+"\n"+`policy "eve" { deny = "caller.subject == local.bad" }`)
		e.expect(t, `"" {true true true}`, "doc://r")
	})
}

func TestListsOfCallersAreMadeOnceAndNotWithoutBound(t *testing.T) {
	const many = 10
	var src strings.Builder
	for i := range many {
		fmt.Fprintf(&src, "tool \"t%d\" {\n description = \"T.\"\n allow = \"'g%d' in caller.groups\"\n text = \"x\"\n}\n", i, i)
	}
	h := newHost(t, src.String())
	one, same, other := callerOf("ada", "g1", "g2"), callerOf("bob", "g2", "g1"), callerOf("eve", "g1")
	if h.List(t.Context(), one, mcp.Tools) != h.List(t.Context(), same, mcp.Tools) {
		t.Error("callers who may call the same have each a list of their own")
	}
	if a, b := h.List(t.Context(), one, mcp.Tools), h.List(t.Context(), other, mcp.Tools); a == b || a.Len() != 2 || b.Len() != 1 {
		t.Errorf("lists of %d and %d tools", a.Len(), b.Len())
	}
	for set := range 1 << many {
		var groups []string
		for i := range many {
			if set&(1<<i) != 0 {
				groups = append(groups, fmt.Sprintf("g%d", i))
			}
		}
		if got := h.List(t.Context(), callerOf("x", groups...), mcp.Tools).Len(); got != len(groups) {
			t.Fatalf("%d tools for %q", got, groups)
		}
	}
}
