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

	"hatchel/runtime/edge/mcp"
)

// transports connect the official client to a server.
var transports = map[string]func(t *testing.T, s *mcp.Server) sdk.Transport{
	"http": func(t *testing.T, s *mcp.Server) sdk.Transport {
		web := httptest.NewServer(s.For(""))
		t.Cleanup(web.Close)
		t.Cleanup(func() { shutdown(t, s) })
		return &sdk.StreamableClientTransport{Endpoint: web.URL}
	},
	"stdio": func(t *testing.T, s *mcp.Server) sdk.Transport {
		toServer, fromClient := io.Pipe()
		toClient, fromServer := io.Pipe()
		served := make(chan error, 1)
		go func() {
			served <- s.For("").Serve(context.Background(), toServer, fromServer)
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

// timeout is how long anything may take on a busy machine.
const timeout = time.Minute

func shutdown(t *testing.T, s *mcp.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

// sdkServer is a server with its handler.
type sdkServer struct {
	handler *fakeHandler
	server  *mcp.Server
}

// onEveryTransport runs f for the official client over each transport in each of the revisions.
func onEveryTransport(t *testing.T, revisions []string, o *sdk.ClientOptions, f func(t *testing.T, s *sdkServer, session *sdk.ClientSession)) {
	for name, dial := range transports {
		for _, revision := range revisions {
			t.Run(name+"/"+revision, func(t *testing.T) {
				s := &sdkServer{handler: newFakeHandler()}
				s.server = newServer(s.handler, mcp.Options{})
				client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o)
				client.AddRoots(&sdk.Root{URI: "file:///home", Name: "home"})
				ctx, cancel := context.WithTimeout(t.Context(), timeout)
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

func TestOfficialClientListsAndCallsTools(t *testing.T) {
	var changed atomic.Int64
	progress := make(chan float64, 10)
	o := &sdk.ClientOptions{
		ToolListChangedHandler:      func(context.Context, *sdk.ToolListChangedRequest) { changed.Add(1) },
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { progress <- r.Params.Progress },
	}
	revisions := []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}
	onEveryTransport(t, revisions, o, func(t *testing.T, s *sdkServer, session *sdk.ClientSession) {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		init := session.InitializeResult()
		if !strings.HasSuffix(t.Name(), "/"+init.ProtocolVersion) || init.ServerInfo.Title != "The Shop" || init.Instructions != `Be "nice".` {
			t.Errorf("initialized with %+v", init)
		}
		t.Run("lists all pages", func(t *testing.T) { listsTools(t, ctx, session) })
		t.Run("calls", func(t *testing.T) { callsTools(t, ctx, session) })
		t.Run("receives progress", func(t *testing.T) { receivesProgress(t, ctx, session, progress) })
		t.Run("is notified of changes", func(t *testing.T) {
			changed.Store(0)
			waitUntil(t, ctx, "the client is notified", func() bool {
				s.server.ListsChanged(toolsOnly{}.changed) // repeatedly: Connect returns before the client is subscribed
				return changed.Load() > 0
			})
			flushNotifications(t, ctx, session)
		})
	})
}

func listsTools(t *testing.T, ctx context.Context, session *sdk.ClientSession) {
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
}

func callsTools(t *testing.T, ctx context.Context, session *sdk.ClientSession) {
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
}

func receivesProgress(t *testing.T, ctx context.Context, session *sdk.ClientSession, progress <-chan float64) {
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
			t.Errorf("did not receive progress %v", want)
		}
	}
}

func TestOfficialClientCancelsACall(t *testing.T) {
	onEveryTransport(t, bothEras, nil, func(t *testing.T, s *sdkServer, session *sdk.ClientSession) {
		s.handler.started, s.handler.stopped = make(chan string, 1), make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			<-s.handler.started
			cancel()
		}()
		if _, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "wait"}); err == nil {
			t.Error("the cancelled call was answered")
		}
		select {
		case <-s.handler.stopped:
		case <-time.After(timeout):
			t.Error("the context of the call did not end")
		}
	})
}
