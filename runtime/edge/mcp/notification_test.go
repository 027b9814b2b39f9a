package mcp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"hatchel/runtime/edge/mcp"
)

// sameChanges returns the same changes for each toolset.
func sameChanges(c mcp.Changes) func(string) mcp.Changes {
	return func(string) mcp.Changes { return c }
}

// listen opens a subscription and returns its stream.
func (v *testClient) listen(ctx context.Context, filter string) *http.Response {
	v.t.Helper()
	return v.send(ctx, "POST", `{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{"notifications":{`+filter+`},"FOLLOWS TASKS"}}`,
		"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen")
}

func TestChangesOfAnUnreadTopicAreNotifiedOnce(t *testing.T) {
	withServer(t, mcp.Options{}, func(t *testing.T, v *testClient) {
		s := v.sessionHeaders()
		for range 3 {
			v.server.ListsChanged(sameChanges(mcp.Changes{Tools: true, Prompts: true}))
		}
		ctx, disconnect := context.WithCancel(t.Context())
		reply := v.send(ctx, "GET", "", s...)
		received := countMethods(reply.Body, 2)
		if received["notifications/tools/list_changed"] != 1 || received["notifications/prompts/list_changed"] != 1 {
			t.Errorf("received %v", received)
		}
		disconnect()
		reply.Body.Close()
	})
}

func TestReaderThatMissedEventsIsNotifiedOfEverything(t *testing.T) {
	withServer(t, mcp.Options{}, func(t *testing.T, v *testClient) {
		s := v.sessionHeaders()
		const resources = 300
		for i := range resources {
			v.subscribe(s, fmt.Sprintf("note://%d", i))
		}
		ctx, disconnect := context.WithCancel(t.Context())
		reply := v.send(ctx, "GET", "", s...)
		go io.Copy(io.Discard, reply.Body)
		synctest.Wait()
		for i := range resources {
			v.server.ResourceUpdated(fmt.Sprintf("note://%d", i), nil)
		}
		synctest.Wait()
		disconnect()
		synctest.Wait()
		// It has seen one event only, and the session has dropped the next one.
		again := v.send(t.Context(), "GET", "", append(s, "Last-Event-ID", "0-1")...)
		received := countMethods(again.Body, 255+resources+3) // of 256 events one begins the stream
		if received["notifications/resources/updated"] < resources || received["notifications/tools/list_changed"] != 1 {
			t.Errorf("received %v", received)
		}
		again.Body.Close()
	})
}

// countMethods counts up to n messages of an event stream by their method.
func countMethods(stream io.Reader, n int) map[string]int {
	counts := make(map[string]int)
	lines := bufio.NewScanner(stream)
	for n > 0 && lines.Scan() {
		if _, after, ok := strings.Cut(lines.Text(), `"method":"`); ok {
			method, _, _ := strings.Cut(after, `"`)
			counts[method]++
			n--
		}
	}
	return counts
}

func TestLateListenerGetsOnlyTheCurrentTaskState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(newFakeHandler(), mcp.Options{})
		client, replies, served := serveOverPipes(t, s)
		io.WriteString(client, expand(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"taskIds":["parcel"],"resourceSubscriptions":["note://a"]},"FOLLOWS TASKS"}}`+"\n"))
		synctest.Wait() // the acknowledgement is being written, and the client does not read it
		for i := range 100 {
			s.TaskChanged("parcel", fmt.Appendf(nil, `"taskId":"parcel","n":%d`, i))
			s.ResourceUpdated("note://a", nil)
		}
		go client.Close()
		all, _ := io.ReadAll(replies)
		got := strings.Split(strings.TrimSpace(string(all)), "\n")
		// The first state of the task may have been sent already.
		if len(got) > 5 || !strings.Contains(got[0], "acknowledged") || !strings.Contains(got[len(got)-1], `"id":1,"result"`) ||
			strings.Count(string(all), `"n":99`) != 1 || strings.Count(string(all), "resources/updated") != 1 {
			t.Errorf("received %s", all)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

func TestLargeTaskStateIsLookedUpAtDelivery(t *testing.T) {
	withServer(t, mcp.Options{}, func(t *testing.T, v *testClient) {
		ctx, disconnect := context.WithCancel(t.Context())
		defer disconnect()
		reply := v.listen(ctx, `"taskIds":["parcel"]`)
		defer reply.Body.Close()
		lines := bufio.NewScanner(reply.Body)
		next := func() string {
			for lines.Scan() {
				if strings.Contains(lines.Text(), `"notifications/tasks"`) {
					return lines.Text()
				}
			}
			return "nothing"
		}
		if got := next(); !strings.Contains(got, `"completed"`) {
			t.Errorf("received first %s", got)
		}
		v.server.TaskChanged("parcel", []byte(`"taskId":"parcel","n":1`))
		if got := next(); !strings.Contains(got, `"n":1`) {
			t.Errorf("received for a small state %s", got)
		}
		v.server.TaskChanged("parcel", []byte(`"taskId":"parcel","n":"`+strings.Repeat("x", 4<<10)+`"`))
		if got := next(); !strings.Contains(got, `"completed"`) || strings.Contains(got, "xxx") {
			t.Errorf("received for a large state %s", got)
		}
	})
}

func TestListChangeNotifiesOnlyItsToolset(t *testing.T) {
	withServer(t, mcp.Options{}, func(t *testing.T, v *testClient) {
		listen := func(path string) <-chan string {
			r, _ := http.NewRequestWithContext(t.Context(), "POST", "http://localhost"+path, strings.NewReader(expand(`{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{"notifications":{"promptsListChanged":true},"META"}}`)))
			r.Header = http.Header{"Content-Type": {"application/json"}, "Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"subscriptions/listen"}}
			reply, err := v.client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			received := make(chan string, 1)
			go func() { received <- readAll(reply) }()
			return received
		}
		all, notes := listen("/mcp"), listen("/mcp/notes")
		synctest.Wait()
		v.server.ListsChanged(func(toolset string) mcp.Changes { return mcp.Changes{Prompts: toolset == "notes"} })
		if err := v.server.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if got := <-all; strings.Contains(got, "list_changed") {
			t.Errorf("the whole server was notified: %s", got)
		}
		if got := <-notes; strings.Count(got, "prompts/list_changed") != 1 {
			t.Errorf("the toolset received %s", got)
		}
	})
}

func TestServingAnUnknownToolsetFails(t *testing.T) {
	err := newServer(newFakeHandler(), mcp.Options{}).For("other").Serve(t.Context(), io.NopCloser(strings.NewReader("")), io.Discard)
	if err == nil || !strings.Contains(err.Error(), `"other"`) {
		t.Errorf("Serve returned %v", err)
	}
}
