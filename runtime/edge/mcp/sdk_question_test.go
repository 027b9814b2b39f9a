//lint:file-ignore SA1019 sampling, roots and logging are deprecated in the newest revision, and served for as long as clients use them

package mcp_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// legacyRevisions are the oldest and the newest revision in which questions are requests.
var legacyRevisions = []string{"2024-11-05", "2025-11-25"}

func TestOfficialClientAnswersEveryKindOfQuestion(t *testing.T) {
	o := &sdk.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			if r.Params.Message != "Who is it?" || r.Params.RequestedSchema == nil {
				return nil, errors.New("unexpected question")
			}
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
		},
		CreateMessageHandler: func(_ context.Context, r *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) {
			return &sdk.CreateMessageResult{Role: "assistant", Model: "m", Content: &sdk.TextContent{Text: "summary of " + r.Params.Messages[0].Content.(*sdk.TextContent).Text}}, nil
		},
	}
	onEveryTransport(t, append([]string{"2026-07-28"}, legacyRevisions...), o, func(t *testing.T, _ *sdkServer, session *sdk.ClientSession) {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		res, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "interview"})
		if err != nil {
			t.Fatal(err)
		}
		text := res.Content[0].(*sdk.TextContent).Text
		for _, want := range []string{`"name":"Ada"`, "summary of Sum up", "file:///home"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s is not in %s", want, text)
			}
		}
	})
}

func TestOfficialClientDeclinesAQuestion(t *testing.T) {
	o := &sdk.ClientOptions{
		ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return nil, errors.New("declined")
		},
	}
	onEveryTransport(t, legacyRevisions, o, func(t *testing.T, _ *sdkServer, session *sdk.ClientSession) {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		res, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "ask"})
		if err != nil || !strings.Contains(res.Content[0].(*sdk.TextContent).Text, "declined") {
			t.Errorf("%+v, %v", res, err)
		}
	})
}

func TestOfficialClientSeesACancelledQuestion(t *testing.T) {
	asked, cancelled := make(chan struct{}, 1), make(chan struct{}, 1)
	o := &sdk.ClientOptions{
		ElicitationHandler: func(ctx context.Context, _ *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			asked <- struct{}{}
			<-ctx.Done()
			cancelled <- struct{}{}
			return nil, ctx.Err()
		},
	}
	onEveryTransport(t, legacyRevisions, o, func(t *testing.T, s *sdkServer, session *sdk.ClientSession) {
		s.handler.release = make(chan struct{})
		go func() {
			<-asked
			close(s.handler.release)
		}()
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		res, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "ask-until-freed"})
		if err != nil || res.Content[0].(*sdk.TextContent).Text != "cancelled by the tool" {
			t.Errorf("%+v, %v", res, err)
		}
		select {
		case <-cancelled:
		case <-ctx.Done():
			t.Error("the question was not cancelled")
		}
	})
}

func TestOfficialClientResumesADetachedCall(t *testing.T) {
	onEveryTransport(t, legacyRevisions, nil, func(t *testing.T, _ *sdkServer, session *sdk.ClientSession) {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		res, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "let-go"})
		want := "let go: false"
		if session.ID() != "" && session.InitializeResult().ProtocolVersion == "2025-11-25" {
			want = "let go: true"
		}
		if err != nil {
			t.Fatal(err)
		}
		if text := res.Content[0].(*sdk.TextContent).Text; !strings.HasPrefix(text, want) || !strings.Contains(text, "file:///home") {
			t.Errorf("got %q, want %q", text, want)
		}
	})
}
