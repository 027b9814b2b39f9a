package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"hatchel/runtime/edge/mcp"
)

var update = flag.Bool("update", false, "rewrite the server sections of testdata")

// conversation is a connection over which an archive of testdata runs. Messages of the server go to
// received.
type conversation struct {
	handler  *fakeHandler
	server   *mcp.Server
	send     func(line string)
	mu       sync.Mutex
	received []string
}

func (w *conversation) receive(line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.received = append(w.received, line)
}

// takeReceived returns the messages since the last call.
func (w *conversation) takeReceived() string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	out := strings.Join(append(w.received, ""), "\n")
	w.received = nil
	return regexp.MustCompile(`"correlationId":"\w+"`).ReplaceAllString(out, `"correlationId":"…"`)
}

var wireOptions = mcp.Options{MaxDepth: 8, MaxFrame: 2000, MaxBody: 2000, CallsPerSession: 4}

// connectStreams connects over a pair of pipes.
func connectStreams(t *testing.T, w *conversation) (disconnect func()) {
	in, client := io.Pipe()
	replies, out := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- w.server.For("").Serve(t.Context(), in, out)
		out.Close()
	}()
	go func() {
		lines := bufio.NewReader(replies)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			w.receive(strings.TrimSuffix(line, "\n"))
		}
	}()
	w.send = func(line string) { io.WriteString(client, line+"\n") }
	return func() {
		client.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

// pipeNetwork is a network in the process, as package synctest requires.
type pipeNetwork struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipeNetwork) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipeNetwork) Close() error   { close(p.closed); return nil }
func (p *pipeNetwork) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }
func (p *pipeNetwork) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	p.conns <- loopback{server}
	return client, nil
}

// loopback is a connection from this machine.
type loopback struct{ net.Conn }

func (loopback) LocalAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080} }

// errorLog fails the test if the HTTP server logs an error.
type errorLog struct{ t *testing.T }

func (c errorLog) Write(p []byte) (int, error) {
	c.t.Errorf("%s", p)
	return len(p), nil
}

// startHTTP starts an HTTP server on a pipeNetwork and returns a client of it.
func startHTTP(t *testing.T, h http.Handler) (client *http.Client, stop func()) {
	network := &pipeNetwork{make(chan net.Conn), make(chan struct{})}
	web := &http.Server{Handler: h, ErrorLog: log.New(errorLog{t}, "", 0)}
	done := make(chan struct{})
	go func() {
		web.Serve(network)
		close(done)
	}()
	transport := &http.Transport{DialContext: network.dial}
	return &http.Client{Transport: &readableIDs{base: transport}}, func() {
		web.Close()
		transport.CloseIdleConnections()
		<-done
	}
}

// connectHTTP sends each line as a POST with the headers that a correct client sends.
func connectHTTP(t *testing.T, w *conversation) (disconnect func()) {
	client, stop := startHTTP(t, w.server.For(""))
	var session, revision string
	w.send = func(line string) {
		var m struct {
			Method string
			Params struct {
				Name, URI       string
				TaskID          string
				ProtocolVersion string
				Meta            struct {
					Version string `json:"io.modelcontextprotocol/protocolVersion"`
				} `json:"_meta"`
			}
		}
		json.Unmarshal([]byte(line), &m)
		r, _ := http.NewRequestWithContext(t.Context(), "POST", "http://localhost/mcp", strings.NewReader(line))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		switch {
		case m.Params.Meta.Version != "" || m.Method == "server/discover":
			r.Header.Set("MCP-Protocol-Version", m.Params.Meta.Version)
			r.Header.Set("Mcp-Method", m.Method)
			r.Header.Set("Mcp-Name", m.Params.Name+m.Params.URI+m.Params.TaskID)
		case m.Method != "initialize" && session != "":
			r.Header.Set("Mcp-Session-Id", session)
			r.Header.Set("MCP-Protocol-Version", revision)
		}
		go func() {
			reply, err := client.Do(r)
			if err != nil {
				w.receive(err.Error())
				return
			}
			defer reply.Body.Close()
			if id := reply.Header.Get("Mcp-Session-Id"); id != "" {
				session, revision = id, m.Params.ProtocolVersion
				if revision == "2099-01-01" || revision == "2026-07-28" {
					revision = "2025-11-25"
				}
				w.openEventStream(t, client, session)
			}
			w.receiveReply(reply)
		}()
	}
	return stop
}

