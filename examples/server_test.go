package examples_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// server is the program serving a folder over HTTP.
type server struct {
	t   *testing.T
	url string // of the endpoint
	pid int
	log *journal

	killed bool // by the test, so that it cannot end in good health
}

// journal is what a process has written on standard error.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

var ready = regexp.MustCompile(`(?m)^hatchel: serving \d+ [a-z0-9, ]+ from \S+ at (https?://(?:127\.0\.0\.1|\[::\]|0\.0\.0\.0):\d+/mcp)$`)

// serve starts the server of the folder and stops it when the test ends, which it must survive in good health.
func (f *folder) serve(args ...string) *server {
	f.t.Helper()
	return f.start(f.command(append(append([]string{"serve", ".", "--listen", "127.0.0.1:0"}, f.args...), args...)...))
}

func (f *folder) start(cmd *exec.Cmd) *server {
	f.t.Helper()
	s := &server{t: f.t, log: new(journal)}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		f.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	s.pid = cmd.Process.Pid
	address, drained := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(drained)
		lines := bufio.NewReader(stderr)
		for {
			line, err := lines.ReadString('\n')
			io.WriteString(s.log, line)
			if m := ready.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
				address <- m[1]
			}
			if err != nil {
				return
			}
		}
	}()
	f.t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		http.DefaultClient.CloseIdleConnections() // for which the server would wait
		pooled.CloseIdleConnections()
		late := time.AfterFunc(maxWait, func() { cmd.Process.Kill() })
		defer late.Stop()
		<-drained
		if err := cmd.Wait(); err != nil && !s.killed {
			f.t.Errorf("the server ended with %v and had written:\n%s", err, s.log)
		}
		if strings.Contains(s.log.String(), "goroutine ") {
			f.t.Errorf("the server has written:\n%s", s.log)
		}
	})
	select {
	case at := <-address:
		s.url = strings.Replace(at, "[::]", "127.0.0.1", 1)
	case <-drained:
		f.t.Fatalf("the server did not start:\n%s", s.log)
	case <-time.After(maxWait):
		f.t.Fatalf("the server is not ready:\n%s", s.log)
	}
	return s
}

// kill ends the server as a crash would.
func (s *server) kill() {
	s.t.Helper()
	s.killed = true
	if err := syscall.Kill(s.pid, syscall.SIGKILL); err != nil {
		s.t.Fatal(err)
	}
}

// prints waits until the server has written a text.
func (s *server) prints(text string) {
	s.t.Helper()
	within := time.NewTimer(maxWait)
	defer within.Stop()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for !strings.Contains(s.log.String(), text) {
		select {
		case <-again.C:
		case <-within.C:
			s.t.Fatalf("the server has written\n%s\nand not\n%s", s.log, text)
		}
	}
}

// pooled keeps its connections: a test that calls from many goroutines wants one each. A call that waits for an approval
// ends after maxWait.
var pooled = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}, Timeout: maxWait}

// reply is what a call came to.
type reply struct {
	Failed     bool `json:"isError"`
	Content    []struct{ Type, Text string }
	Structured json.RawMessage `json:"structuredContent"`

	refused string // the protocol's error instead of a result
}

// text is the first text of the reply.
func (r *reply) text() string {
	if r.refused != "" {
		return r.refused
	}
	if len(r.Content) == 0 {
		return ""
	}
	return r.Content[0].Text
}

// into reads the structured content.
func (r *reply) into(t *testing.T, v any) {
	t.Helper()
	if r.Failed || r.refused != "" {
		t.Fatalf("the call failed: %s", r.text())
	}
	d := json.NewDecoder(bytes.NewReader(r.Structured))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%v in %s", err, r.Structured)
	}
}

// call calls a tool with arguments that encoding/json can write.
func (s *server) call(tool string, arguments any) *reply {
	s.t.Helper()
	raw, err := json.Marshal(arguments)
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := s.send(tool, raw)
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", tool, err, s.log)
	}
	return r
}

// send calls a tool with arguments as they are written on the wire. Its error is a call that got no answer of the protocol.
func (s *server) send(tool string, arguments []byte) (*reply, error) {
	res, answer, err := s.post(tool, arguments)
	if err != nil {
		return nil, err
	}
	return parse(res, answer)
}

// post calls a tool, and returns the response and its body.
func (s *server) post(tool string, arguments []byte) (*http.Response, []byte, error) {
	body := append([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientCapabilities":{}},"name":"`+tool+`","arguments":`), append(arguments, "}}"...)...)
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool,
	} {
		req.Header.Set(name, value)
	}
	res, err := pooled.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	return res, answer, err
}
