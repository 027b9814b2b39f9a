//lint:file-ignore SA1019 sampling, roots and logging are deprecated in the newest revision, and served for as long as clients use them

package examples_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// atDesk runs a test with the official client over each transport in each era. The client has what options say.
func atDesk(t *testing.T, test func(t *testing.T, f *folder, connect func(*sdk.ClientOptions) *client)) {
	for name, dial := range dialled {
		for _, era := range eras {
			t.Run(name+"/"+era, func(t *testing.T) {
				t.Parallel()
				f := example(t, "desk")
				test(t, f, func(options *sdk.ClientOptions) *client {
					session, err := sdk.NewClient(&sdk.Implementation{Name: "desk", Version: "1"}, options).
						Connect(t.Context(), dial(f), &sdk.ClientSessionOptions{ProtocolVersion: era})
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() {
						if err := session.Close(); err != nil {
							t.Errorf("the session ended with %v", err)
						}
					})
					return &client{ClientSession: session, t: t}
				})
			})
		}
	}
}

// user answers every form in the same way.
func user(answer sdk.ElicitResult) *sdk.ClientOptions {
	return &sdk.ClientOptions{ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		return &answer, nil
	}}
}

// tickets opens the database beside the server.
func (f *folder) tickets() *sql.DB {
	f.t.Helper()
	db, err := sql.Open("sqlite3", "file:"+f.file("desk.db")+"?_busy_timeout=5000")
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { db.Close() })
	return db
}

// document reads a resource; its error is that of the protocol.
func (c *client) document(uri string) (string, error) {
	r, err := c.ReadResource(c.t.Context(), &sdk.ReadResourceParams{URI: uri})
	if err != nil {
		return "", err
	}
	if len(r.Contents) != 1 {
		c.t.Fatalf("%s reads %+v", uri, r)
	}
	return r.Contents[0].Text, nil
}

func (c *client) completes(ref sdk.CompleteReference, argument, typed string, want ...string) {
	c.t.Helper()
	r, err := c.Complete(c.t.Context(), &sdk.CompleteParams{Ref: &ref, Argument: sdk.CompleteParamsArgument{Name: argument, Value: typed}})
	if err != nil || !slices.Equal(r.Completion.Values, want) {
		c.t.Errorf("%q of %s is completed by %+v, %v", typed, argument, r, err)
	}
}

func TestDeskHasDocuments(t *testing.T) {
	t.Parallel()
	atDesk(t, func(t *testing.T, f *folder, connect func(*sdk.ClientOptions) *client) {
		c := connect(nil)
		if got, err := c.document("desk://runbook"); err != nil || got != f.read("runbook.md") {
			t.Errorf("the runbook reads %q, %v", got, err)
		}
		var open []struct{ ID int }
		if got, err := c.document("desk://tickets/open"); err != nil || json.Unmarshal([]byte(got), &open) != nil || len(open) != 3 || open[0].ID != 101 {
			t.Errorf("the open tickets read %q, %v", got, err)
		}
		var ticket struct {
			Ticket struct{ Subject string }
			Notes  []struct{ Text string }
		}
		if got, err := c.document("desk://tickets/101"); err != nil || json.Unmarshal([]byte(got), &ticket) != nil || ticket.Ticket.Subject != "Label printer prints blank labels" || len(ticket.Notes) != 2 {
			t.Errorf("a ticket reads %q, %v", got, err)
		}
		for uri, want := range map[string]string{
			"desk://tickets/999":  "There is no ticket 999",
			"desk://tickets/many": "id: must be an integer",
			"desk://nothing":      "desk://nothing",
		} {
			if got, err := c.document(uri); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s reads %q, %v", uri, got, err)
			}
		}
	})
}

func TestDeskTellsWhoFollowsADocument(t *testing.T) {
	t.Parallel()
	atDesk(t, func(t *testing.T, f *folder, connect func(*sdk.ClientOptions) *client) {
		g := &guest{told: make(chan string, 100)}
		g.client = connect(&sdk.ClientOptions{ResourceUpdatedHandler: func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) {
			g.told <- r.Params.URI
		}})
		changed := 0
		for uri, change := range map[string]func(){
			"desk://runbook": func() { f.write("runbook.md", fmt.Sprintf("Ask %d times.\n", changed)) },
			"desk://tickets/open": func() {
				if _, err := f.tickets().Exec("UPDATE tickets SET subject = ? WHERE id = 110", fmt.Sprint("Seen ", changed)); err != nil {
					t.Fatal(err)
				}
			},
		} {
			if err := g.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uri}); err != nil {
				t.Fatal(err)
			}
			g.learns(uri, func() { changed++; change() })
		}
	})
}

func TestDeskHasAPromptWithRowsInIt(t *testing.T) {
	t.Parallel()
	atDesk(t, func(t *testing.T, _ *folder, connect func(*sdk.ClientOptions) *client) {
		c := connect(nil)
		r, err := c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "reply", Arguments: map[string]string{"ticket": "101", "tone": "short"}})
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, m := range r.Messages {
			said = append(said, m.Content.(*sdk.TextContent).Text)
		}
		want := []string{
			"Write a short reply to Warehouse. They have reported: Label printer prints blank labels.",
			"Known so far: Started after the paper roll was changed.",
			"Known so far: Cleaning the print head did not help.",
		}
		if !slices.Equal(said, want) {
			t.Errorf("the prompt says %q", said)
		}
		if _, err := c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "reply", Arguments: map[string]string{"tone": "loud"}}); err == nil ||
			!strings.Contains(err.Error(), "ticket: ") || !strings.Contains(err.Error(), "tone: ") {
			t.Errorf("wrong arguments give %v", err)
		}
		prompt := sdk.CompleteReference{Type: "ref/prompt", Name: "reply"}
		c.completes(prompt, "ticket", "1", "101", "102", "110")
		c.completes(prompt, "tone", "S", "short")
		c.completes(sdk.CompleteReference{Type: "ref/resource", URI: "desk://tickets/{id}"}, "id", "12", "120")
	})
}