// openEventStream opens the session's own event stream.
func (w *conversation) openEventStream(t *testing.T, client *http.Client, session string) {
	r, _ := http.NewRequestWithContext(t.Context(), "GET", "http://localhost/mcp", nil)
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Mcp-Session-Id", session)
	go func() {
		if reply, err := client.Do(r); err == nil {
			defer reply.Body.Close()
			w.receiveReply(reply)
		}
	}()
}

// receiveReply receives the messages of a reply, a document or an event stream.
func (w *conversation) receiveReply(reply *http.Response) {
	if reply.Header.Get("Content-Type") != "text/event-stream" {
		body, _ := io.ReadAll(reply.Body)
		if len(body) > 0 {
			w.receive(strings.TrimSuffix(string(body), "\n"))
		}
		return
	}
	lines := bufio.NewScanner(reply.Body)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			w.receive(data)
		}
	}
}

func TestBothTransportsMatchTheArchives(t *testing.T) {
	archives, _ := filepath.Glob("testdata/wire/*.txtar")
	if len(archives) == 0 {
		t.Fatal("no archives")
	}
	for _, path := range archives {
		for name, over := range map[string]func(*testing.T, *conversation) func(){"streams": connectStreams, "http": connectHTTP} {
			t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar")+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					runArchive(t, ctx, path, over)
				})
			})
		}
	}
}

func runArchive(t *testing.T, ctx context.Context, path string, over func(*testing.T, *conversation) func()) {
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w := &conversation{handler: newFakeHandler()}
	w.handler.release = make(chan struct{})
	w.server = newServer(w.handler, wireOptions)
	disconnect := over(t, w)
	changed := false
	for i, f := range a.Files {
		what, arg, _ := strings.Cut(f.Name, " ")
		switch what {
		case "client":
			for line := range strings.Lines(string(f.Data)) {
				w.send(expand(strings.TrimSuffix(line, "\n")))
				synctest.Wait()
			}
		case "free":
			close(w.handler.release)
		case "changed":
			lists := mcp.Changes{Tools: strings.Contains(arg, "tools"), Prompts: strings.Contains(arg, "prompts"), Resources: strings.Contains(arg, "resources")}
			w.server.ListsChanged(func(string) mcp.Changes { return lists })
		case "updated":
			w.server.ResourceUpdated(arg, nil)
		case "task":
			w.server.TaskChanged(arg, f.Data[:len(f.Data)-1])
		case "wait":
			d, err := time.ParseDuration(arg)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(d)
		case "server":
			got := w.takeReceived()
			if arg == "in any order" {
				got = strings.Join(slices.Sorted(strings.Lines(got)), "")
			}
			if *update {
				changed = changed || got != string(f.Data)
				a.Files[i].Data = []byte(got)
			} else if got != string(f.Data) {
				t.Errorf("section %d of %s:\n--- got\n%s--- want\n%s", i+1, path, got, f.Data)
			}
		default:
			t.Fatalf("%s has a section %q", path, f.Name)
		}
	}
	if rest := w.takeReceived(); rest != "" && rest != "\n" {
		t.Errorf("more messages:\n%s", rest)
	}
	if err := w.server.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	disconnect()
	if n, unbalanced := w.handler.countFollowed(); n != 0 || unbalanced != "" {
		t.Errorf("%d resources are still followed; unfollowed more often than followed: %q", n, unbalanced)
	}
	if changed {
		os.WriteFile(path, txtar.Format(a), 0o644)
	}
}

// expand replaces the placeholders of the archives.
func expand(line string) string {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	line = strings.ReplaceAll(line, `"META"`, meta)
	line = strings.ReplaceAll(line, `"FOLLOWS TASKS"`, strings.ReplaceAll(meta, "{}", `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`))
	line = strings.ReplaceAll(line, "LONG", strings.Repeat("long ", 500))
	line = strings.ReplaceAll(line, `\xff`, "\xff")
	return strings.ReplaceAll(line, "DEEP", strings.Repeat("[", 20)+strings.Repeat("]", 20))
}
