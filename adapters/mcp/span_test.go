package mcp_test

import (
	"strings"
	"testing"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
	"hatchel/adapters/mcp/client/mcptest"
)

// spanRecorder records the names and attributes of spans.
type spanRecorder map[string]string

func (r spanRecorder) Start(name string, _ adapters.SpanKind) adapters.SpanRecorder {
	r["name"] = name
	return r
}
func (r spanRecorder) SetText(key, text string) { r[key] = text }
func (r spanRecorder) SetInt(string, int)       {}
func (r spanRecorder) AddEvent(string)          {}
func (r spanRecorder) AddLink(string)           {}
func (r spanRecorder) Traceparent() string      { return "" }
func (r spanRecorder) End(string)               {}

func TestASpanNamesWhatWasCalled(t *testing.T) {
	s := &mcptest.Server{Era: mcptest.Modern}
	s.SetTools(createIssue, deleteRepo)
	b := adaptertest.Bind(t, source(t, s.Start(t), "", "", `    call = "delete_repo"`))
	call, err := b.Call(t.Context(), `{}`)
	if err != nil {
		t.Fatal(err)
	}
	got := spanRecorder{}
	call.Span = adapters.NewSpan(got)
	if _, err := b.Action.Do(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"name": "tools/call delete_repo", "mcp.protocol.version": "2026-07-28", "hatchel.connection": "github",
	} {
		if got[name] != want {
			t.Errorf("%s is %q", name, got[name])
		}
	}
	if !strings.HasPrefix(got["hatchel.definition"], "sha256:") || len(got["hatchel.definition"]) != len("sha256:")+64 {
		t.Errorf("the definition is %q", got["hatchel.definition"])
	}
}
