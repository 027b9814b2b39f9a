package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hatchel/cmd/hatchel-bench/upstream"
)

// exchange sends a message to an MCP server and returns its response.
type exchange func(ctx context.Context, message []byte, id int64) (response []byte, err error)

// calledResult is what a floor decodes of a response of an MCP server.
type calledResult struct {
	Result *callResult     `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// implementProxy calls a tool of an MCP server: at a URL, or, behind the prefix "command:", one that is started. The
// floor sends the same message with encoding/json and net/http; the SDK's is its server and its client.
func implementProxy(tool, address string) (*implementation, error) {
	e, send, err := connectFloor(tool, address)
	if err != nil {
		return nil, err
	}
	var ids atomic.Int64
	return &implementation{
		floor: newFloor(func(ctx context.Context, in json.RawMessage) (callResult, error) {
			id := ids.Add(1) + firstID
			message := body(e, tool, string(in))
			message = bytes.Replace(message, strconv.AppendInt(nil, firstID, 10), strconv.AppendInt(nil, id, 10), 1)
			response, err := send(ctx, message, id)
			if err != nil {
				return callResult{}, err
			}
			var called calledResult
			if err := json.Unmarshal(response, &called); err != nil {
				return callResult{}, err
			}
			if called.Result == nil {
				return callResult{}, fmt.Errorf("the server answered %.300s", response)
			}
			return *called.Result, nil
		}),
		addTools: func(s *mcp.Server) error { return addProxiedTools(s, address) },
	}, nil
}

// connectFloor connects to the server of a tool, and returns its revision.
func connectFloor(tool, address string) (era, exchange, error) {
	if command, ok := strings.CutPrefix(address, "command:"); ok {
		words := strings.Fields(command)
		send, err := startPipe(words)
		return era(words[len(words)-1]), send, err
	}
	e, client := modern, &http.Client{Transport: &http.Transport{MaxIdleConns: 256, MaxIdleConnsPerHost: 256}}
	send := func(ctx context.Context, message []byte, _ int64) ([]byte, error) {
		return post(ctx, client, address, e, tool, message)
	}
	discovered, err := post(context.Background(), client, address, e, "", fmt.Appendf(nil,
		`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{%s}}`, modernMeta))
	if err == nil && bytes.Contains(discovered, []byte(`"error"`)) {
		e = legacy
		_, err = post(context.Background(), client, address, e, "", []byte(initializeBody))
	}
	return e, send, err
}

// post posts a message as a client of one revision, with the headers that the revision requires of a call of a tool;
// tool is empty for other messages. It reads the answer as a document or as a stream of one event.
func post(
	ctx context.Context, client *http.Client, address string, e era, tool string, message []byte,
) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(message))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Protocol-Version", string(e))
	if e == legacy {
		req.Header.Set("Mcp-Session-Id", upstream.Session)
	} else if tool != "" {
		req.Header.Set("Mcp-Method", "tools/call")
		req.Header.Set("Mcp-Name", tool)
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answered %s", res.Status)
	}
	if res.Header.Get("Content-Type") != "text/event-stream" {
		return io.ReadAll(res.Body)
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: ")); ok {
			return bytes.Clone(data), nil
		}
	}
	return nil, errors.Join(lines.Err(), io.ErrUnexpectedEOF)
}

// pipe sends messages to a program, and gives its responses to those who wait for them.
type pipe struct {
	mu      sync.Mutex
	in      io.Writer             // guarded by mu
	waiting map[int64]chan []byte // guarded by mu
}

// startPipe starts a program, which ends with its standard input.
func startPipe(command []string) (exchange, error) {
	cmd := exec.Command(command[0], command[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p := &pipe{in: in, waiting: map[int64]chan []byte{}}
	go p.receive(out)
	return p.exchange, cmd.Start()
}

func (p *pipe) receive(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var head struct {
			ID int64 `json:"id"`
		}
		if json.Unmarshal(lines.Bytes(), &head) != nil {
			return
		}
		p.mu.Lock()
		waiting := p.waiting[head.ID]
		delete(p.waiting, head.ID)
		p.mu.Unlock()
		if waiting != nil {
			waiting <- bytes.Clone(lines.Bytes())
		}
	}
}

func (p *pipe) exchange(ctx context.Context, message []byte, id int64) ([]byte, error) {
	waiting := make(chan []byte, 1)
	p.mu.Lock()
	p.waiting[id] = waiting
	_, err := p.in.Write(append(message, '\n'))
	p.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case response := <-waiting:
		return response, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// addProxiedTools adds the tools of the server to a server of the SDK, which calls them through one session of its
// client.
func addProxiedTools(s *mcp.Server, address string) error {
	var transport mcp.Transport = &mcp.StreamableClientTransport{
		Endpoint: address, DisableStandaloneSSE: true,
		HTTPClient: &http.Client{Transport: &http.Transport{MaxIdleConns: 256, MaxIdleConnsPerHost: 256}},
	}
	if command, ok := strings.CutPrefix(address, "command:"); ok {
		words := strings.Fields(command)
		transport = &mcp.CommandTransport{Command: exec.Command(words[0], words[1:]...)}
	}
	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		return err
	}
	listed, err := session.ListTools(ctx, nil)
	if err != nil {
		return err
	}
	for _, tool := range listed.Tools {
		s.AddTool(tool, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return session.CallTool(ctx, &mcp.CallToolParams{Name: tool.Name, Arguments: req.Params.Arguments})
		})
	}
	return nil
}
