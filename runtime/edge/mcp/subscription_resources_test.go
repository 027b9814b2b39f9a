package mcp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/mcp/legacy"
)

// subscribe subscribes a session to a resource.
func (v *testClient) subscribe(session []string, uri string) {
	v.t.Helper()
	got := readAll(v.send(v.t.Context(), "POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":%q}}`, uri), session...))
	if !strings.Contains(got, `"result":{}`) {
		v.t.Fatalf("%s: %s", uri, got)
	}
}

// read reads the session's own stream.
func (v *testClient) read(session []string) {
	stream := v.send(v.t.Context(), "GET", "", session...)
	go func() {
		io.Copy(io.Discard, stream.Body)
		stream.Body.Close()
	}()
}

// expectFollowed fails the test unless want resources are followed.
func (v *testClient) expectFollowed(want int, after string) {
	v.t.Helper()
	synctest.Wait()
	if n, unbalanced := v.handler.countFollowed(); n != want || unbalanced != "" {
		v.t.Errorf("after %s %d resources are followed, want %d; unfollowed more often than followed: %q", after, n, want, unbalanced)
	}
}

func TestUnfollowIsCalledOnceHoweverTheSubscriptionEnds(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, v *testClient){
		"unsubscribes": func(t *testing.T, v *testClient) {
			s := v.sessionHeaders()
			v.read(s)
			v.subscribe(s, "note://a")
			v.subscribe(s, "note://b")
			v.subscribe(s, "note://b")
			v.expectFollowed(2, "subscribing")
			readAll(v.send(t.Context(), "POST", `{"jsonrpc":"2.0","id":3,"method":"resources/unsubscribe","params":{"uri":"note://a"}}`, s...))
			v.expectFollowed(1, "unsubscribing")
			readAll(v.send(t.Context(), "DELETE", "", s...))
		},
		"stops reading its session": func(t *testing.T, v *testClient) {
			s := v.sessionHeaders()
			v.subscribe(s, "note://a")
			v.expectFollowed(0, "subscribing without a stream")
			ctx, disconnect := context.WithCancel(t.Context())
			stream := v.send(ctx, "GET", "", s...)
			v.expectFollowed(1, "opening the stream")
			disconnect()
			stream.Body.Close()
		},
		"disconnects": func(t *testing.T, v *testClient) {
			ctx, disconnect := context.WithCancel(t.Context())
			two := v.listen(ctx, `"resourceSubscriptions":["note://a","note://b","note://a"]`)
			v.expectFollowed(2, "listening")
			disconnect()
			two.Body.Close()
		},
		"stops reading": func(t *testing.T, v *testClient) {
			stalled := v.listen(t.Context(), `"resourceSubscriptions":["note://a"]`)
			defer stalled.Body.Close()
			v.expectFollowed(1, "listening")
			for range 40 {
				v.server.ResourceUpdated("note://a", nil)
				synctest.Wait()
			}
			time.Sleep(31 * time.Second) // longer than SendTimeout
			v.expectFollowed(0, "that time")
		},
		"was refused": func(t *testing.T, v *testClient) {
			if got := readAll(v.listen(t.Context(), `"resourceSubscriptions":["other://a"]`)); !strings.Contains(got, `"data":{"uri":"other://a"}`) {
				t.Errorf("an unknown resource: %s", got)
			}
		},
		"is shut down": func(t *testing.T, v *testClient) {
			s := v.sessionHeaders()
			v.read(s)
			v.subscribe(s, "note://a")
			ended, received := v.listen(t.Context(), `"resourceSubscriptions":["note://b"]`), make(chan string, 1)
			go func() { received <- readAll(ended) }()
			v.expectFollowed(2, "subscribing and listening")
			if err := v.server.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			if got := <-received; !strings.Contains(got, `"id":"L","result"`) {
				t.Errorf("the listener got no reply: %s", got)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			withServer(t, withLegacy(legacy.Options{Sessions: 2}), func(t *testing.T, v *testClient) {
				end(t, v)
				v.expectFollowed(0, "the end")
			})
		})
	}
}

func TestUnfollowIsCalledWhenTheStreamsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := newFakeHandler()
		s := newServer(handler, mcp.Options{})
		in, client := io.Pipe()
		served := make(chan error, 1)
		go func() { served <- s.For("").Serve(t.Context(), in, io.Discard) }()
		expect := func(want int) {
			t.Helper()
			synctest.Wait()
			if n, unbalanced := handler.countFollowed(); n != want || unbalanced != "" {
				t.Errorf("%d resources are followed, want %d; %q", n, want, unbalanced)
			}
		}
		for _, line := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["note://a","note://b"]},"META"}}`,
			`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["note://c"]},"META"}}`,
			`{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["note://a"]},"META"}}`,
		} {
			io.WriteString(client, expand(line)+"\n")
		}
		expect(3) // the duplicate id is refused
		io.WriteString(client, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`+"\n")
		expect(1)
		io.WriteString(client, `{"jsonrpc":"2.0","id":3,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`+"\n")
		io.WriteString(client, `{"jsonrpc":"2.0","id":4,"method":"resources/subscribe","params":{"uri":"note://d"}}`+"\n")
		expect(2)
		client.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
		expect(0)
	})
}

func TestEveryFollowHasItsUnfollowUnderConcurrency(t *testing.T) {
	withServer(t, mcp.Options{}, func(t *testing.T, v *testClient) {
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				s := v.sessionHeaders()
				v.read(s)
				var one sync.WaitGroup
				for j := range 8 {
					one.Go(func() {
						method := []string{"resources/subscribe", "resources/unsubscribe"}[j%2]
						readAll(v.send(t.Context(), "POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"uri":"note://%d"}}`, 10+j, method, j/4), s...))
						v.server.ResourceUpdated("note://0", nil)
						v.server.ListsChanged(sameChanges(mcp.Changes{Resources: true}))
						if j == 6 && i%2 == 0 {
							readAll(v.send(t.Context(), "DELETE", "", s...))
						}
					})
				}
				one.Wait()
			})
		}
		all.Wait()
		if err := v.server.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		v.expectFollowed(0, "everything")
		if v.handler.maxFollowed == 0 {
			t.Error("nothing was ever followed")
		}
	})
}

