package mcp_test

import (
	"strings"
	"sync"
	"testing"

	"hatchel/adapters/adaptertest"
	"hatchel/adapters/mcp/client/mcptest"
)

func TestATraceShowsEveryMessageAndNoSecret(t *testing.T) {
	for era, revision := range map[mcptest.Era]string{
		mcptest.Legacy: mcptest.LegacyRevision, mcptest.Modern: mcptest.ModernRevision,
	} {
		s := &mcptest.Server{Era: era, Stateful: true}
		s.SetTools(createIssue, deleteRepo)
		s.Handle("create_issue", func(*mcptest.Call) (any, error) { return mcptest.Structured(map[string]any{"number": 7}), nil })
		b := adaptertest.Bind(t, source(t, s.Start(t), "  auth { bearer = secret.key }", titled, `    call = "create_issue"`))
		call, err := b.Call(t.Context(), `{"title": "Fire"}`)
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var trace strings.Builder
		call.Trace = func(event, text string) {
			mu.Lock()
			defer mu.Unlock()
			trace.WriteString(event + ": " + text)
		}
		if _, err := b.Action.Do(t.Context(), call); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		defer mu.Unlock()
		got := trace.String()
		for _, want := range []string{"server/discover", "tools/list", "tools/call", "Fire", `"number"`, "sent: ", "received: ",
			"session: protocol " + revision + ", opened "} {
			if !strings.Contains(got, want) {
				t.Errorf("the trace does not have %q:\n%s", want, got)
			}
		}
		if strings.Contains(got, "s3cret") {
			t.Errorf("the trace has a secret:\n%s", got)
		}
	}
}
