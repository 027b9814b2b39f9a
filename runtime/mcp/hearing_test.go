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

	"hatchel/runtime/mcp"
)

// every reports the same changes for each toolset.
func every(c mcp.Changes) func(string) mcp.Changes {
	return func(string) mcp.Changes { return c }
}

// listen begins a subscription and returns its stream.
func (v *visit) listen(ctx context.Context, filter string) *http.Response {
	v.t.Helper()
	return v.send(ctx, "POST", `{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{"notifications":{`+filter+`},"FOLLOWS TASKS"}}`,
		"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen")
}

func TestWhatChangesWhileNobodyReadsIsToldOnce(t *testing.T) {
	visiting(t, mcp.Options{}, func(t *testing.T, v *visit) {
		s := v.session()
		const documents = 300 // more than the events that a session keeps
		for i := range documents {
			v.subscribe(s, fmt.Sprintf("note://%d", i))
		}
		for range 3 {
			for i := range documents {
				v.server.ResourceUpdated(fmt.Sprintf("note://%d", i))
			}
			v.server.Changed(every(mcp.Changes{Tools: true, Prompts: true}))
		}
		ctx, hangUp := context.WithCancel(t.Context())
		reply := v.send(ctx, "GET", "", s...)
		heard := countMethods(reply.Body, documents+2)
		if heard["notifications/resources/updated"] != documents || heard["notifications/tools/list_changed"] != 1 || heard["notifications/prompts/list_changed"] != 1 {
			t.Errorf("heard %v", heard)
		}
		hangUp()
		reply.Body.Close()
	})
}

func TestReaderThatHasMissedEventsHearsOfEverythingAgain(t *testing.T) {
	visiting(t, mcp.Options{}, func(t *testing.T, v *visit) {
		s := v.session()
		const documents = 300
		for i := range documents {
			v.subscribe(s, fmt.Sprintf("note://%d", i))
		}
		ctx, hangUp := context.WithCancel(t.Context())
		reply := v.send(ctx, "GET", "", s...)
		go io.Copy(io.Discard, reply.Body)
		for i := range documents {
			v.server.ResourceUpdated(fmt.Sprintf("note://%d", i))
		}
		synctest.Wait()
		hangUp()
		synctest.Wait()
		// It has seen one event only, of which the session keeps no successor.
		again := v.send(t.Context(), "GET", "", append(s, "Last-Event-ID", "0-1")...)
		heard := countMethods(again.Body, 256+documents+3)
		if heard["notifications/resources/updated"] < documents || heard["notifications/tools/list_changed"] != 1 {
			t.Errorf("heard %v", heard)
		}
		again.Body.Close()
	})
}

// countMethods counts up to n messages of an event stream by their method.
func countMethods(stream io.Reader, n int) map[string]int {
	heard := make(map[string]int)
	lines := bufio.NewScanner(stream)
	for n > 0 && lines.Scan() {
		if _, after, ok := strings.Cut(lines.Text(), `"method":"`); ok {
			method, _, _ := strings.Cut(after, `"`)
			heard[method]++
			n--
		}
	}
	return heard
}

func TestListenerThatReadsLateHearsOnlyHowATaskStandsNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mcp.New(newShop(), mcp.Options{})
		client, replies, served := overPipes(t, s)
		io.WriteString(client, expand(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"taskIds":["parcel"],"resourceSubscriptions":["note://a"]},"FOLLOWS TASKS"}}`+"\n"))
		synctest.Wait() // the acknowledgement is being written, and nobody reads it
		for i := range 100 {
			s.TaskChanged("parcel", fmt.Appendf(nil, `"taskId":"parcel","n":%d`, i))
			s.ResourceUpdated("note://a")
		}
		go client.Close()
		all, _ := io.ReadAll(replies)
		got := strings.Split(strings.TrimSpace(string(all)), "\n")
		// How the task stood at first may have been on its way already.
		if len(got) > 5 || !strings.Contains(got[0], "acknowledged") || !strings.Contains(got[len(got)-1], `"id":1,"result"`) ||
			strings.Count(string(all), `"n":99`) != 1 || strings.Count(string(all), "resources/updated") != 1 {
			t.Errorf("heard %s", all)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

func TestWhatIsLargeIsLookedUpWhenTheListenerIsTold(t *testing.T) {
	visiting(t, mcp.Options{}, func(t *testing.T, v *visit) {
		ctx, hangUp := context.WithCancel(t.Context())
		defer hangUp()
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
			t.Errorf("heard first %s", got)
		}
		v.server.TaskChanged("parcel", []byte(`"taskId":"parcel","n":1`))
		if got := next(); !strings.Contains(got, `"n":1`) {
			t.Errorf("heard of what is small %s", got)
		}
		v.server.TaskChanged("parcel", []byte(`"taskId":"parcel","n":"`+strings.Repeat("x", 4<<10)+`"`))
		if got := next(); !strings.Contains(got, `"completed"`) || strings.Contains(got, "xxx") {
			t.Errorf("heard of what is large %s", got)
		}
	})
}

func TestOnlyTheToolsetThatChangedIsTold(t *testing.T) {
	visiting(t, mcp.Options{}, func(t *testing.T, v *visit) {
		listen := func(path string) <-chan string {
			r, _ := http.NewRequestWithContext(t.Context(), "POST", "http://localhost"+path, strings.NewReader(expand(`{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{"notifications":{"promptsListChanged":true},"META"}}`)))
			r.Header = http.Header{"Content-Type": {"application/json"}, "Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"subscriptions/listen"}}
			reply, err := v.client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			heard := make(chan string, 1)
			go func() { heard <- whole(reply) }()
			return heard
		}
		all, notes := listen("/mcp"), listen("/mcp/notes")
		synctest.Wait()
		v.server.Changed(func(toolset string) mcp.Changes { return mcp.Changes{Prompts: toolset == "notes"} })
		if err := v.server.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if got := <-all; strings.Contains(got, "list_changed") {
			t.Errorf("who sees everything heard %s", got)
		}
		if got := <-notes; strings.Count(got, "prompts/list_changed") != 1 {
			t.Errorf("who sees the notes heard %s", got)
		}
	})
}

func TestToolsetThatDoesNotExistIsNotServed(t *testing.T) {
	err := mcp.New(newShop(), mcp.Options{}).For("other").Serve(t.Context(), io.NopCloser(strings.NewReader("")), io.Discard)
	if err == nil || !strings.Contains(err.Error(), `"other"`) {
		t.Errorf("Serve returned %v", err)
	}
}
