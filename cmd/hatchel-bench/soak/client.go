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
// declines, cancels, or accepts with an empty form.
func answeringClient(count func(string)) *mcp.ClientOptions {
	return &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			count("elicitation answered")
			result := &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}
			switch rand.IntN(10) {
			case 0:
				return &mcp.ElicitResult{Action: "decline"}, nil
			case 1:
				return &mcp.ElicitResult{Action: "cancel"}, nil
			case 2:
				return result, nil
			}
			var schema struct{ Properties map[string]any }
			if err := json.Unmarshal([]byte(encode(req.Params.RequestedSchema)), &schema); err != nil {
				return nil, err
			}
			for name := range schema.Properties {
				result.Content[name] = formAnswers[name]
			}
			return result, nil
		},
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			count("sampling answered")
			return &mcp.CreateMessageResult{Role: "assistant", Model: "bench-1", StopReason: "endTurn",
				Content: &mcp.TextContent{Text: "In short: yes."}}, nil
		},
	}
}

// request is one request of a client.
type request struct {
	method string
	send   func(context.Context, *mcp.ClientSession) error
}

// requests are sent to the folder of Load together with examples/conformance. Some have mistakes.
var requests = []request{
	{"tools/list", func(ctx context.Context, s *mcp.ClientSession) error { return drain(s.Tools(ctx, nil)) }},
	{"prompts/list", func(ctx context.Context, s *mcp.ClientSession) error { return drain(s.Prompts(ctx, nil)) }},
	{"resources/list", func(ctx context.Context, s *mcp.ClientSession) error { return drain(s.Resources(ctx, nil)) }},
	{"resources/templates/list", func(ctx context.Context, s *mcp.ClientSession) error {
		return drain(s.ResourceTemplates(ctx, nil))
	}},
	callTool("say_hello", map[string]any{"name": "$(touch canary) ${input.name} '; DROP TABLE board; --"}),
	callTool("say_hello", map[string]any{"name": 7}),
	callTool("office_lookup", map[string]any{"id": 1}),
	callTool("post", nil),
	callTool("no_such_tool", nil),
	callTool("slow_compute", map[string]any{"seconds": 0.2}),
	callTool("confirm_delete", map[string]any{"filename": "../../etc/passwd"}),
	callTool("multi_input", nil),
	callTool("test_sampling", map[string]any{"prompt": "Is it so?"}),
	callTool("test_elicitation", map[string]any{"message": "Who are you?"}),
	callTool("test_elicitation_sep1034_defaults", nil),
	callTool("test_elicitation_sep1330_enums", nil),
	callTool("ask_on_a_page", nil),
	callTool("ask_if_possible", nil),
	callTool("test_error_handling", nil),
	callTool("test_multiple_content_types", nil),
	callTool("test_tool_with_progress", nil),
	callTool("test_tool_with_logging", nil),
	getPrompt("test_simple_prompt", nil),
	getPrompt("test_prompt_with_arguments", map[string]string{"arg1": "park", "arg2": `"quoted"`}),
	getPrompt("test_prompt_with_arguments", nil),
	readResource("load://page/7"),
	readResource("load://page/99"),
	readResource("load://board"),
	readResource("test://static-binary"),
	{"completion/complete", func(ctx context.Context, s *mcp.ClientSession) error {
		_, err := s.Complete(ctx, &mcp.CompleteParams{
			Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: "test_prompt_with_arguments"},
			Argument: mcp.CompleteParamsArgument{Name: "arg1", Value: "par"},
		})
		return err
	}},
	{"cancelled tools/call", func(ctx context.Context, s *mcp.ClientSession) error {
		short, cancel := context.WithTimeout(ctx, time.Duration(rand.IntN(20))*time.Millisecond)
		defer cancel()
		s.CallTool(short, &mcp.CallToolParams{Name: pick([]string{"post", "slow_compute", "multi_input"})})
		return nil
	}},
}

func callTool(name string, arguments map[string]any) request {
	return request{"tools/call", func(ctx context.Context, s *mcp.ClientSession) error {
		_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
		return err
	}}
}

func getPrompt(name string, arguments map[string]string) request {
	return request{"prompts/get", func(ctx context.Context, s *mcp.ClientSession) error {
		_, err := s.GetPrompt(ctx, &mcp.GetPromptParams{Name: name, Arguments: arguments})
		return err
	}}
}

func readResource(uri string) request {
	return request{"resources/read", func(ctx context.Context, s *mcp.ClientSession) error {
		_, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
		return err
	}}
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
