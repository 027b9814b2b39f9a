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

	"hatchel/runtime/mcp"
)

// subscribe has a session follow a document.
func (v *visit) subscribe(session []string, uri string) {
	v.t.Helper()
	got := whole(v.send(v.t.Context(), "POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":%q}}`, uri), session...))
	if !strings.Contains(got, `"result":{}`) {
		v.t.Fatalf("%s: %s", uri, got)
	}
}

// balanced fails unless want documents are followed.
func (v *visit) balanced(want int, after string) {
	v.t.Helper()
	synctest.Wait()
	if n, twice := v.shop.following(); n != want || twice != "" {
		v.t.Errorf("after %s %d documents are followed, want %d; given up more often than followed: %q", after, n, want, twice)
	}
}

func TestFollowedDocumentIsGivenUpOnceHoweverItsFollowerEnds(t *testing.T) {
	for how, end := range map[string]func(t *testing.T, v *visit){
		"unsubscribes": func(t *testing.T, v *visit) {
			s := v.session()
			v.subscribe(s, "note://a")
			v.subscribe(s, "note://b")
			v.subscribe(s, "note://b")
			v.balanced(2, "subscribing")
			whole(v.send(t.Context(), "POST", `{"jsonrpc":"2.0","id":3,"method":"resources/unsubscribe","params":{"uri":"note://a"}}`, s...))
			v.balanced(1, "unsubscribing")
			whole(v.send(t.Context(), "DELETE", "", s...))
		},
		"is idle": func(_ *testing.T, v *visit) {
			v.subscribe(v.session(), "note://a")
			v.balanced(1, "subscribing")
			time.Sleep(61 * time.Second)
		},
		"gives way to another": func(_ *testing.T, v *visit) {
			for range 3 {
				v.subscribe(v.session(), "note://a")
				time.Sleep(time.Second)
			}
			v.balanced(2, "a session has given way to another")
			time.Sleep(61 * time.Second)
		},
		"hangs up": func(t *testing.T, v *visit) {
			ctx, hangUp := context.WithCancel(t.Context())
			two := v.listen(ctx, `"resourceSubscriptions":["note://a","note://b","note://a"]`)
			v.balanced(2, "listening")
			hangUp()
			two.Body.Close()
		},
		"stops reading": func(t *testing.T, v *visit) {
			stalled := v.listen(t.Context(), `"resourceSubscriptions":["note://a"]`)
			defer stalled.Body.Close()
			v.balanced(1, "listening")
			for range 40 {
				v.server.ResourceUpdated("note://a")
				synctest.Wait()
			}
			time.Sleep(31 * time.Second) // longer than a peer may take for a part of a reply
			v.balanced(0, "that time")
		},
		"was refused": func(t *testing.T, v *visit) {
			if got := whole(v.listen(t.Context(), `"resourceSubscriptions":["other://a"]`)); !strings.Contains(got, `"data":{"uri":"other://a"}`) {
				t.Errorf("a document that does not exist: %s", got)
			}
		},
		"is shut down": func(t *testing.T, v *visit) {
			v.subscribe(v.session(), "note://a")
			ended, heard := v.listen(t.Context(), `"resourceSubscriptions":["note://b"]`), make(chan string, 1)
			go func() { heard <- whole(ended) }()
			v.balanced(2, "subscribing and listening")
			if err := v.server.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			if got := <-heard; !strings.Contains(got, `"id":"L","result"`) {
				t.Errorf("the listener was left without a word: %s", got)
			}
		},
	} {
		t.Run(how, func(t *testing.T) {
			visiting(t, mcp.Options{Sessions: 2, SessionIdle: time.Minute}, func(t *testing.T, v *visit) {
				end(t, v)
				v.balanced(0, "the end")
			})
		})
	}
}

func TestFollowedDocumentIsGivenUpWhenStreamsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := newShop()
		s := mcp.New(shop, mcp.Options{})
		in, client := io.Pipe()
		served := make(chan error, 1)
		go func() { served <- s.Serve(t.Context(), in, io.Discard) }()
		expect := func(want int) {
			t.Helper()
			synctest.Wait()
			if n, twice := shop.following(); n != want || twice != "" {
				t.Errorf("%d documents are followed, want %d; %q", n, want, twice)
			}
		}
		for _, line := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["note://a","note://b"]},"META"}}`,
			`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["note://c"]},"META"}}`,
			`{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["note://a"]},"META"}}`,
		} {
			io.WriteString(client, expand(line)+"\n")
		}
		expect(3) // one id is not given out twice
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

