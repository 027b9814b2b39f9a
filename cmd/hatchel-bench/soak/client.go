package soak

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Protocol revisions of the two eras.
const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

var eras = []string{legacy, modern}

// dial connects a client of the official SDK. It has its own connection pool, which close empties.
func dial(ctx context.Context, host, toolset, era string, options *mcp.ClientOptions) (s *mcp.ClientSession,
	close func(), err error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	endpoint := "http://" + host + "/mcp"
	if toolset != "" {
		endpoint += "/" + toolset
	}
	session, err := connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: endpoint, HTTPClient: &http.Client{Transport: transport},
		DisableStandaloneSSE: options.ResourceUpdatedHandler == nil && options.ElicitationHandler == nil,
	}, era, options)
	if err != nil {
		transport.CloseIdleConnections()
		return nil, nil, err
	}
	return session, func() {
		session.Close()
		transport.CloseIdleConnections()
	}, nil
}

func connect(ctx context.Context, t mcp.Transport, era string, options *mcp.ClientOptions) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "hatchel-bench", Version: "1.0.0"}, options)
	return client.Connect(ctx, t, &mcp.ClientSessionOptions{ProtocolVersion: era})
}

// formAnswers are values for the fields of the forms in examples/conformance.
var formAnswers = map[string]any{
	"username": "Ada", "name": "Zoë & Söhne", "email": "ada@example.com", "age": 36, "score": 99.5, "verified": true,
	"status": "active", "untitledSingle": "option1", "titledSingle": "value1", "legacyEnum": "opt1",
	"untitledMulti": []string{"option1", "option2"}, "titledMulti": []string{"value1"}, "confirm": true,
}

// answeringClient answers questions of the server: most of the time it accepts, otherwise it
// declines or cancels.
func answeringClient(count func(string)) *mcp.ClientOptions {
	return &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			count("elicitation answered")
			result := &mcp.ElicitResult{Action: pick([]string{"accept", "accept", "accept", "decline", "cancel"})}
			if result.Action != "accept" {
				return result, nil
			}
			result.Content = map[string]any{}
			var schema struct{ Properties map[string]any }
			if err := json.Unmarshal([]byte(encode(req.Params.RequestedSchema)), &schema); err != nil {
				return nil, err
			}
			for name := range schema.Properties {
				result.Content[name] = formAnswers[name]
			}
			return result, nil
		},
		//lint:ignore SA1019 sampling is deprecated in the protocol, and the server still supports it
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			count("sampling answered")
			//lint:ignore SA1019 as above
			return &mcp.CreateMessageResult{Role: "assistant", Model: "bench-1", StopReason: "endTurn",
				Content: &mcp.TextContent{Text: "In short: yes."}}, nil
		},
	}
}

// request is one request of a client.
type request struct {
	method    string
	name      string // of the tool or prompt, or URI of the resource
	arguments map[string]any
}

// requests are sent to the folder of Load together with examples/conformance. Some have mistakes.
var requests = []request{
	{method: "tools/list"}, {method: "prompts/list"}, {method: "resources/list"}, {method: "resources/templates/list"},
	{"tools/call", "say_hello", map[string]any{"name": "$(touch canary) ${input.name} '; DROP TABLE board; --"}},
	{"tools/call", "say_hello", map[string]any{"name": 7}},
	{"tools/call", "office_lookup", map[string]any{"id": 1}},
	{"tools/call", "slow_compute", map[string]any{"seconds": 0.2}},
	{"tools/call", "confirm_delete", map[string]any{"filename": "../../etc/passwd"}},
	{"tools/call", "test_sampling", map[string]any{"prompt": "Is it so?"}},
	{"tools/call", "test_elicitation", map[string]any{"message": "Who are you?"}},
	{"tools/call", "post", nil}, {"tools/call", "no_such_tool", nil}, {"tools/call", "multi_input", nil},
	{"tools/call", "test_elicitation_sep1034_defaults", nil}, {"tools/call", "test_elicitation_sep1330_enums", nil},
	{"tools/call", "ask_on_a_page", nil}, {"tools/call", "ask_if_possible", nil},
	{"tools/call", "test_error_handling", nil}, {"tools/call", "test_multiple_content_types", nil},
	{"tools/call", "test_tool_with_progress", nil}, {"tools/call", "test_tool_with_logging", nil},
	{"cancelled tools/call", "post", nil}, {"cancelled tools/call", "slow_compute", nil},
	{"prompts/get", "test_simple_prompt", nil}, {"prompts/get", "test_prompt_with_arguments", nil},
	{"completion/complete", "test_prompt_with_arguments", nil},
	{"resources/read", "load://page/7", nil}, {"resources/read", "load://page/99", nil},
	{"resources/read", "load://board", nil}, {"resources/read", "test://static-binary", nil},
}

func (r request) send(ctx context.Context, s *mcp.ClientSession) (err error) {
	prompt := map[string]string{"arg1": "par", "arg2": `"quoted"`}
	switch r.method {
	case "tools/list":
		return drain(s.Tools(ctx, nil))
	case "prompts/list":
		return drain(s.Prompts(ctx, nil))
	case "resources/list":
		return drain(s.Resources(ctx, nil))
	case "resources/templates/list":
		return drain(s.ResourceTemplates(ctx, nil))
	case "tools/call":
		_, err = s.CallTool(ctx, &mcp.CallToolParams{Name: r.name, Arguments: r.arguments})
	case "cancelled tools/call":
		short, cancel := context.WithTimeout(ctx, time.Duration(rand.IntN(20))*time.Millisecond)
		defer cancel()
		s.CallTool(short, &mcp.CallToolParams{Name: r.name})
	case "prompts/get":
		_, err = s.GetPrompt(ctx, &mcp.GetPromptParams{Name: r.name, Arguments: prompt})
	case "completion/complete":
		_, err = s.Complete(ctx, &mcp.CompleteParams{
			Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: r.name},
			Argument: mcp.CompleteParamsArgument{Name: "arg1", Value: prompt["arg1"]},
		})
	case "resources/read":
		_, err = s.ReadResource(ctx, &mcp.ReadResourceParams{URI: r.name})
	}
	return err
}

// drain reads all pages of a list.
func drain[T any](pages iter.Seq2[T, error]) error {
	for _, err := range pages {
		if err != nil {
			return err
		}
	}
	return nil
}

func pick[T any](of []T) T { return of[rand.IntN(len(of))] }

// encode returns v as JSON. It panics when v cannot be encoded, which no value made here causes.
func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprint("encoding: ", err))
	}
	return string(b)
}
