package mcp_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hatchel/runtime/edge/mcp"
)

// bothEras has the newest revision of each era.
var bothEras = []string{"2025-11-25", "2026-07-28"}

func TestOfficialClientUsesPrompts(t *testing.T) {
	onEveryTransport(t, bothEras, nil, func(t *testing.T, _ *sdkServer, session *sdk.ClientSession) {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		var names []string
		for prompt, err := range session.Prompts(ctx, nil) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, prompt.Name)
		}
		if len(names) != 2 || names[0] != "fail" || names[1] != "greet" {
			t.Errorf("listed %q", names)
		}
		got, err := session.GetPrompt(ctx, &sdk.GetPromptParams{Name: "greet", Arguments: map[string]string{"who": "Ada"}})
		if err != nil || len(got.Messages) != 1 || got.Messages[0].Content.(*sdk.TextContent).Text != `{"who":"Ada"}` {
			t.Errorf("greet: %+v, %v", got, err)
		}
		_, err = session.GetPrompt(ctx, &sdk.GetPromptParams{Name: "gone"})
		var refused *jsonrpc.Error
		if !errors.As(err, &refused) || refused.Code != mcp.CodeInvalidParams {
			t.Errorf("an unknown prompt: %v", err)
		}
		for ref, want := range map[*sdk.CompleteReference]string{
			{Type: "ref/prompt", Name: "greet"}:         `prompt greet: who=A {"other":"B"}`,
			{Type: "ref/resource", URI: "note://{day}"}: `resource note://{day}: who=A {"other":"B"}`,
		} {
			c, err := session.Complete(ctx, &sdk.CompleteParams{
				Ref:      ref,
				Argument: sdk.CompleteParamsArgument{Name: "who", Value: "A"},
				Context:  &sdk.CompleteContext{Arguments: map[string]string{"other": "B"}},
			})
			if err != nil || len(c.Completion.Values) != 1 || c.Completion.Values[0] != want || c.Completion.Total != 1 {
				t.Errorf("completion %+v, %v, want %s", c, err, want)
			}
		}
	})
}

func TestOfficialClientReadsAndSubscribesToResources(t *testing.T) {
	updated := make(chan string, 100)
	o := &sdk.ClientOptions{ResourceUpdatedHandler: func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) { updated <- r.Params.URI }}
	onEveryTransport(t, bothEras, o, func(t *testing.T, s *sdkServer, session *sdk.ClientSession) {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		resources, err := session.ListResources(ctx, nil)
		if err != nil || len(resources.Resources) != 2 || resources.Resources[0].URI != "note://mine" {
			t.Errorf("listed %+v, %v", resources, err)
		}
		templates, err := session.ListResourceTemplates(ctx, nil)
		if err != nil || len(templates.ResourceTemplates) != 1 || templates.ResourceTemplates[0].URITemplate != "note://{day}" {
			t.Errorf("listed %+v, %v", templates, err)
		}
		got, err := session.ReadResource(ctx, &sdk.ReadResourceParams{URI: "note://today"})
		if err != nil || len(got.Contents) != 1 || got.Contents[0].Text != "milk" {
			t.Errorf("read %+v, %v", got, err)
		}
		_, err = session.ReadResource(ctx, &sdk.ReadResourceParams{URI: "note://gone"})
		var refused *jsonrpc.Error
		if !errors.As(err, &refused) || refused.Code != mcp.CodeInvalidParams || string(refused.Data) != `{"uri":"note://gone"}` {
			t.Errorf("an unknown resource: %v", err)
		}

		followed := func(want int) func() bool {
			return func() bool { n, _ := s.handler.countFollowed(); return n == want }
		}
		for _, uri := range []string{"note://today", "note://mine"} {
			if err := session.Subscribe(ctx, &sdk.SubscribeParams{URI: uri}); err != nil {
				t.Fatalf("%s: %v", uri, err)
			}
		}
		waitUntil(t, ctx, "the client follows both notes", followed(2)) // in the modern era Subscribe returns earlier
		s.server.ResourceUpdated("note://today", nil)
		expectURI(t, ctx, updated, "note://today")
		if err := session.Unsubscribe(ctx, &sdk.UnsubscribeParams{URI: "note://today"}); err != nil {
			t.Error(err)
		}
		waitUntil(t, ctx, "the client follows one note", followed(1))
		s.server.ResourceUpdated("note://today", nil)
		s.server.ResourceUpdated("note://mine", nil)
		expectURI(t, ctx, updated, "note://mine")
	})
}

func TestOfficialClientIsNotifiedOfEveryList(t *testing.T) {
	var prompts, resources atomic.Int64
	o := &sdk.ClientOptions{
		PromptListChangedHandler:   func(context.Context, *sdk.PromptListChangedRequest) { prompts.Add(1) },
		ResourceListChangedHandler: func(context.Context, *sdk.ResourceListChangedRequest) { resources.Add(1) },
	}
	onEveryTransport(t, bothEras, o, func(t *testing.T, s *sdkServer, session *sdk.ClientSession) {
		prompts.Store(0)
		resources.Store(0)
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		waitUntil(t, ctx, "the client is notified of both", func() bool {
			s.server.ListsChanged(sameChanges(mcp.Changes{Prompts: true, Resources: true})) // repeatedly: Connect returns before the client is subscribed
			return prompts.Load() > 0 && resources.Load() > 0
		})
		flushNotifications(t, ctx, session)
	})
}

// flushNotifications waits until all notifications are written: they are, after the second reply.
func flushNotifications(t *testing.T, ctx context.Context, session *sdk.ClientSession) {
	t.Helper()
	for range 2 {
		if _, err := session.GetPrompt(ctx, &sdk.GetPromptParams{Name: "greet"}); err != nil {
			t.Error(err)
		}
	}
}

// waitUntil polls until a condition holds.
func waitUntil(t *testing.T, ctx context.Context, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("timeout before %s", what)
		}
	}
}

// expectURI receives one URI, which must be want.
func expectURI(t *testing.T, ctx context.Context, from <-chan string, want string) {
	t.Helper()
	select {
	case got := <-from:
		if got != want {
			t.Errorf("received %s, want %s", got, want)
		}
	case <-ctx.Done():
		t.Errorf("did not receive %s", want)
	}
}
