//lint:file-ignore SA1019 sampling, roots and logging are deprecated in the newest revision, and served for as long as clients use them

package e2e_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hatchel/internal/programtest"
)

// officialClient is a session of an official client. A call has an argument n, by which it is cancelled and by which
// the proxy knows its process. The client answers every question itself, one that begins with "hold" after release.
type officialClient interface {
	session() string // the id; empty for none
	list() ([]string, error)
	call(tool, n string) (text string, err error)
	follow(tool, n string) (blocks string, err error) // hears progress; the texts of all blocks, or their types
	cancel(n string)
	setLevel(level string) error
	subscribe(uri string) error
	unsubscribe(uri string) error
	release()
	heard() <-chan string // "tools", "log TEXT", "progress TEXT", "updated URI", "question"
	end() error
}

// clientKind is an official client in a revision of the protocol.
type clientKind struct{ name, revision string }

func (k clientKind) String() string { return k.name + " " + k.revision }

func (k clientKind) legacy() bool { return k.revision < "2026" }

// resumes reports whether the server may close the stream of a call, to which the client returns.
func (k clientKind) resumes() bool { return k.revision == "2025-11-25" }

var clientKinds = []clientKind{
	{"Go", "2024-11-05"}, {"Go", "2025-06-18"}, {"Go", "2025-11-25"}, {"Go", "2026-07-28"},
	{"TypeScript sdk", "2025-11-25"}, {"TypeScript client", "2025-11-25"}, {"TypeScript client", "2026-07-28"},
}

// connect connects n clients of one kind, which end with the test.
func (k clientKind) connect(t *testing.T, url string, n int) (all []officialClient) {
	t.Helper()
	var err error
	if k.name == "Go" {
		for range n {
			var c officialClient
			if c, err = connectGo(t, url, k.revision); err != nil {
				break
			}
			all = append(all, c)
		}
	} else {
		all, err = connectTypeScript(t, k, n, url)
	}
	if err != nil {
		t.Fatalf("%s does not connect: %v", k, err)
	}
	return all
}

// goClient is a session of the Go SDK.
type goClient struct {
	*sdk.ClientSession
	ctx      context.Context
	news     chan string
	released chan struct{}

	mu    sync.Mutex
	calls map[string]context.CancelFunc // by n; guarded by mu
}

func connectGo(t *testing.T, url, revision string) (*goClient, error) {
	return connectGoOver(t, &sdk.StreamableClientTransport{Endpoint: url}, revision)
}

func connectGoOver(t *testing.T, transport sdk.Transport, revision string) (*goClient, error) {
	// A session outlives the context of a test, which ends before its cleanups.
	c := &goClient{
		ctx: context.WithoutCancel(t.Context()), news: make(chan string, 1000), released: make(chan struct{}),
		calls: map[string]context.CancelFunc{},
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "replicas", Version: "1"}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{
			RootsV2:     &sdk.RootCapabilities{},
			Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}},
		},
		ElicitationHandler: c.elicit,
		CreateMessageHandler: func(_ context.Context, r *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) {
			text := "model " + r.Params.Messages[0].Content.(*sdk.TextContent).Text
			return &sdk.CreateMessageResult{Role: "assistant", Model: "m", Content: &sdk.TextContent{Text: text}}, nil
		},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { c.news <- "tools" },
		ResourceUpdatedHandler: func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) {
			c.news <- "updated " + r.Params.URI
		},
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			c.news <- "progress " + r.Params.Message
		},
		LoggingMessageHandler: func(_ context.Context, r *sdk.LoggingMessageRequest) {
			c.news <- fmt.Sprintf("log %v", r.Params.Data)
		},
	})
	client.AddRoots(&sdk.Root{URI: "file:///srv/project", Name: "project"})
	var err error
	c.ClientSession, err = client.Connect(c.ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { c.end() })
	if got := c.InitializeResult().ProtocolVersion; got != revision {
		return nil, fmt.Errorf("%s is spoken instead of %s", got, revision)
	}
	return c, nil
}

