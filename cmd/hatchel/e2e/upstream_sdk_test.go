//lint:file-ignore SA1019 sampling is deprecated in the newest revision, and served for as long as servers use it

package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// upstreamMode makes the test binary the server of newSDKUpstream, over its standard input and output.
const upstreamMode = "mcp-upstream"

func serveUpstream(dir string) error {
	received, err := os.Create(receivedFile(dir, os.Getpid()))
	if err != nil {
		return err
	}
	input := struct {
		io.Reader
		io.Closer
	}{io.TeeReader(os.Stdin, received), os.Stdin}
	return newSDKUpstream(dir).Run(context.Background(), &sdk.IOTransport{Reader: input, Writer: os.Stdout})
}

// receivedFile returns the file with all that the server has received over stdio.
func receivedFile(dir string, pid int) string {
	return filepath.Join(dir, fmt.Sprintf("received-%d", pid))
}

// startSDKUpstream serves newSDKUpstream over HTTP. Only without sessions does it speak 2026-07-28, and only with them
// can it ask in the earlier revisions.
func startSDKUpstream(t *testing.T, dir string, stateless bool) (url string) {
	server := newSDKUpstream(dir)
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server },
		&sdk.StreamableHTTPOptions{Stateless: stateless, PropagateRequestCancellation: true})
	listener := httptest.NewServer(handler)
	t.Cleanup(func() {
		listener.CloseClientConnections()
		listener.Close()
	})
	return listener.URL
}

type numbered struct {
	N string `json:"n"`
}

// newSDKUpstream returns an MCP server of the Go SDK with the tools of testdata/upstreams/server.mjs. It writes a file
// for each call that is cancelled.
func newSDKUpstream(dir string) *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "go", Version: "1"}, nil)
	add := func(name string, run func(context.Context, *sdk.CallToolRequest, string) (*sdk.CallToolResult, error)) {
		sdk.AddTool(server, &sdk.Tool{Name: name},
			func(ctx context.Context, r *sdk.CallToolRequest, in numbered) (*sdk.CallToolResult, any, error) {
				result, err := run(ctx, r, in.N)
				return result, nil, err
			})
	}
	add("content", func(_ context.Context, _ *sdk.CallToolRequest, n string) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{
			&sdk.TextContent{Text: n},
			&sdk.ImageContent{Data: []byte("\x89PNG"), MIMEType: "image/png"},
			&sdk.AudioContent{Data: []byte("RIFF"), MIMEType: "audio/wav"},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "test://a", MIMEType: "text/plain", Text: "a"}},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "test://b", MIMEType: "application/zip", Blob: []byte("PK")}},
			&sdk.ResourceLink{Name: "page", URI: "https://pages.example/"},
		}}, nil
	})
	tell := func(ctx context.Context, r *sdk.CallToolRequest, n string) error {
		token := r.Params.GetProgressToken()
		if token == nil {
			return nil
		}
		return r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: 1, Total: 2, Message: n})
	}
	add("progress", func(ctx context.Context, r *sdk.CallToolRequest, n string) (*sdk.CallToolResult, error) {
		return sdkText("done"), tell(ctx, r, n)
	})
	add("wait", func(ctx context.Context, r *sdk.CallToolRequest, n string) (*sdk.CallToolResult, error) {
		if err := tell(ctx, r, n); err != nil {
			return nil, err
		}
		<-ctx.Done()
		return nil, errors.Join(ctx.Err(), os.WriteFile(filepath.Join(dir, n), nil, 0o644))
	})
	add("form", askSDKClient(func(n string) sdk.InputRequest {
		const schema = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`
		return &sdk.ElicitParams{Mode: "form", Message: "Who is " + n, RequestedSchema: json.RawMessage(schema)}
	}))
	add("page", askSDKClient(func(n string) sdk.InputRequest {
		return &sdk.ElicitParams{Mode: "url", Message: "Open " + n, URL: "https://pages.example/" + n, ElicitationID: n}
	}))
	add("model", askSDKClient(func(n string) sdk.InputRequest {
		message := &sdk.SamplingMessage{Role: "user", Content: &sdk.TextContent{Text: n}}
		return &sdk.CreateMessageParams{MaxTokens: 9, Messages: []*sdk.SamplingMessage{message}}
	}))
	add("roots", askSDKClient(func(string) sdk.InputRequest { return &sdk.ListRootsParams{} }))
	return server
}

func sdkText(text string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}

// askSDKClient returns a tool that asks a question and returns the answer, in the way of the client's revision.
func askSDKClient(
	question func(n string) sdk.InputRequest,
) func(context.Context, *sdk.CallToolRequest, string) (*sdk.CallToolResult, error) {
	return func(ctx context.Context, r *sdk.CallToolRequest, n string) (*sdk.CallToolResult, error) {
		var answer any = r.Params.InputResponses["q"]
		if r.Params.InputResponses["q"] == nil {
			asked := question(n)
			if r.ProtocolVersion() >= "2026" {
				return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"q": asked}}, nil
			}
			var err error
			switch q := asked.(type) {
			case *sdk.ElicitParams:
				answer, err = r.Session.Elicit(ctx, q)
			case *sdk.CreateMessageParams:
				answer, err = r.Session.CreateMessage(ctx, q)
			case *sdk.ListRootsParams:
				answer, err = r.Session.ListRoots(ctx, q)
			}
			if err != nil {
				return nil, err
			}
		}
		switch a := answer.(type) {
		case *sdk.CreateMessageResult:
			return sdkText(a.Content.(*sdk.TextContent).Text), nil
		case *sdk.CreateMessageWithToolsResult:
			return sdkText(a.Content[0].(*sdk.TextContent).Text), nil
		case *sdk.ElicitResult:
			if name, ok := a.Content["name"].(string); ok {
				return sdkText(name), nil
			}
			return sdkText(a.Action), nil
		case *sdk.ListRootsResult:
			return sdkText(a.Roots[0].URI), nil
		}
		return sdkText("no answer"), nil
	}
}
