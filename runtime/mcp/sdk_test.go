//lint:file-ignore SA1019 sampling, roots and logging are deprecated in the newest revision, and served for as long as clients use them

package mcp_test

import (
	"context"
	"io"
	"net/http/httptest"
	"strings"
	"sync/atomic"
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

// store is a server of a shop.
type store struct {
	shop   *shop
	server *mcp.Server
}

// overEveryTransport runs f for the official client in each of the revisions.
func overEveryTransport(t *testing.T, revisions []string, o *sdk.ClientOptions, f func(t *testing.T, s *store, session *sdk.ClientSession)) {
	for name, dial := range transports {
		for _, revision := range revisions {
			t.Run(name+"/"+revision, func(t *testing.T) {
				s := &store{shop: newShop()}
				s.server = mcp.New(s.shop, mcp.Options{})
				client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o)
				client.AddRoots(&sdk.Root{URI: "file:///home", Name: "home"})
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				session, err := client.Connect(ctx, dial(t, s.server), &sdk.ClientSessionOptions{ProtocolVersion: revision})
				if err != nil {
					t.Fatal(err)
				}
				defer session.Close()
				f(t, s, session)
			})
		}
	}
}

func TestOfficialClientListsCallsAndHearsOfChanges(t *testing.T) {
	var changed atomic.Int64
	progress := make(chan float64, 10)
	o := &sdk.ClientOptions{
		ToolListChangedHandler:      func(context.Context, *sdk.ToolListChangedRequest) { changed.Add(1) },
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { progress <- r.Params.Progress },
	}
	revisions := []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}
	overEveryTransport(t, revisions, o, func(t *testing.T, s *store, session *sdk.ClientSession) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		init := session.InitializeResult()
		if !strings.HasSuffix(t.Name(), "/"+init.ProtocolVersion) || init.ServerInfo.Title != "The Shop" || init.Instructions != `Be "nice".` {
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
		for _, want := range []float64{1, 2.5} {
			select {
			case got := <-progress:
				if got != want {
					t.Errorf("progress %v, want %v", got, want)
				}
			case <-ctx.Done():
				t.Errorf("did not hear of progress %v", want)
			}
		}

		changed.Store(0)
		await(t, ctx, "the client has heard that the list changed", func() bool {
			s.server.Changed(toolsOnly{}.changed) // again and again: Connect does not wait until it is heard
			return changed.Load() > 0
		})
		settled(t, ctx, session)
	})
}

func TestOfficialClientCancelsACall(t *testing.T) {
	overEveryTransport(t, bothEras, nil, func(t *testing.T, s *store, session *sdk.ClientSession) {
		s.shop.started, s.shop.stopped = make(chan string, 1), make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			<-s.shop.started
			cancel()
		}()
		if _, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "wait"}); err == nil {
			t.Error("the cancelled call was answered")
		}
		select {
		case <-s.shop.stopped:
		case <-time.After(patience):
			t.Error("the context of the call did not end")
		}
	})
}