func (c *goClient) elicit(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	if strings.HasPrefix(r.Params.Message, "hold") {
		c.news <- "question"
		select {
		case <-c.released:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if r.Params.Mode == "url" {
		return &sdk.ElicitResult{Action: "accept"}, nil
	}
	words := strings.Fields(r.Params.Message)
	return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"name": words[len(words)-1]}}, nil
}

func (c *goClient) session() string { return c.ID() }

func (c *goClient) list() (names []string, err error) {
	ctx, cancel := context.WithTimeout(c.ctx, programtest.Timeout)
	defer cancel()
	r, err := c.ListTools(ctx, nil)
	if err != nil {
		return nil, err
	}
	for _, tool := range r.Tools {
		names = append(names, tool.Name)
	}
	return names, nil
}

func (c *goClient) call(tool, n string) (string, error) {
	blocks, err := c.callTool(tool, n, nil)
	if err != nil {
		return "", err
	}
	return blocks[0], nil
}

func (c *goClient) follow(tool, n string) (string, error) {
	blocks, err := c.callTool(tool, n, n)
	return strings.Join(blocks, "|"), err
}

// callTool returns the texts of the blocks of a result, or their types. The token of progress is nil for none.
func (c *goClient) callTool(tool, n string, token any) (blocks []string, err error) {
	ctx, cancel := context.WithTimeout(c.ctx, 2*programtest.Timeout)
	defer cancel()
	c.mu.Lock()
	c.calls[n] = cancel
	c.mu.Unlock()
	params := &sdk.CallToolParams{Name: tool, Arguments: map[string]any{"n": n}}
	if token != nil {
		params.SetProgressToken(token)
	}
	r, err := c.CallTool(ctx, params)
	if err != nil {
		return nil, err
	}
	for _, content := range r.Content {
		var block struct{ Type, Text string }
		text, err := json.Marshal(content)
		if err == nil {
			err = json.Unmarshal(text, &block)
		}
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, cmp.Or(block.Text, block.Type))
	}
	if r.IsError {
		blocks[0] = "error: " + blocks[0]
	}
	return blocks, nil
}

func (c *goClient) cancel(n string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[n]()
}

func (c *goClient) setLevel(level string) error {
	ctx, cancel := context.WithTimeout(c.ctx, programtest.Timeout)
	defer cancel()
	return c.SetLoggingLevel(ctx, &sdk.SetLoggingLevelParams{Level: sdk.LoggingLevel(level)})
}

func (c *goClient) subscribe(uri string) error {
	ctx, cancel := context.WithTimeout(c.ctx, programtest.Timeout)
	defer cancel()
	return c.Subscribe(ctx, &sdk.SubscribeParams{URI: uri})
}

func (c *goClient) unsubscribe(uri string) error {
	ctx, cancel := context.WithTimeout(c.ctx, programtest.Timeout)
	defer cancel()
	return c.Unsubscribe(ctx, &sdk.UnsubscribeParams{URI: uri})
}

func (c *goClient) release()             { close(c.released) }
func (c *goClient) heard() <-chan string { return c.news }
func (c *goClient) end() error           { return c.Close() }

// nodeClients are clients of one of the TypeScript packages, in one process of Node.
type nodeClients struct {
	input  io.Writer
	stderr string // a file
	done   chan struct{}

	mu      sync.Mutex
	last    int                       // id of a command; guarded by mu
	pending map[int]chan nodeResponse // by id; guarded by mu
	clients []*nodeClient
}

// nodeResponse is a line of testdata/replicas/clients.cjs.
type nodeResponse struct {
	ID     int
	Client int
	Heard  string
	Value  json.RawMessage
	Error  string
}

// nodeClient is a session of a TypeScript client.
type nodeClient struct {
	process *nodeClients
	number  int
	id      string
	news    chan string
}

