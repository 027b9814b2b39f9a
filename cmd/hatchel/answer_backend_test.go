package main

import (
	"bytes"
	"strings"
	"testing"

	"hatchel/hcl"
	"hatchel/runtime/edge/mcp"
)

const backendForm = `{"message":"github asks: Who?","mode":"form","requestedSchema":{"type":"object",` +
	`"properties":{"name":{"type":"string","minLength":2}},"required":["name"]}}`

func TestQuestionsOfOtherServersAreAnswered(t *testing.T) {
	op := &hcl.Operation{Name: "t", Steps: []*hcl.Step{{Backend: &hcl.Backend{Effects: hcl.Effects{Upstream: "github"}}}}}
	form := mcp.Question{Key: "github.1", Method: "elicitation/create", Params: []byte(backendForm)}
	page := mcp.Question{Key: "github.2", Method: "elicitation/create", Params: []byte(`{"message":"github asks: Sign in","mode":"url","url":"https://github.example/"}`)}
	prompt := mcp.Question{Key: "github.3", Method: "sampling/createMessage", Params: []byte(`{"messages":[],"maxTokens":9}`)}
	p, err := newPrompter(op, []string{`github.1={"name": "Ada"}`, "github.2=accept", "github.3=Paris"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for capability := range map[string]bool{"elicitation": true, "sampling": true} {
		if !strings.Contains(string(p.capabilities()), capability) {
			t.Errorf("the client has %s", p.capabilities())
		}
	}
	got, err := p.answer(t.Context(), []mcp.Question{form, page, prompt})
	want := `{"github.1":{"action":"accept","content":{"name":"Ada"}},"github.2":{"action":"accept","content":{}},` +
		`"github.3":{"content":{"text":"Paris","type":"text"},"model":"person","role":"assistant"}}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
	screen := new(bytes.Buffer)
	if p, err = newPrompter(op, nil, newPromptTerminal(strings.NewReader("A\nAda\naccept\n"), screen)); err != nil {
		t.Fatal(err)
	}
	got, err = p.answer(t.Context(), []mcp.Question{form})
	if want := `{"github.1":{"action":"accept","content":{"name":"Ada"}}}`; err != nil || string(got) != want ||
		!strings.Contains(screen.String(), "github asks: Who?") {
		t.Errorf("got %s, %v after %s", got, err, screen)
	}
	if p, err = newPrompter(op, []string{"github.2=accept"}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err = p.answer(t.Context(), []mcp.Question{form}); err == nil || !strings.Contains(err.Error(), "--answer github.1=") {
		t.Errorf("got %v", err)
	}
	if _, err = newPrompter(op, []string{"gitlab.1=accept"}, nil); err == nil || !strings.Contains(err.Error(), "no question") && !strings.Contains(err.Error(), "asks no questions") {
		t.Errorf("got %v", err)
	}
}