func TestResourcesOfASubscriptionAreLimited(t *testing.T) {
	withServer(t, mcp.Options{}, func(t *testing.T, v *testClient) {
		s := v.sessionHeaders()
		v.read(s)
		request := func(method, uri string) string {
			return readAll(v.send(t.Context(), "POST", `{"jsonrpc":"2.0","id":2,"method":"resources/`+method+`","params":{"uri":"`+uri+`"}}`, s...))
		}
		const each = 64 // bytes
		for i := range (4 << 10) / each {
			v.subscribe(s, fmt.Sprintf("note://%0*d", each-len("note://"), i))
		}
		for _, uri := range []string{"note://a", "note://" + strings.Repeat("x", 5000)} {
			if got := request("subscribe", uri); !strings.Contains(got, `"code":-32000`) || !strings.Contains(got, "keeps at most 4096 bytes") {
				t.Errorf("the limit was exceeded: %s", got)
			}
		}
		if got := request("unsubscribe", fmt.Sprintf("note://%0*d", each-len("note://"), 0)) + request("subscribe", "note://a"); strings.Contains(got, "error") {
			t.Error(got)
		}
		uris := strings.Repeat(`"note://x",`, 2000) + `"note://y"` // duplicates count once
		if got := v.listen(t.Context(), `"resourceSubscriptions":[`+uris+`]`); got.StatusCode != 200 {
			t.Errorf("listening to two resources got %s", got.Status)
		}
		v.expectFollowed(4096/each+2, "all this")
	})
}

// A URI has a length, whichever request names it, and a longer one is not repeated.
func TestURIsHaveALength(t *testing.T) {
	withServer(t, mcp.Options{}, func(t *testing.T, v *testClient) {
		s := v.sessionHeaders()
		for method, params := range map[string]string{
			"resources/read":        `{"uri":%q}`,
			"resources/subscribe":   `{"uri":%q}`,
			"resources/unsubscribe": `{"uri":%q}`,
			"completion/complete":   `{"ref":{"type":"ref/resource","uri":%q},"argument":{"name":"a","value":""}}`,
		} {
			for size, refused := range map[int]bool{8 << 10: false, 8<<10 + 1: true, 3 << 20: true} {
				uri := "note://" + strings.Repeat("x", size-len("note://"))
				body := fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":%q,"params":`+params+`}`, method, uri)
				got := readAll(v.send(t.Context(), "POST", body, s...))
				if said := strings.Contains(got, "a URI may have at most 8192"); said != refused || said && len(got) > 1000 {
					t.Errorf("%s with %d bytes: %.300s", method, size, got)
				}
			}
		}
		long := `"note://` + strings.Repeat("x", 9<<10) + `"`
		got := v.listen(t.Context(), `"resourceSubscriptions":[`+long+`]`)
		if text := readAll(got); !strings.Contains(text, "a URI may have at most 8192") {
			t.Errorf("listening got %s: %.300s", got.Status, text)
		}
	})
}

// slowFollowHandler makes Follow wait until it is allowed or cancelled.
type slowFollowHandler struct {
	*fakeHandler
	asked   chan string
	allowed chan struct{}
}