// connectTypeScript connects n clients to the server at a URL, or each over stdio to one that a command starts.
func connectTypeScript(t *testing.T, k clientKind, n int, server ...string) (all []officialClient, err error) {
	t.Helper()
	node := strings.Fields(os.Getenv("HATCHEL_TEST_TYPESCRIPT"))
	if len(node) == 0 {
		t.Skip("HATCHEL_TEST_TYPESCRIPT is not set")
	}
	script, err := filepath.Abs("testdata/replicas/clients.cjs")
	if err != nil {
		return nil, err
	}
	p := &nodeClients{pending: map[int]chan nodeResponse{}, done: make(chan struct{}), stderr: filepath.Join(t.TempDir(), "stderr")}
	for i := range n {
		p.clients = append(p.clients, &nodeClient{process: p, number: i, news: make(chan string, 1000)})
	}
	node = append(node, script, strings.TrimPrefix(k.name, "TypeScript "), k.revision)
	cmd := exec.Command(node[0], append(node[1:], server...)...)
	stderr, err := os.Create(p.stderr)
	if err != nil {
		return nil, err
	}
	defer stderr.Close()
	cmd.Stderr = stderr
	if p.input, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go p.read(output)
	t.Cleanup(func() {
		for _, c := range p.clients {
			c.end()
		}
		cmd.Process.Kill()
		<-p.done
		cmd.Wait()
		if text, _ := os.ReadFile(p.stderr); t.Failed() {
			t.Logf("%s has written:\n%s", k, text)
		}
	})
	for _, c := range p.clients {
		if err := c.do("connect", nil, &c.id); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

func (p *nodeClients) read(output io.Reader) {
	defer close(p.done)
	for lines := bufio.NewScanner(output); lines.Scan(); {
		var got nodeResponse
		if json.Unmarshal(lines.Bytes(), &got) != nil {
			continue
		}
		if got.Heard != "" {
			p.clients[got.Client].news <- got.Heard
			continue
		}
		p.mu.Lock()
		p.pending[got.ID] <- got
		delete(p.pending, got.ID)
		p.mu.Unlock()
	}
}

// do carries out a command and reads its value.
func (c *nodeClient) do(what string, with map[string]any, value any) error {
	p := c.process
	line := map[string]any{"client": c.number, "do": what}
	for name, v := range with {
		line[name] = v
	}
	response := make(chan nodeResponse, 1)
	p.mu.Lock()
	p.last++
	line["id"] = p.last
	p.pending[p.last] = response
	text, err := json.Marshal(line)
	if err == nil {
		_, err = p.input.Write(append(text, '\n'))
	}
	p.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case got := <-response:
		if got.Error != "" {
			return errors.New(got.Error)
		}
		if value == nil {
			return nil
		}
		return json.Unmarshal(got.Value, value)
	case <-p.done:
		return errors.New("node has ended")
	case <-time.After(3 * programtest.Timeout):
		return fmt.Errorf("%s does not end", what)
	}
}

func (c *nodeClient) session() string { return c.id }

func (c *nodeClient) list() (names []string, err error) {
	return names, c.do("list", nil, &names)
}

func (c *nodeClient) call(tool, n string) (text string, err error) {
	err = c.do("call", map[string]any{"name": tool, "args": map[string]any{"n": n}}, &text)
	return text, err
}

func (c *nodeClient) follow(tool, n string) (blocks string, err error) {
	with := map[string]any{"name": tool, "args": map[string]any{"n": n}, "follow": true}
	return blocks, c.do("call", with, &blocks)
}

func (c *nodeClient) cancel(n string) { c.do("cancel", map[string]any{"n": n}, nil) }

func (c *nodeClient) setLevel(level string) error {
	return c.do("level", map[string]any{"level": level}, nil)
}

func (c *nodeClient) subscribe(uri string) error {
	return c.do("subscribe", map[string]any{"uri": uri}, nil)
}

func (c *nodeClient) unsubscribe(uri string) error {
	return c.do("unsubscribe", map[string]any{"uri": uri}, nil)
}

func (c *nodeClient) release()             { c.do("release", nil, nil) }
func (c *nodeClient) heard() <-chan string { return c.news }
func (c *nodeClient) end() error           { return c.do("end", nil, nil) }
