package examples_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The two eras of the protocol.
var eras = []string{"2025-11-25", "2026-07-28"}

// dialled are the ways from the official client to the program.
var dialled = map[string]func(f *folder) sdk.Transport{
	"http": func(f *folder) sdk.Transport {
		return &sdk.StreamableClientTransport{Endpoint: f.serve().url}
	},
	"stdio": func(f *folder) sdk.Transport {
		return &sdk.CommandTransport{Command: f.command(append([]string{"serve", "--stdio", "."}, f.args...)...), TerminateDuration: maxWait}
	},
}

// everyClient runs a test with the official client over each transport in each era.
func everyClient(t *testing.T, test func(t *testing.T, connect func(f *folder) *client)) {
	for name, dial := range dialled {
		for _, era := range eras {
			t.Run(name+"/"+era, func(t *testing.T) {
				t.Parallel()
				test(t, func(f *folder) *client { return f.connect(dial(f), era) })
			})
		}
	}
}

// client is a session of the official client, and what it has been told.
type client struct {
	*sdk.ClientSession
	t       *testing.T
	changed chan struct{} // the list of tools
}

func (f *folder) connect(transport sdk.Transport, era string) *client {
	f.t.Helper()
	c := &client{t: f.t, changed: make(chan struct{}, 100)}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "examples", Version: "1"}, &sdk.ClientOptions{
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { c.changed <- struct{}{} },
	}).Connect(f.t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		if err := session.Close(); err != nil {
			f.t.Errorf("the session ended with %v", err)
		}
	})
	if got := session.InitializeResult().ProtocolVersion; got != era {
		f.t.Fatalf("%s is spoken instead of %s", got, era)
	}
	c.ClientSession = session
	return c
}

func (c *client) names() (names []string) {
	c.t.Helper()
	for tool, err := range c.Tools(c.t.Context(), nil) {
		if err != nil {
			c.t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	return names
}

func (c *client) call(tool string, arguments any) *sdk.CallToolResult {
	c.t.Helper()
	r, err := c.CallTool(c.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		c.t.Fatalf("%s: %v", tool, err)
	}
	return r
}

// heard waits until the client is told that the list of tools changed.
func (c *client) heard(why string) {
	c.t.Helper()
	select {
	case <-c.changed:
	case <-time.After(maxWait):
		c.t.Fatalf("the client was not told that the list changed: %s", why)
	}
}

func said(r *sdk.CallToolResult) string {
	for _, block := range r.Content {
		if text, ok := block.(*sdk.TextContent); ok {
			return text.Text
		}
	}
	return ""
}

func TestOfficialClientListsAndCalls(t *testing.T) {
	t.Parallel()
	everyClient(t, func(t *testing.T, connect func(*folder) *client) {
		f := example(t, "invoices")
		c := connect(f)
		if init := c.InitializeResult(); init.ServerInfo.Name != "finance-tools" || !strings.HasPrefix(init.Instructions, "Invoices of the finance team.") {
			t.Errorf("introduced as %+v", init)
		}
		if got := c.names(); !slices.Equal(got, tools["invoices"]) {
			t.Errorf("listed are %q", got)
		}
		r := c.call("save_csv", object{"filename": "may", "rows": []object{invoice("2026-05-01", 640, "Zoë & Söhne")}})
		if r.IsError || said(r) != "CSV saved to invoices/may.csv (1 rows)" {
			t.Errorf("save_csv: %q", said(r))
		}
		if got := f.read("invoices", "may.csv"); !strings.Contains(got, "Zoë & Söhne") {
			t.Errorf("the file holds %q", got)
		}
		r = c.call("save_csv", object{"filename": "may", "rows": []object{}})
		if !r.IsError || !strings.HasPrefix(said(r), "Failed to save CSV: ") {
			t.Errorf("save_csv again: %q", said(r))
		}
		r = c.call("save_csv", object{"rows": []object{{"amount": "x"}}})
		if !r.IsError || strings.Count(said(r), "\n- ") != 4 {
			t.Errorf("wrong arguments: %q", said(r))
		}
		if _, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "save"}); err == nil {
			t.Error("an unknown tool was called")
		}
	})
}

func TestOfficialClientReadsStructuredContentOfTheShapeThatIsListed(t *testing.T) {
	t.Parallel()
	everyClient(t, func(t *testing.T, connect func(*folder) *client) {
		f, _ := orders(t)
		c := connect(f)
		for tool, err := range c.Tools(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			if tool.Name == "get_order" && tool.OutputSchema == nil {
				t.Error("get_order has no output schema")
			}
		}
		r := c.call("get_order", object{"id": 3})
		order, ok := r.StructuredContent.(map[string]any)
		if !ok || order["customer"] != "Tomás Rey" || order["id"] != float64(3) {
			t.Errorf("structured is %#v", r.StructuredContent)
		}
		var text any
		if err := json.Unmarshal([]byte(said(r)), &text); err != nil {
			t.Errorf("the text is no JSON: %q", said(r))
		}
		if r := c.call("get_order", object{"id": 99}); !r.IsError || said(r) != "There is no order 99." {
			t.Errorf("an unknown order reads %q", said(r))
		}
	})
}

const greeting = `
tool "greet" {
  description = "Say hello."
  input "name" { type = string }
  text = "Hello ${input.name}"
}
`

func TestOfficialClientIsToldOfAnEditedFile(t *testing.T) {
	t.Parallel()
	everyClient(t, func(t *testing.T, connect func(*folder) *client) {
		f := example(t, "files")
		c := connect(f)
		if got := c.names(); !slices.Equal(got, tools["files"]) {
			t.Fatalf("listed are %q", got)
		}
		f.write("files.hcl", f.read("files.hcl")+greeting)
		c.heard("a tool was added")
		if got := c.names(); !slices.Contains(got, "greet") {
			t.Errorf("listed are %q", got)
		}
		if r := c.call("greet", object{"name": "you"}); said(r) != "Hello you" {
			t.Errorf("the new tool says %q", said(r))
		}
	})
}

const slow = `
tool "slow" {
  description = "Waits."
  shell {
    script = <<-SH
      sleep 1000 &
      echo $$ $! > pids.new
      mv pids.new pids
      wait
    SH
    sandbox { write = ["."] }
  }
}
`

func TestOfficialClientCancelsAProgramWithItsChildren(t *testing.T) {
	t.Parallel()
	everyClient(t, func(t *testing.T, connect func(*folder) *client) {
		f := ops(t)
		f.write("slow.hcl", slow)
		c := connect(f)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := c.CallTool(ctx, &sdk.CallToolParams{Name: "slow"})
			ended <- err
		}()
		eventually(t, "the program runs", func() bool { _, err := os.Stat(f.file("pids")); return err == nil })
		pids := strings.Fields(f.read("pids"))
		for _, pid := range pids {
			if !alive(t, pid) {
				t.Fatalf("%s does not run", pid)
			}
		}
		cancel()
		if err := <-ended; err == nil {
			t.Error("the cancelled call was answered")
		}
		for _, pid := range pids {
			eventually(t, "process "+pid+" has ended", func() bool { return !alive(t, pid) })
		}
		if got := c.names(); !slices.Contains(got, "slow") {
			t.Errorf("afterwards are listed %q", got)
		}
	})
}

// alive reports whether a process runs; one that has ended and that nobody has asked about is none.
func alive(t *testing.T, pid string) bool {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	if syscall.Kill(n, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return !os.IsNotExist(err) // there is no /proc here
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}