func (s slowFollowHandler) SubscribeResource(ctx context.Context, c *mcp.Caller, uri string) error {
	s.asked <- uri
	select {
	case <-s.allowed:
		return s.fakeHandler.SubscribeResource(ctx, c, uri)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestSlowFollowDelaysNobodyAndCanBeCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := slowFollowHandler{newFakeHandler(), make(chan string, 10), make(chan struct{})}
		s := newServer(h, mcp.Options{})
		client, replies, served := serveOverPipes(t, s)
		received := make(chan string, 100)
		go func() {
			lines := bufio.NewScanner(replies)
			for lines.Scan() {
				received <- lines.Text()
			}
			close(received)
		}()
		say := func(line string) {
			io.WriteString(client, expand(line)+"\n")
			synctest.Wait()
		}
		listen := `{"jsonrpc":"2.0","id":"%s","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["note://%s"]},"META"}}`
		say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`)
		say(`{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"note://s"}}`)
		say(fmt.Sprintf(listen, "a", "a"))
		say(fmt.Sprintf(listen, "b", "b"))
		say(`{"jsonrpc":"2.0","id":3,"method":"ping"}`)
		if len(h.asked) != 3 || len(received) != 2 {
			t.Fatalf("%d resources were asked for, %d lines received", len(h.asked), len(received))
		}
		say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}`)
		say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
		say(fmt.Sprintf(listen, "a", "c"))
		close(h.allowed)
		synctest.Wait()
		if n, unbalanced := h.countFollowed(); n != 2 || unbalanced != "" {
			t.Errorf("%d resources are followed; %q", n, unbalanced)
		}
		client.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
		var all string
		for line := range received {
			all += line + "\n"
		}
		for what, want := range map[string]int{"acknowledged": 2, "note://a": 0, `"id":"a","result"`: 1, `"id":"b","result"`: 1, `"id":2`: 0, "error": 0} {
			if n := strings.Count(all, what); n != want {
				t.Errorf("received %s %d times, want %d: %s", what, n, want, all)
			}
		}
		if n, unbalanced := h.countFollowed(); n != 0 || unbalanced != "" {
			t.Errorf("%d resources are followed at the end; %q", n, unbalanced)
		}
	})
}

func TestSlowFollowSendsKeepAlives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := slowFollowHandler{newFakeHandler(), make(chan string, 10), make(chan struct{})}
		s := newServer(h, mcp.Options{})
		client, stop := startHTTP(t, s.For(""))
		v := &testClient{t: t, client: client}
		time.AfterFunc(25*time.Second, func() { close(h.allowed) })
		got := v.listen(t.Context(), `"resourceSubscriptions":["note://a"]`)
		received := make(chan string, 1)
		go func() { received <- readAll(got) }()
		time.Sleep(30 * time.Second)
		s.ResourceUpdated("note://a", nil)
		synctest.Wait()
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		all := <-received
		if !strings.HasPrefix(all, ": keep-alive\n\n: keep-alive\n\ndata: ") || strings.Count(all, "data: ") != 3 {
			t.Errorf("received %q", all)
		}
		stop()
	})
}

func TestRevokedSubscriberIsNotifiedOnce(t *testing.T) {
	for era, begin := range map[string]func(v *testClient) *http.Response{
		"legacy": func(v *testClient) *http.Response {
			s := v.sessionHeaders()
			v.subscribe(s, "note://a")
			v.subscribe(s, "note://b")
			return v.send(v.t.Context(), "GET", "", s...)
		},
		"modern": func(v *testClient) *http.Response {
			return v.listen(v.t.Context(), `"resourceSubscriptions":["note://a","note://b"]`)
		},
	} {
		t.Run(era, func(t *testing.T) {
			withServer(t, mcp.Options{}, func(t *testing.T, v *testClient) {
				stream := begin(v)
				defer stream.Body.Close()
				received := make(chan string, 100)
				go func() {
					for lines := bufio.NewScanner(stream.Body); lines.Scan(); {
						if _, uri, ok := strings.Cut(lines.Text(), `"uri":"note://`); ok {
							received <- uri[:1]
						}
					}
				}()
				synctest.Wait()
				changes := func(want string) {
					t.Helper()
					for range 3 {
						v.server.ResourceUpdated("note://a", nil)
						v.server.ResourceUpdated("note://b", nil)
						synctest.Wait()
					}
					got := ""
					for len(received) > 0 {
						got += <-received
					}
					if got != want {
						t.Errorf("notified of %s, want %s", got, want)
					}
				}
				changes("ababab")
				v.handler.setRevoked("note://a", true)
				changes("abbb")
				changes("bbb")
				v.handler.setRevoked("note://a", false)
				changes("ababab")
			})
		})
	}
}
