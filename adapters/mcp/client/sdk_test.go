package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hatchel/adapters/mcp/client"
)

// sdkServer returns a server of the official SDK.
func sdkServer() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
	type in struct {
		Name string `json:"name"`
	}
	type out struct {
		Greeting string `json:"greeting"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "greet", Description: "Greets."},
		func(ctx context.Context, r *mcp.CallToolRequest, a in) (*mcp.CallToolResult, out, error) {
			if token := r.Params.GetProgressToken(); token != nil {
				r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
					ProgressToken: token, Progress: 1, Message: a.Name,
				})
			}
			return nil, out{"Hello " + a.Name}, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "wait"},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			<-ctx.Done()
			return nil, nil, ctx.Err()
		})
	mcp.AddTool(server, &mcp.Tool{Name: "ask"},
		func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			form := &mcp.ElicitParams{Mode: "form", Message: "Who?", RequestedSchema: json.RawMessage(
				`{"type":"object","properties":{"name":{"type":"string"}}}`)}
			if r.ProtocolVersion() < client.Revision20260728 {
				answer, err := r.Session.Elicit(ctx, form)
				if err != nil {
					return nil, nil, err
				}
				return nil, answer.Content, nil
			}
			answer, ok := r.Params.InputResponses["who"].(*mcp.ElicitResult)
			if !ok {
				asks := mcp.InputRequestMap{"who": form}
				return &mcp.CallToolResult{InputRequests: asks, RequestState: "state"}, nil, nil
			}
			return nil, answer.Content, nil
		})
	return server
}

// TestServersOfTheOfficialSDKAreUnderstood calls tools of servers of the SDK, of each era and transport.
func TestServersOfTheOfficialSDKAreUnderstood(t *testing.T) {
	overHTTP := func(stateless, json bool) func(*testing.T, *mcp.Server) client.Transport {
		return func(t *testing.T, server *mcp.Server) client.Transport {
			handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
				&mcp.StreamableHTTPOptions{
					Stateless: stateless, JSONResponse: json, PropagateRequestCancellation: true,
				})
			listener := httptest.NewServer(handler)
			t.Cleanup(func() {
				listener.CloseClientConnections()
				listener.Close()
			})
			rt := client.NewRoundTripper(nil)
			t.Cleanup(rt.CloseIdleConnections)
			return client.NewHTTP(client.HTTPConfig{URL: listener.URL, RoundTripper: rt})
		}
	}
	for name, c := range map[string]struct {
		open     func(*testing.T, *mcp.Server) client.Transport
		protocol string // fixed
		revision string
	}{
		"stateful":           {overHTTP(false, false), "", client.Revision20251125},
		"stateful, 2025-06":  {overHTTP(false, false), client.Revision20250618, client.Revision20250618},
		"stateful, 2025-03":  {overHTTP(false, false), client.Revision20250326, client.Revision20250326},
		"stateless":          {overHTTP(true, false), "", client.Revision20260728},
		"stateless and JSON": {overHTTP(true, true), "", client.Revision20260728},
		"pipes":              {sdkPipes, "", client.Revision20260728},
		"pipes, 2025-11":     {sdkPipes, client.Revision20251125, client.Revision20251125},
	} {
		t.Run(name, func(t *testing.T) {
			server := sdkServer()
			changed := make(chan struct{}, 100)
			s := open(t, c.open(t, server), client.Options{
				Protocol: c.protocol, Asks: []string{client.AskForm}, Changed: func() { changed <- struct{}{} },
			})
			if s.Protocol() != c.revision {
				t.Errorf("the session speaks %s", s.Protocol())
			}
			list, err := s.Tools(testContext(t))
			if err != nil || len(list.Tools) != 3 {
				t.Fatalf("%v, %v", list, err)
			}
			var progress string
			r, err := s.Call(testContext(t), &client.Request{
				Name: "greet", Arguments: []byte(`{"name":"Ada"}`),
				Progress: func(p client.Progress) { progress = p.Message },
			})
			if err != nil || string(r.Structured) != `{"greeting":"Hello Ada"}` {
				t.Fatalf("%v, %v", r, err)
			}
			if progress != "Ada" && !strings.Contains(name, "JSON") {
				t.Errorf("progress %q", progress)
			}
			checkSDKQuestion(t, s)
			ctx, cancel := context.WithTimeout(testContext(t), 50*time.Millisecond)
			defer cancel()
			if _, err := s.Call(ctx, &client.Request{Name: "wait"}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a call that waits: %v", err)
			}
			if err := s.Ping(testContext(t)); err != nil {
				t.Errorf("ping: %v", err)
			}
			more := time.NewTicker(20 * time.Millisecond) // until the client listens
			defer more.Stop()
			for {
				select {
				case <-changed:
					return
				case <-more.C:
					mcp.AddTool(server, &mcp.Tool{Name: "more"},
						func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
							return nil, nil, nil
						})
				case <-testContext(t).Done():
					t.Fatal("no change is told")
				}
			}
		})
	}
}

// checkSDKQuestion answers a question as the era of the session wants it.
func checkSDKQuestion(t *testing.T, s *client.Session) {
	t.Helper()
	answer := client.Answer{Result: []byte(`{"action":"accept","content":{"name":"Ada"}}`)}
	request := &client.Request{Name: "ask", Ask: func(context.Context, client.Question) (client.Answer, error) {
		return answer, nil
	}}
	r, err := s.Call(testContext(t), request)
	if required, ok := errors.AsType[*client.InputRequired](err); ok {
		request.State, request.Responses = required.State, map[string]client.Answer{required.Questions[0].Key: answer}
		r, err = s.Call(testContext(t), request)
	}
	if err != nil || string(r.Structured) != `{"name":"Ada"}` {
		t.Errorf("question: %v, %v", r, err)
	}
}

func sdkPipes(t *testing.T, server *mcp.Server) client.Transport {
	inReader, inWriter := io.Pipe()
	outReader, outWriter := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.Run(ctx, &mcp.IOTransport{Reader: inReader, Writer: outWriter})
	}()
	t.Cleanup(func() {
		cancel()
		inWriter.Close()
		outReader.Close()
		<-done
	})
	return client.NewStdio(outReader, inWriter)
}
