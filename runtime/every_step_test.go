package runtime

import (
	"testing"

	"hatchel/runtime/edge/mcp"
)

// everyStep declares the tool outer, whose text is what a backend returns to a tool that it calls and to two
// elements of an each.
func everyStep(do string) string {
	backend := `fake { do = "` + do + `" }`
	return tool("inner", backend) + tool("outer", `
step "inner" {
  tool "inner" {}
}
step "each" {
  each     = [1, 2]
  parallel = 2
  `+backend+`
}
text = "${step.inner.result} ${step.each[0].value} ${step.each[1].value}"`)
}

// afterRestart makes a call that becomes a task, which asks its client between two steps with the backends before
// and after. Then it restarts the Host, answers as a caller, and returns what both steps have returned.
func afterRestart(
	t *testing.T, w *fakeBackend, path, before, after string, req *mcp.CallRequest, who func(*mcp.Caller),
) string {
	t.Helper()
	src := tool("t", task1h+`
step "before" {
  fake { do = "`+before+`" }
}
step "sure" {
  ask "sure" {
    elicit { message = "Sure?" }
  }
}
step "after" {
  fake { do = "`+after+`" }
}
text = "${step.before.value} ${step.after.value}"`)
	h := newHost(t, src, w.use, storedIn(t, path))
	id := mustCall(t, h, req).TaskID
	request := func(method, answers string) *callReply {
		r, err := taskRequest(t, h, method, id, answers, who)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	waitFor(t, func() bool { return request("tasks/get", "").Status == "input_required" })
	h.Close()
	h = newHost(t, src, w.use, storedIn(t, path))
	defer h.Close()
	request("tasks/update", `{"sure":{"action":"accept","content":{}}}`)
	waitFor(t, func() bool { return request("tasks/get", "").Status == "completed" })
	return request("tasks/get", "").Result.text()
}
