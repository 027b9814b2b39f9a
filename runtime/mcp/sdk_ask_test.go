//lint:file-ignore SA1019 sampling, roots and logging are deprecated in the newest revision, and served for as long as clients use them

package mcp_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// asLegacy are the newest and the oldest revision in which questions are requests.
var asLegacy = []string{"2024-11-05", "2025-11-25"}

func TestOfficialClientAnswersEveryKindOfQuestion(t *testing.T) {
	o := &sdk.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			if r.Params.Message != "Who is it?" || r.Params.RequestedSchema == nil {
				return nil, errors.New("not what was asked")
			}
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
		},
		CreateMessageHandler: func(_ context.Context, r *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) {
			return &sdk.CreateMessageResult{Role: "assistant", Model: "m", Content: &sdk.TextContent{Text: "in sum of " + r.Params.Messages[0].Content.(*sdk.TextContent).Text}}, nil
		},
	}
	overEveryTransport(t, append([]string{"2026-07-28"}, asLegacy...), o, func(t *testing.T, _ *store, session *sdk.ClientSession) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		res, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "interview"})
		if err != nil {
			t.Fatal(err)
		}
		heard := res.Content[0].(*sdk.TextContent).Text
		for _, want := range []string{`"name":"Ada"`, "in sum of Sum up", "file:///home"} {
			if !strings.Contains(heard, want) {
				t.Errorf("%s is not in %s", want, heard)
			}
		}
	})
}

func TestOfficialClientRefusesAQuestion(t *testing.T) {
	o := &sdk.ClientOptions{
		ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return nil, errors.New("nobody is at home")
		},
	}
	overEveryTransport(t, asLegacy, o, func(t *testing.T, _ *store, session *sdk.ClientSession) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		res, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "ask"})
		if err != nil || !strings.Contains(res.Content[0].(*sdk.TextContent).Text, "nobody is at home") {
			t.Errorf("%+v, %v", res, err)
		}
	})
}

func TestOfficialClientIsToldThatAnAnswerIsNotWantedAnyMore(t *testing.T) {
	asked, withdrawn := make(chan struct{}, 1), make(chan struct{}, 1)
	o := &sdk.ClientOptions{
		ElicitationHandler: func(ctx context.Context, _ *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			asked <- struct{}{}
			<-ctx.Done()
			withdrawn <- struct{}{}
			return nil, ctx.Err()
		},
	}
	overEveryTransport(t, asLegacy, o, func(t *testing.T, s *store, session *sdk.ClientSession) {
		s.shop.freed = make(chan struct{})
		go func() {
			<-asked
			close(s.shop.freed)
		}()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		res, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "ask-until-freed"})
		if err != nil || res.Content[0].(*sdk.TextContent).Text != "not wanted any more" {
			t.Errorf("%+v, %v", res, err)
		}
		select {
		case <-withdrawn:
		case <-ctx.Done():
			t.Error("the client still waits for an answer")
		}
	})
}

func TestOfficialClientComesBackForACallThatLetGo(t *testing.T) {
	overEveryTransport(t, asLegacy, nil, func(t *testing.T, _ *store, session *sdk.ClientSession) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		res, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "let-go"})
		want := "let go: false"
		if session.ID() != "" && session.InitializeResult().ProtocolVersion == "2025-11-25" {
			want = "let go: true"
		}
		if err != nil {
			t.Fatal(err)
		}
		if heard := res.Content[0].(*sdk.TextContent).Text; !strings.HasPrefix(heard, want) || !strings.Contains(heard, "file:///home") {
			t.Errorf("heard %q, not %q", heard, want)
		}
	})
}
