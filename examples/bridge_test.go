package examples_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"
)

// bridge is an HTTP server in front of processes that speak stdio, for clients that only speak HTTP: one process for every session of the older
// revisions, and a single one for all requests of 2026-07-28. It knows as little of the protocol as it can.
type bridge struct {
	f *folder

	mu       sync.Mutex
	sessions map[string]*pipe // guarded by mu; "" is the process without sessions
}

// pipe is a process that speaks stdio.
type pipe struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	log   *journal
	ended chan struct{}

	mu    sync.Mutex
	last  int     // id that was given to a request; guarded by mu
	calls []*wire // that wait for an answer, the oldest first; guarded by mu
	idle  *wire   // takes what belongs to no call; guarded by mu
}

// wire is a request that waits for an answer, and is sent everything that is said meanwhile.
type wire struct {
	id    string          // on the line
	given json.RawMessage // by the client
	token string          // of its progress
	lines chan object
}

// message is what the bridge reads of a line.
type message struct {
	ID     json.RawMessage
	Method string
	Params struct {
		ProgressToken json.RawMessage
		RequestID     json.RawMessage `json:"requestId"`
		Meta          map[string]any  `json:"_meta"`
	}
}

const subscription = "io.modelcontextprotocol/subscriptionId"

// overStdio starts a bridge to `hatchel serve --stdio` and returns its URL.
func (f *folder) overStdio() string {
	f.t.Helper()
	b := &bridge{f: f, sessions: map[string]*pipe{}}
	s := httptest.NewServer(b)
	f.t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, p := range b.sessions {
			p.end(f.t)
		}
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL + "/mcp"
}

// pipe is the process of a session, which is started when it is new.
func (b *bridge) pipe(session string, begin bool) (*pipe, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.sessions[session]
	if p != nil || !begin {
		return p, nil
	}
	cmd := b.f.command(append([]string{"serve", "--stdio", "."}, b.f.args...)...)
	p = &pipe{cmd: cmd, log: new(journal), ended: make(chan struct{}), idle: &wire{lines: make(chan object, 1000)}}
	cmd.Stderr = p.log
	var err error
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	b.sessions[session] = p
	go p.read(stdout)
	return p, nil
}

// end closes what the process reads, after which it must end in good health.
func (p *pipe) end(t *testing.T) {
	p.stdin.Close()
	late := time.AfterFunc(maxWait, func() { p.cmd.Process.Kill() })
	defer late.Stop()
	<-p.ended
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("the process ended with %v and had written:\n%s", err, p.log)
	}
}

func (b *bridge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	session := r.Header.Get("Mcp-Session-Id")
	switch r.Method {
	case http.MethodDelete:
		b.mu.Lock()
		p := b.sessions[session]
		delete(b.sessions, session)
		b.mu.Unlock()
		if p != nil {
			p.end(b.f.t)
		}
	case http.MethodGet:
		if p, _ := b.pipe(session, false); p != nil && session != "" {
			p.answer(w, r, p.idle, true)
			return
		}
		w.WriteHeader(http.StatusMethodNotAllowed)
	case http.MethodPost:
		b.post(w, r, session)
	}
}

func (b *bridge) post(w http.ResponseWriter, r *http.Request, session string) {
	body, err := io.ReadAll(r.Body)
	var m message
	if err != nil || json.Unmarshal(body, &m) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	modern := r.Header.Get("MCP-Protocol-Version") > "2026"
	if m.Method == "initialize" && !modern {
		session = fmt.Sprintf("session-%p", r)
		w.Header().Set("Mcp-Session-Id", session)
	} else if modern {
		session = ""
	}
	p, err := b.pipe(session, m.Method == "initialize" || modern)
	switch {
	case err != nil:
		b.f.t.Error(err)
		w.WriteHeader(http.StatusInternalServerError)
	case p == nil:
		w.WriteHeader(http.StatusNotFound)
	case m.Method == "" || m.ID == nil:
		p.write(body)
		w.WriteHeader(http.StatusAccepted)
	default:
		p.answer(w, r, p.call(m, body), false)
	}
}

// write writes a line.
func (p *pipe) write(line []byte) {
	var flat bytes.Buffer
	json.Compact(&flat, line)
	flat.WriteByte('\n')
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stdin.Write(flat.Bytes())
}

// call passes a request on, under an id of its own: those that come over HTTP may be the same for two.
func (p *pipe) call(m message, body []byte) *wire {
	p.mu.Lock()
	p.last++
	c := &wire{id: strconv.Itoa(p.last), given: m.ID, lines: make(chan object, 1000)}
	if token, ok := m.Params.Meta["progressToken"]; ok {
		c.token = fmt.Sprint(token)
	}
	p.calls = append(p.calls, c)
	p.mu.Unlock()
	var request map[string]json.RawMessage
	json.Unmarshal(body, &request)
	request["id"] = json.RawMessage(c.id)
	line, _ := json.Marshal(request)
	p.write(line)
	return c
}

// read passes on every line to the call that it belongs to, as far as it says so.
func (p *pipe) read(stdout io.Reader) {
	defer close(p.ended)
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var whole object
		var m message
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		if d.Decode(&whole) != nil || json.Unmarshal(line, &m) != nil {
			whole = object{"jsonrpc": "2.0", "method": "not JSON: " + string(line)} // which no client takes
		}
		p.pass(whole, m)
	}
}

func (p *pipe) pass(whole object, m message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	to := p.idle
	for i, c := range p.calls {
		if m.Method == "" && string(m.ID) == c.id {
			whole["id"] = c.given
			p.calls = append(p.calls[:i:i], p.calls[i+1:]...)
			to = c
			break
		}
		if m.Method != "" && c.hears(m) {
			to = c
		}
	}
	if id, ok := m.Params.Meta[subscription]; ok && fmt.Sprint(id) == to.id {
		whole["params"].(map[string]any)["_meta"].(map[string]any)[subscription] = to.given
	}
	select {
	case to.lines <- whole:
	default: // nobody has listened for long
	}
}

// hears reports whether something that is said meanwhile may be meant for a call. What names no call is for the youngest one.
func (c *wire) hears(m message) bool {
	id, listens := m.Params.Meta[subscription]
	switch {
	case listens:
		return fmt.Sprint(id) == c.id
	case m.Params.ProgressToken != nil:
		return c.token != "" && string(m.Params.ProgressToken) == strconv.Quote(c.token)
	}
	return true
}

// answer sends what a call is told: a stream if anything comes before the result, as it always is where there is none.
func (p *pipe) answer(w http.ResponseWriter, r *http.Request, c *wire, stream bool) {
	flush := func(text string) {
		io.WriteString(w, text)
		http.NewResponseController(w).Flush()
	}
	begin := func() {
		w.Header().Set("Content-Type", "text/event-stream")
		flush("")
	}
	if stream {
		begin()
	}
	for {
		select {
		case m := <-c.lines:
			text, _ := json.Marshal(m)
			_, said := m["method"]
			if !said && !stream {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status(m))
				w.Write(text)
				return
			}
			if !stream {
				stream = true
				begin()
			}
			flush("data: " + string(text) + "\n\n")
			if !said && c != p.idle {
				return
			}
		case <-r.Context().Done():
			if c != p.idle {
				p.write([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + c.id + `}}`))
			}
			return
		case <-p.ended:
			return
		}
	}
}

// status is 404 for a method that is not known, as HTTP has it from 2026-07-28 on; nothing else is told from the code.
func status(m object) int {
	if e, ok := m["error"].(map[string]any); ok && fmt.Sprint(e["code"]) == "-32601" {
		return http.StatusNotFound
	}
	return http.StatusOK
}
