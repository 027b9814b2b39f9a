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

	"hatchel/runtime/mcp"
)

var update = flag.Bool("update", false, "rewrite the server sections of testdata")

// wire is what a conversation of testdata happens over. What the server says arrives in heard.
type wire struct {
	shop   *shop
	server *mcp.Server
	say    func(line string)
	mu     sync.Mutex
	heard  []string
}

func (w *wire) hear(line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = append(w.heard, line)
}

// said returns what was heard since it was last asked.
func (w *wire) said() string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	out := strings.Join(append(w.heard, ""), "\n")
	w.heard = nil
	return regexp.MustCompile(`"correlationId":"\w+"`).ReplaceAllString(out, `"correlationId":"…"`)
}

var wireOptions = mcp.Options{MaxDepth: 8, MaxFrame: 2000, MaxBody: 2000, CallsPerSession: 4}

// overStreams speaks through a pair of pipes.
func overStreams(t *testing.T, w *wire) (hangUp func()) {
	in, client := io.Pipe()
	replies, out := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- w.server.Serve(t.Context(), in, out)
		out.Close()
	}()
	go func() {
		lines := bufio.NewReader(replies)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			w.hear(strings.TrimSuffix(line, "\n"))
		}
	}()
	w.say = func(line string) { io.WriteString(client, line+"\n") }
	return func() {
		client.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

// pipes is a network inside the process, so that time can stand still.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }
func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	p.conns <- loopback{server}
	return client, nil
}

// loopback is a connection from this machine.
type loopback struct{ net.Conn }

func (loopback) LocalAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080} }

// complaint fails a test over what an HTTP server has to say about its handler.
type complaint struct{ t *testing.T }

func (c complaint) Write(p []byte) (int, error) {
	c.t.Errorf("%s", p)
	return len(p), nil
}

// inside starts an HTTP server on such a network and returns a client of it.
func inside(t *testing.T, h http.Handler) (client *http.Client, stop func()) {
	network := &pipes{make(chan net.Conn), make(chan struct{})}
	web := &http.Server{Handler: h, ErrorLog: log.New(complaint{t}, "", 0)}
	done := make(chan struct{})
	go func() {
		web.Serve(network)
		close(done)
	}()
	transport := &http.Transport{DialContext: network.dial}
	return &http.Client{Transport: transport}, func() {
		web.Close()
		transport.CloseIdleConnections()
		<-done
	}
}

// overHTTP sends each line with the headers that a proper client would send with it.
func overHTTP(t *testing.T, w *wire) (hangUp func()) {
	client, stop := inside(t, w.server)
	var session, revision string
	w.say = func(line string) {
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
				w.hear(err.Error())
				return
			}
			defer reply.Body.Close()
			if id := reply.Header.Get("Mcp-Session-Id"); id != "" {
				session, revision = id, m.Params.ProtocolVersion
				if revision == "2099-01-01" || revision == "2026-07-28" {
					revision = "2025-11-25"
				}
				w.follow(t, client, session)
			}
			w.drain(reply)
		}()
	}
	return stop
}

// follow opens the stream that a session tells its client about changes on.
func (w *wire) follow(t *testing.T, client *http.Client, session string) {
	r, _ := http.NewRequestWithContext(t.Context(), "GET", "http://localhost/mcp", nil)
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Mcp-Session-Id", session)
	go func() {
		if reply, err := client.Do(r); err == nil {
			defer reply.Body.Close()
			w.drain(reply)
		}
	}()
}

// drain hears the messages of a reply, in whatever form they come.
func (w *wire) drain(reply *http.Response) {
	if reply.Header.Get("Content-Type") != "text/event-stream" {
		body, _ := io.ReadAll(reply.Body)
		if len(body) > 0 {
			w.hear(strings.TrimSuffix(string(body), "\n"))
		}
		return
	}
	lines := bufio.NewScanner(reply.Body)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			w.hear(data)
		}
	}
}

func TestBothTransportsSayWhatTheArchivesSay(t *testing.T) {
	archives, _ := filepath.Glob("testdata/wire/*.txtar")
	if len(archives) == 0 {
		t.Fatal("no archives")
	}
	for _, path := range archives {
		for name, over := range map[string]func(*testing.T, *wire) func(){"streams": overStreams, "http": overHTTP} {
			t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar")+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					converse(t, ctx, path, over)
				})
			})
		}
	}
}

func converse(t *testing.T, ctx context.Context, path string, over func(*testing.T, *wire) func()) {
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{shop: newShop()}
	w.shop.freed = make(chan struct{})
	w.server = mcp.New(w.shop, wireOptions)
	hangUp := over(t, w)
	changed := false
	for i, f := range a.Files {
		what, arg, _ := strings.Cut(f.Name, " ")
		switch what {
		case "client":
			for line := range strings.Lines(string(f.Data)) {
				w.say(expand(strings.TrimSuffix(line, "\n")))
				synctest.Wait()
			}
		case "free":
			close(w.shop.freed)
		case "changed":
			lists := mcp.Changes{Tools: strings.Contains(arg, "tools"), Prompts: strings.Contains(arg, "prompts"), Resources: strings.Contains(arg, "resources")}
			w.server.Changed(func(string) mcp.Changes { return lists })
		case "updated":
			w.server.ResourceUpdated(arg)
		case "task":
			w.server.TaskChanged(arg, f.Data[:len(f.Data)-1])
		case "wait":
			d, err := time.ParseDuration(arg)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(d)
		case "server":
			got := w.said()
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
	if rest := w.said(); rest != "" && rest != "\n" {
		t.Errorf("the server said more:\n%s", rest)
	}
	if err := w.server.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	hangUp()
	if n, twice := w.shop.following(); n != 0 || twice != "" {
		t.Errorf("%d documents are still followed; given up more often than followed: %q", n, twice)
	}
	if changed {
		os.WriteFile(path, txtar.Format(a), 0o644)
	}
}

// expand writes out what would make the archives hard to read.
func expand(line string) string {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	line = strings.ReplaceAll(line, `"META"`, meta)
	line = strings.ReplaceAll(line, `"FOLLOWS TASKS"`, strings.ReplaceAll(meta, "{}", `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`))
	line = strings.ReplaceAll(line, "LONG", strings.Repeat("long ", 500))
	line = strings.ReplaceAll(line, `\xff`, "\xff")
	return strings.ReplaceAll(line, "DEEP", strings.Repeat("[", 20)+strings.Repeat("]", 20))
}
