package soak

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Protocol revisions of the two eras.
const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

var eras = []string{legacy, modern}

// dial connects a client of the official SDK. It has its own connection pool, which close empties.
func dial(ctx context.Context, host, toolset, era string, options *mcp.ClientOptions) (*mcp.ClientSession, func(),
	error) {
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

// answeringClient answers questions of the server: most of the time it accepts, otherwise it
// declines, cancels, or answers with a form that does not match the question.
func answeringClient(count func(string)) *mcp.ClientOptions {
	return &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			count("elicitation answered")
			switch rand.IntN(10) {
			case 0:
				return &mcp.ElicitResult{Action: "decline"}, nil
			case 1:
				return &mcp.ElicitResult{Action: "cancel"}, nil
			}
			result := &mcp.ElicitResult{Action: "accept"}
			if req.Params.RequestedSchema != nil {
				result.Content = generateObject(parseSchema(req.Params.RequestedSchema))
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

// sampleTexts are values for string inputs, some of them hostile.
var sampleTexts = []string{
	"Ada", "two words", "Zoë & Söhne", "42", "'; DROP TABLE board; --", "$(touch canary)", "../../etc/passwd",
	"${input.name}", "\"quoted\"", "",
}

var sampleFormats = map[string]string{
	"date": "2026-02-03", "date-time": "2026-02-03T04:05:06Z", "time": "04:05:06Z", "email": "ada@example.com",
	"uri": "https://example.com/x",
}

func parseSchema(from any) *jsonschema.Schema {
	s := new(jsonschema.Schema)
	if err := json.Unmarshal([]byte(encode(from)), s); err != nil {
		return &jsonschema.Schema{}
	}
	return s
}

// generateObject returns a value that has every required property and matches the schema most of
// the time.
func generateObject(s *jsonschema.Schema) map[string]any {
	value := map[string]any{}
	for name, property := range s.Properties {
		if isRequired(s, name) || rand.IntN(2) == 0 {
			value[name] = generateValue(property, s)
		}
	}
	return value
}

func isRequired(s *jsonschema.Schema, name string) bool {
	for _, r := range s.Required {
		if r == name {
			return true
		}
	}
	return false
}

func generateValue(s, root *jsonschema.Schema) any {
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok && root.Defs[name] != nil {
		s = root.Defs[name]
	}
	switch alternatives := append(s.OneOf, s.AnyOf...); {
	case s.Const != nil:
		return *s.Const
	case len(s.Enum) > 0:
		return s.Enum[rand.IntN(len(s.Enum))]
	case len(alternatives) > 0:
		return generateValue(alternatives[rand.IntN(len(alternatives))], root)
	}
	kind := s.Type
	if len(s.Types) > 0 {
		kind = s.Types[rand.IntN(len(s.Types))]
	}
	switch kind {
	case "object":
		object := map[string]any{}
		for name, property := range s.Properties {
			object[name] = generateValue(property, root)
		}
		return object
	case "array":
		list := []any{}
		for range max(deref(s.MinItems), rand.IntN(3)) {
			if s.Items != nil {
				list = append(list, generateValue(s.Items, root))
			}
		}
		return list
	case "integer", "number":
		return deref(s.Minimum) + float64(rand.IntN(3))
	case "boolean":
		return rand.IntN(2) == 0
	case "null":
		return nil
	}
	if text, ok := sampleFormats[s.Format]; ok {
		return text
	}
	text := sampleTexts[rand.IntN(len(sampleTexts))]
	return text + strings.Repeat("x", max(0, deref(s.MinLength)-len(text)))
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// encode returns v as JSON. It panics when v cannot be encoded, which no value made here causes.
func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
