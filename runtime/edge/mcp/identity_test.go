package mcp_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/edge/mcp"
)

// withIdentities is withServer with authentication: the header X-Who names the subject of a
// request, X-Key its key, and X-Until makes its credential expire after a minute.
func withIdentities(t *testing.T, f func(t *testing.T, v *testClient)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		v := &testClient{t: t, handler: newFakeHandler(), log: &bytes.Buffer{}}
		v.server = newServer(v.handler, mcp.Options{Logger: slog.New(slog.NewTextHandler(v.log, nil))})
		inner := withToolsets(v.server)
		client, stop := startHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if who := r.Header.Get("X-Who"); who != "" {
				i := &mcp.Identity{Subject: who, Key: r.Header.Get("X-Key"), Metadata: "https://tools.example/metadata"}
				if r.Header.Get("X-Until") != "" {
					i.Expires = time.Now().Add(time.Minute)
				}
				r = r.WithContext(mcp.WithIdentity(r.Context(), i))
			}
			inner.ServeHTTP(w, r)
		}))
		v.client = client
		f(t, v)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := v.server.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		stop()
	})
}

func TestSessionBelongsToTheIdentityThatOpenedIt(t *testing.T) {
	withIdentities(t, func(t *testing.T, v *testClient) {
		open := func(who ...string) []string {
			reply := v.send(t.Context(), "POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`, who...)
			readAll(reply)
			return []string{"Mcp-Session-Id", reply.Header.Get("Mcp-Session-Id")}
		}
		ada, none := open("X-Who", "ada", "X-Key", "one"), open()
		for _, x := range []struct {
			session []string
			who     []string
			status  int
		}{
			{ada, []string{"X-Who", "ada", "X-Key", "one"}, 200},
			{ada, []string{"X-Who", "bob", "X-Key", "one"}, 404},
			{ada, []string{"X-Who", "ada", "X-Key", "two"}, 404},
			{ada, nil, 404},
			{none, nil, 200},
			{none, []string{"X-Who", "ada", "X-Key", "one"}, 404},
		} {
			headers := append(append([]string{}, x.session...), x.who...)
			reply := v.send(t.Context(), "POST", `{"jsonrpc":"2.0","id":2,"method":"ping"}`, headers...)
			if got := readAll(reply); reply.StatusCode != x.status {
				t.Errorf("%v: %d, %s", headers, reply.StatusCode, got)
			}
			if x.status == 404 {
				for _, method := range []string{"GET", "DELETE"} {
					if reply := v.send(t.Context(), method, "", headers...); reply.StatusCode != 404 {
						t.Errorf("%s %v: %d", method, headers, reply.StatusCode)
					}
				}
			}
		}
	})
}

func TestStreamsEndWithTheirCredential(t *testing.T) {
	for name, end := range map[string]func(v *testClient){
		"expired": func(*testClient) { time.Sleep(2 * time.Minute) },
		"revoked": func(v *testClient) { v.server.Retain(func(i *mcp.Identity) bool { return i == nil }) },
	} {
		t.Run(name, func(t *testing.T) {
			withIdentities(t, func(t *testing.T, v *testClient) {
				ada := []string{"X-Who", "ada", "X-Until", "1"}
				reply := v.send(t.Context(), "POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`, ada...)
				readAll(reply)
				session := append([]string{"Mcp-Session-Id", reply.Header.Get("Mcp-Session-Id")}, ada...)
				modern := []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen"}
				listen := func(who ...string) *http.Response {
					return v.send(t.Context(), "POST", `{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"META"}}`, append(modern, who...)...)
				}
				ended := make(chan string, 2)
				for what, stream := range map[string]*http.Response{"the events of a session": v.send(t.Context(), "GET", "", session...), "a subscription": listen(ada...)} {
					go func() {
						io.Copy(io.Discard, stream.Body)
						ended <- what
					}()
				}
				other := listen("X-Who", "") // unauthenticated
				otherEnded := make(chan error, 1)
				go func() {
					_, err := io.Copy(io.Discard, other.Body)
					otherEnded <- err
				}()
				synctest.Wait()
				if len(ended) > 0 {
					t.Fatal("a stream ended too early")
				}
				end(v)
				synctest.Wait()
				if len(ended) != 2 || len(otherEnded) != 0 {
					t.Errorf("%d of 2 streams ended, and %d others", len(ended), len(otherEnded))
				}
			})
		})
	}
}

func TestRetainCancelsTheCallsOfInvalidIdentities(t *testing.T) {
	withIdentities(t, func(t *testing.T, v *testClient) {
		v.handler.started, v.handler.stopped = make(chan string, 1), make(chan error, 1)
		reply := v.send(t.Context(), "POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`, "X-Who", "ada")
		readAll(reply)
		done := make(chan struct{})
		go func() {
			defer close(done)
			readAll(v.send(t.Context(), "POST", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait"}}`,
				"X-Who", "ada", "Mcp-Session-Id", reply.Header.Get("Mcp-Session-Id")))
		}()
		<-v.handler.started
		v.server.Retain(func(i *mcp.Identity) bool { return i != nil && i.Subject == "bob" })
		if err := <-v.handler.stopped; err != context.Canceled {
			t.Errorf("the call ended with %v", err)
		}
		<-done
	})
}

func TestErrorsAboutTheCallerCarryAChallenge(t *testing.T) {
	withIdentities(t, func(t *testing.T, v *testClient) {
		ada := []string{"X-Who", "ada"}
		reply := v.send(t.Context(), "POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`, ada...)
		readAll(reply)
		session := append([]string{"Mcp-Session-Id", reply.Header.Get("Mcp-Session-Id")}, ada...)
		for tool, want := range map[string]struct {
			status    int
			challenge string
		}{
			"scoped":  {403, `Bearer error="insufficient_scope", scope="a b", resource_metadata="https://tools.example/metadata"`},
			"stale":   {401, `Bearer error="invalid_token", resource_metadata="https://tools.example/metadata"`},
			"sampler": {0, ""},
		} {
			call := fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%q}}`, tool)
			legacy := v.send(t.Context(), "POST", call, session...)
			modern := v.send(t.Context(), "POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"META"}}`, tool),
				append([]string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", tool}, ada...)...)
			for era, reply := range map[string]*http.Response{"legacy": legacy, "modern": modern} {
				body := readAll(reply)
				if want.status != 0 && reply.StatusCode != want.status || reply.Header.Get("WWW-Authenticate") != want.challenge || !strings.Contains(body, `"error":{`) {
					t.Errorf("%s, %s: %d, %q, %s", tool, era, reply.StatusCode, reply.Header.Get("WWW-Authenticate"), body)
				}
			}
		}
	})
}

func TestKeptIdentityHasNoToken(t *testing.T) {
	original := &mcp.Identity{Subject: "ada", Key: "one", Groups: []string{"staff"}, Token: func(context.Context) (string, time.Time, error) { return "secret", time.Time{}, nil }}
	kept := original.WithoutToken()
	if kept.Token != nil || kept.Owner() != original.Owner() || len(kept.Groups) != 1 {
		t.Errorf("kept is %+v", kept)
	}
	if original.Token == nil {
		t.Error("the identity of the request lost its token")
	}
	if none := (*mcp.Identity)(nil); none.WithoutToken() != nil {
		t.Error("nil has an identity")
	}
}
