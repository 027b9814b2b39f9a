package examples_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// counting is a tool that reports its progress and then waits.
const counting = `
audit { file = "audit.jsonl" }
tool "count_stock" {
  description = "Count the goods in the warehouse."
  timeout     = "1h"
  step "begun" {
    progress {
      done    = 1
      total   = 2
      message = "Counting"
    }
  }
  step "counted" {
    wait { for = "50m" }
  }
  text = "Many."
}
`

// wrapped are the arguments of an executor.
func wrapped(tool string, arguments any) object { return object{"name": tool, "arguments": arguments} }

// TestOfficialClientCallsToolsThatItFinds uses the toolset with the search block over each transport in each era: the
// call that an executor holds has the progress, the questions, the cursors and the end that it has by its own name.
func TestOfficialClientCallsToolsThatItFinds(t *testing.T) {
	t.Parallel()
	for name, dial := range map[string]func(f *folder) sdk.Transport{
		"http": func(f *folder) sdk.Transport {
			return &sdk.StreamableClientTransport{Endpoint: f.serve().url + "/all"}
		},
		"stdio": func(f *folder) sdk.Transport {
			f.args = []string{"--toolset", "all"}
			return dialled["stdio"](f)
		},
	} {
		for _, era := range eras {
			t.Run(name+"/"+era, func(t *testing.T) {
				t.Parallel()
				f := example(t, "search")
				f.write("counting.hcl", counting)
				u := &searchUser{t: t, f: f, progress: make(chan *sdk.ProgressNotificationParams, 10)}
				session, err := sdk.NewClient(&sdk.Implementation{Name: "examples", Version: "1"}, u.options()).
					Connect(t.Context(), dial(f), &sdk.ClientSessionOptions{ProtocolVersion: era})
				if err != nil {
					t.Fatal(err)
				}
				defer session.Close()
				u.client = &client{ClientSession: session, t: t}
				u.findsTools()
				u.isAsked()
				u.takesPages()
				u.cancelsWhatReportsProgress()
			})
		}
	}
}

// searchUser is a session with the toolset.
type searchUser struct {
	*client
	t        *testing.T
	f        *folder
	progress chan *sdk.ProgressNotificationParams

	mu    sync.Mutex
	asked []string // guarded by mu
}

func (u *searchUser) options() *sdk.ClientOptions {
	return &sdk.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			u.mu.Lock()
			defer u.mu.Unlock()
			u.asked = append(u.asked, r.Params.Message)
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			u.progress <- r.Params
		},
	}
}

func (u *searchUser) findsTools() {
	u.t.Helper()
	if got := u.names(); !slices.Equal(got, []string{"call_tool", "find_tools", "get_order", "read_tool"}) {
		u.t.Errorf("listed are %q", got)
	}
	found := said(u.call("find_tools", object{"query": "give money back for damaged goods", "limit": 1}))
	var one struct {
		Name        string
		InputSchema json.RawMessage
		Annotations struct{ ReadOnlyHint bool }
	}
	if err := json.Unmarshal([]byte(found), &one); err != nil || one.Name != "refund_order" || one.InputSchema == nil || one.Annotations.ReadOnlyHint {
		u.t.Errorf("found is %s", found)
	}
	if r := u.call("call_tool", wrapped("refund_order", object{"id": 501, "amount": 20.5})); r.IsError || said(r) != "Refunded 20.5 euros." {
		u.t.Errorf("refund_order: %s", said(r))
	}
	r := u.call("read_tool", wrapped("list_refunds", object{}))
	if text := fmt.Sprint(r.StructuredContent); !strings.Contains(text, "refunded:20.5") {
		u.t.Errorf("list_refunds: %s", text)
	}
	r = u.call("read_tool", wrapped("close_ticket", object{"id": 101}))
	if want := "read_tool calls tools that only read; close_ticket changes something. Use call_tool."; !r.IsError || said(r) != want {
		u.t.Errorf("close_ticket: %s", said(r))
	}
	if r := u.call("close_ticket", object{"id": 101}); r.IsError { // that is not listed
		u.t.Errorf("close_ticket: %s", said(r))
	}
}

func (u *searchUser) isAsked() {
	u.t.Helper()
	r := u.call("call_tool", wrapped("cancel_order", object{"id": 502}))
	u.mu.Lock()
	defer u.mu.Unlock()
	if r.IsError || said(r) != "Order 502 is cancelled." || len(u.asked) != 1 || !strings.Contains(u.asked[0], "Cancel the order 502?") {
		u.t.Errorf("cancel_order: %s, asked %q", said(r), u.asked)
	}
}

// takesPages takes each second page by an executor, and the others by the name of the tool.
func (u *searchUser) takesPages() {
	u.t.Helper()
	for _, byName := range []bool{true, false} {
		arguments, orders := object{}, []any(nil)
		for range 2 {
			tool, held := "list_orders", any(arguments)
			if !byName {
				tool, held = "read_tool", wrapped("list_orders", arguments)
			}
			page, _ := u.call(tool, held).StructuredContent.(map[string]any)
			rows, _ := page["rows"].([]any)
			for _, row := range rows {
				orders = append(orders, row.(map[string]any)["id"])
			}
			arguments, byName = object{"cursor": page["next_cursor"]}, !byName
		}
		if fmt.Sprint(orders) != "[504 503 502 501]" {
			u.t.Errorf("the first page by its name %t: %v", byName, orders)
		}
	}
}

func (u *searchUser) cancelsWhatReportsProgress() {
	u.t.Helper()
	ctx, cancel := context.WithCancel(u.t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		p := &sdk.CallToolParams{Name: "read_tool", Arguments: wrapped("count_stock", object{})}
		p.SetProgressToken("counted")
		_, err := u.CallTool(ctx, p)
		ended <- err
	}()
	if p := <-u.progress; p.ProgressToken != "counted" || p.Progress != 1 || p.Total != 2 || p.Message != "Counting" {
		u.t.Errorf("progress is %+v", p)
	}
	cancel()
	if err := <-ended; err == nil {
		u.t.Error("the cancelled call was answered")
	}
	eventually(u.t, "the call is recorded as cancelled", func() bool {
		for line := range strings.Lines(u.f.read("audit.jsonl")) {
			var r struct{ Event, Name, Via, Outcome string }
			if json.Unmarshal([]byte(line), &r) == nil && r.Event == "call" && r.Name == "count_stock" {
				return r.Via == "read_tool" && r.Outcome == "cancelled"
			}
		}
		return false
	})
}