func TestDeskAsksBeforeItWrites(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		client *sdk.ClientOptions
		failed bool
		said   string
		ticket string
	}{
		{"agreed", user(sdk.ElicitResult{Action: "accept", Content: object{"resolution": "A new roll"}}), false, "Ticket 101 is closed.", "closed: A new roll"},
		{"declined", user(sdk.ElicitResult{Action: "decline"}), false, "Ticket 101 was not closed: the user declined.", "open"},
		{"no user", nil, true, `The question "closing" requires a client with the capability "elicitation", and yours does not declare it. Nothing after the question was done.`, "open"},
	} {
		t.Run(c.name, func(t *testing.T) {
			atDesk(t, func(t *testing.T, f *folder, connect func(*sdk.ClientOptions) *client) {
				r := connect(c.client).call("close_ticket", object{"id": 101})
				if r.IsError != c.failed || said(r) != c.said {
					t.Errorf("failed %v: %q", r.IsError, said(r))
				}
				var got string
				if err := f.tickets().QueryRow("SELECT status || coalesce(': ' || resolution, '') FROM tickets WHERE id = 101").Scan(&got); err != nil || got != c.ticket {
					t.Errorf("the ticket is %q, %v", got, err)
				}
			})
		})
	}
}

func TestDeskAsksTheModelAndDoesWithout(t *testing.T) {
	t.Parallel()
	atDesk(t, func(t *testing.T, _ *folder, connect func(*sdk.ClientOptions) *client) {
		modest := connect(nil).call("summarize_ticket", object{"id": 102})
		if modest.IsError || said(modest) != "VPN drops every hour Only from home, never in the office." {
			t.Errorf("without a model: %q", said(modest))
		}
		r := connect(&sdk.ClientOptions{CreateMessageHandler: func(_ context.Context, r *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) {
			asked := strings.ReplaceAll(r.Params.Messages[0].Content.(*sdk.TextContent).Text, "\n", " / ")
			return &sdk.CreateMessageResult{Role: "assistant", Model: "m", Content: &sdk.TextContent{Text: asked}}, nil
		}}).call("summarize_ticket", object{"id": 102})
		if r.IsError || said(r) != "VPN drops every hour / Only from home, never in the office." {
			t.Errorf("with a model: %q", said(r))
		}
	})
}

// request sends one request of 2026-07-28, of a client that knows tasks.
func (s *server) request(method, name string, params object) (result object) {
	s.t.Helper()
	params["_meta"] = object{
		"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
		"io.modelcontextprotocol/clientCapabilities": object{"extensions": object{"io.modelcontextprotocol/tasks": object{}}},
	}
	body, err := json.Marshal(object{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		s.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name,
	} {
		req.Header.Set(name, value)
	}
	res, err := pooled.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	var m struct{ Result object }
	if err := json.Unmarshal(answer, &m); err != nil || m.Result == nil {
		s.t.Fatalf("%s: %v, %s", method, err, answer)
	}
	return m.Result
}

func TestDeskExportsAsATaskThatOutlivesTheServer(t *testing.T) {
	t.Parallel()
	f := example(t, "desk")
	f.args = []string{"--state", f.file("state.db")}
	const want = "4 tickets of 2026 written to exports/2026.csv."
	var id string
	t.Run("the first server", func(t *testing.T) {
		f := &folder{t: t, path: f.path, args: f.args}
		s := f.serve()
		task := s.request("tools/call", "export_tickets", object{"name": "export_tickets", "arguments": object{"year": 2026}})
		id, _ = task["taskId"].(string)
		if task["resultType"] != "task" || id == "" {
			t.Fatalf("the call is answered by %v", task)
		}
		eventually(t, "the task is completed", func() bool {
			return s.request("tasks/get", id, object{"taskId": id})["status"] == "completed"
		})
		if got := strings.Count(f.read("exports", "2026.csv"), "\n"); got != 5 {
			t.Errorf("%d lines were exported", got)
		}
		expectText(t, s.call("export_tickets", object{"year": 2026}), false, want)
	})
	again := f.serve().request("tasks/get", id, object{"taskId": id})
	result, _ := json.Marshal(again["result"])
	if again["status"] != "completed" || !strings.Contains(string(result), want) {
		t.Errorf("after a restart the task is %v", again)
	}
}

func TestDeskHasAPartThatOnlyReads(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			f := example(t, "desk")
			c := f.connect(&sdk.StreamableClientTransport{Endpoint: f.serve().url + "/reading"}, era)
			if got := c.names(); !slices.Equal(got, []string{"list_tickets", "summarize_ticket"}) {
				t.Errorf("listed are %q", got)
			}
			if _, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "close_ticket", Arguments: object{"id": 101}}); err == nil {
				t.Error("what is not in the set was called")
			}
			if _, err := c.document("desk://runbook"); err != nil {
				t.Error(err)
			}
			if _, err := c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "reply", Arguments: map[string]string{"ticket": "101"}}); err == nil {
				t.Error("the set names no prompts, and one was said")
			}
		})
	}
}