func TestBalanceHoldsWhileEverythingHappensAtOnce(t *testing.T) {
	visiting(t, mcp.Options{}, func(t *testing.T, v *visit) {
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				s := v.session()
				var one sync.WaitGroup
				for j := range 8 {
					one.Go(func() {
						method := []string{"resources/subscribe", "resources/unsubscribe"}[j%2]
						whole(v.send(t.Context(), "POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"uri":"note://%d"}}`, 10+j, method, j/4), s...))
						v.server.ResourceUpdated("note://0")
						v.server.Changed(every(mcp.Changes{Resources: true}))
						if j == 6 && i%2 == 0 {
							whole(v.send(t.Context(), "DELETE", "", s...))
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
		v.balanced(0, "everything")
		if v.shop.most == 0 {
			t.Error("nothing was ever followed")
		}
	})
}

func TestSubscriptionFollowsOnlySoMuch(t *testing.T) {
	visiting(t, mcp.Options{}, func(t *testing.T, v *visit) {
		s := v.session()
		for i := range 1000 {
			v.subscribe(s, fmt.Sprintf("note://%d", i))
		}
		got := whole(v.send(t.Context(), "POST", `{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"note://more"}}`, s...))
		if !strings.Contains(got, `"code":-32000`) {
			t.Errorf("the session could follow more: %s", got)
		}
		uris := strings.Repeat(`"note://x",`, 2000) + `"note://y"` // the same one counts once
		if got := v.listen(t.Context(), `"resourceSubscriptions":[`+uris+`]`); got.StatusCode != 200 {
			t.Errorf("listening to two documents got %s", got.Status)
		}
		v.balanced(1002, "all this")
	})
}

// slowly makes Follow wait until it is let go, or until nobody wants to follow any more.
type slowly struct {
	*shop
	asked chan string
	let   chan struct{}
}

func (s slowly) Follow(ctx context.Context, c *mcp.Caller, uri string) error {
	s.asked <- uri
	select {
	case <-s.let:
		return s.shop.Follow(ctx, c, uri)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestSlowFollowHoldsUpNobodyAndIsGivenUpWhenItIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := slowly{newShop(), make(chan string, 10), make(chan struct{})}
		s := mcp.New(h, mcp.Options{})
		client, replies, served := overPipes(t, s)
		heard := make(chan string, 100)
		go func() {
			lines := bufio.NewScanner(replies)
			for lines.Scan() {
				heard <- lines.Text()
			}
			close(heard)
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
		if len(h.asked) != 3 || len(heard) != 2 {
			t.Fatalf("%d documents are asked for, %d lines were heard", len(h.asked), len(heard))
		}
		say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}`)
		say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
		say(fmt.Sprintf(listen, "a", "c"))
		close(h.let)
		synctest.Wait()
		if n, twice := h.following(); n != 2 || twice != "" {
			t.Errorf("%d documents are followed; %q", n, twice)
		}
		client.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
		var all string
		for line := range heard {
			all += line + "\n"
		}
		for what, want := range map[string]int{"acknowledged": 2, "note://a": 0, `"id":"a","result"`: 1, `"id":"b","result"`: 1, `"id":2`: 0, "error": 0} {
			if n := strings.Count(all, what); n != want {
				t.Errorf("%s was heard %d times, want %d: %s", what, n, want, all)
			}
		}
		if n, twice := h.following(); n != 0 || twice != "" {
			t.Errorf("%d documents are followed at the end; %q", n, twice)
		}
	})
}

func TestSlowFollowKeepsItsStreamAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := slowly{newShop(), make(chan string, 10), make(chan struct{})}
		s := mcp.New(h, mcp.Options{})
		client, stop := inside(t, s)
		v := &visit{t: t, client: client}
		time.AfterFunc(25*time.Second, func() { close(h.let) })
		got := v.listen(t.Context(), `"resourceSubscriptions":["note://a"]`)
		heard := make(chan string, 1)
		go func() { heard <- whole(got) }()
		time.Sleep(30 * time.Second)
		s.ResourceUpdated("note://a")
		synctest.Wait()
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		all := <-heard
		if !strings.HasPrefix(all, ": keep-alive\n\n: keep-alive\n\ndata: ") || strings.Count(all, "data: ") != 3 {
			t.Errorf("heard %q", all)
		}
		stop()
	})
}

func TestWhoMayNotReadADocumentAnyMoreIsToldOnce(t *testing.T) {
	for era, begin := range map[string]func(v *visit) *http.Response{
		"legacy": func(v *visit) *http.Response {
			s := v.session()
			v.subscribe(s, "note://a")
			v.subscribe(s, "note://b")
			return v.send(v.t.Context(), "GET", "", s...)
		},
		"modern": func(v *visit) *http.Response {
			return v.listen(v.t.Context(), `"resourceSubscriptions":["note://a","note://b"]`)
		},
	} {
		t.Run(era, func(t *testing.T) {
			visiting(t, mcp.Options{}, func(t *testing.T, v *visit) {
				stream := begin(v)
				defer stream.Body.Close()
				heard := make(chan string, 100)
				go func() {
					for lines := bufio.NewScanner(stream.Body); lines.Scan(); {
						if _, uri, ok := strings.Cut(lines.Text(), `"uri":"note://`); ok {
							heard <- uri[:1]
						}
					}
				}()
				synctest.Wait()
				changes := func(want string) {
					t.Helper()
					for range 3 {
						v.server.ResourceUpdated("note://a")
						v.server.ResourceUpdated("note://b")
						synctest.Wait()
					}
					got := ""
					for len(heard) > 0 {
						got += <-heard
					}
					if got != want {
						t.Errorf("heard of %s, and not of %s", got, want)
					}
				}
				changes("ababab")
				v.shop.lock("note://a", true)
				changes("abbb")
				changes("bbb")
				v.shop.lock("note://a", false)
				changes("ababab")
			})
		})
	}
}
