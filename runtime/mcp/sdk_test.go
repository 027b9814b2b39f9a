package mcp_test

import (
	"context"
	"io"
	"net/http/httptest"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hatchel/runtime/mcp"
)

// transports connects the official client to a server over each transport.
var transports = map[string]func(t *testing.T, s *mcp.Server) sdk.Transport{
	"http": func(t *testing.T, s *mcp.Server) sdk.Transport {
		web := httptest.NewServer(s)
		t.Cleanup(web.Close)
		t.Cleanup(func() { shutdown(t, s) })
		return &sdk.StreamableClientTransport{Endpoint: web.URL}
	},
	"stdio": func(t *testing.T, s *mcp.Server) sdk.Transport {
		toServer, fromClient := io.Pipe()
		toClient, fromServer := io.Pipe()
		served := make(chan error, 1)
		go func() {
			served <- s.Serve(context.Background(), toServer, fromServer)
			fromServer.Close()
		}()
		t.Cleanup(func() {
			fromClient.Close()
			if err := <-served; err != nil {
				t.Errorf("Serve: %v", err)
			}
		})
		return &sdk.IOTransport{Reader: toClient, Writer: fromClient}
	},
}

// patience is how long anything that has to happen may take on a busy machine.
const patience = time.Minute

func shutdown(t *testing.T, s *mcp.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

func TestOfficialClientListsCallsAndHearsOfChanges(t *testing.T) {
	for name, dial := range transports {
		for _, revision := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
			t.Run(name+"/"+revision, func(t *testing.T) {
				shop := newShop()
				server := mcp.New(shop, mcp.Options{})
				changed := make(chan struct{}, 10)
				progress := make(chan float64, 10)
				client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
					ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { changed <- struct{}{} },
					ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
						progress <- r.Params.Progress
					},
				})
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				session, err := client.Connect(ctx, dial(t, server), &sdk.ClientSessionOptions{ProtocolVersion: revision})
				if err != nil {
					t.Fatal(err)
				}
				defer session.Close()
				init := session.InitializeResult()
				if init.ProtocolVersion != revision || init.ServerInfo.Title != "The Shop" || init.Instructions != `Be "nice".` {
					t.Errorf("introduced as %+v", init)
				}

				var names []string
				for tool, err := range session.Tools(ctx, nil) {
					if err != nil {
						t.Fatal(err)
					}
					names = append(names, tool.Name)
				}
				if len(names) != 8 || names[0] != "breaks" || names[7] != "wait" {
					t.Errorf("listed %q", names)
				}

				res, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "echo", Arguments: map[string]any{"a": "ü"}})
				if err != nil || res.IsError || res.Content[0].(*sdk.TextContent).Text != `{"a":"ü"}` {
					t.Errorf("echo: %+v, %v", res, err)
				}
				if res, err = session.CallTool(ctx, &sdk.CallToolParams{Name: "fail"}); err != nil || !res.IsError {
					t.Errorf("fail: %+v, %v", res, err)
				}
				res, err = session.CallTool(ctx, &sdk.CallToolParams{Name: "mirror", Arguments: map[string]any{"region": "größe", "count": 3}})
				if err != nil || res.IsError {
					t.Errorf("mirror: %+v, %v", res, err)
				}
				if _, err = session.CallTool(ctx, &sdk.CallToolParams{Name: "gone"}); err == nil {
					t.Error("an unknown tool could be called")
				}

				steps := &sdk.CallToolParams{Name: "steps"}
				steps.SetProgressToken("p")
				if _, err := session.CallTool(ctx, steps); err != nil {
					t.Error(err)
				}
				if a, b := <-progress, <-progress; a != 1 || b != 2.5 {
					t.Errorf("progress %v, %v", a, b)
				}

				server.Changed(toolsOnly{}.changed)
				select {
				case <-changed:
				case <-ctx.Done():
					t.Error("the client did not hear that the list changed")
				}
			})
		}
	}
}

func TestOfficialClientCancelsACall(t *testing.T) {
	for name, dial := range transports {
		for _, revision := range []string{"2025-11-25", "2026-07-28"} {
			t.Run(name+"/"+revision, func(t *testing.T) {
				shop := newShop()
				shop.started, shop.stopped = make(chan string, 1), make(chan error, 1)
				server := mcp.New(shop, mcp.Options{})
				client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
				session, err := client.Connect(t.Context(), dial(t, server), &sdk.ClientSessionOptions{ProtocolVersion: revision})
				if err != nil {
					t.Fatal(err)
				}
				defer session.Close()
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					<-shop.started
					cancel()
				}()
				if _, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "wait"}); err == nil {
					t.Error("the cancelled call was answered")
				}
				select {
				case <-shop.stopped:
				case <-time.After(patience):
					t.Error("the context of the call did not end")
				}
			})
		}
	}
}
