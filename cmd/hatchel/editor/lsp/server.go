// Package lsp is the language server of hatchel lsp: it tells an editor what a load and package edit know of
// configuration directories. It reads files and environment variables, and opens, connects and runs nothing.
//
// One goroutine, that of [Serve], owns all state. Another one reads messages, and each load runs in one of its own. A
// feature is a file with a handler in the table of methods; it answers from a view of one document.
package lsp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"hatchel/cmd/hatchel/editor"
	"hatchel/hcl"
)

// Options are what a server needs besides its client.
type Options struct {
	Kinds    hcl.Kinds
	Version  string                      // of the program
	Getenv   func(string) (string, bool) // the environment of the configurations
	Vars     map[string]string           // values of variables
	Parallel func(n int, do func(i int)) // see hcl.Options
	Entry    func(*hcl.Tool) []byte      // a tool as tools/list has it; nil for none
	Log      *slog.Logger                // nil discards
}

// Server is one connection to a client.
type Server struct {
	opts     Options
	methods  map[string]handler
	language *editor.Language
	out      writer
	events   chan func()
	quit     chan struct{} // closed when Serve returns
	trim     func()        // see newTrimmer

	state     state
	result    error    // of serve
	watches   bool     // the client reports changes of files
	snippets  bool     // the client fills in the places of completions
	commands  []string // that the client has
	roots     []string
	documents map[string]*document // open ones, by URI
	folders   map[string]*folder   // by absolute path
	tasks     sync.WaitGroup       // that answer in goroutines of their own
	lastID    int                  // of the requests of the server

	mu        sync.Mutex
	cancelled map[string]bool // requests that were cancelled before they were answered, by id; guarded by mu
}

// state is how far the connection is.
type state int

const (
	stateNew state = iota
	stateRunning
	stateShutdown
	stateExited
)

// ErrNoShutdown is the error of a client that ended the connection without a shutdown request.
var ErrNoShutdown = errors.New("the client ended the connection without a shutdown request")

// Serve answers a client until it sends exit, its stream ends, or ctx is done.
func Serve(ctx context.Context, in io.Reader, out io.Writer, opts Options) error {
	s := newServer(out, opts)
	s.trim = newTrimmer()
	return s.serve(ctx, in)
}

func newServer(out io.Writer, opts Options) *Server {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	language := editor.NewLanguage(opts.Kinds)
	language.Entry = opts.Entry
	return &Server{
		opts: opts, methods: newMethods(), language: language, out: writer{out: out},
		events: make(chan func(), 16), quit: make(chan struct{}),
		documents: map[string]*document{}, folders: map[string]*folder{}, cancelled: map[string]bool{},
		trim: func() {},
	}
}

func (s *Server) serve(ctx context.Context, in io.Reader) error {
	defer close(s.quit)
	go func() {
		err := s.read(bufio.NewReaderSize(in, 64<<10))
		s.post(func() { s.end(err) }) // what was read before is handled first
	}()
	for s.state != stateExited {
		select {
		case do := <-s.events:
			do()
		case <-ctx.Done():
			return nil
		}
		if err := s.writeError(); err != nil {
			return fmt.Errorf("the client cannot be written to: %w", err)
		}
	}
	return s.result
}

// end ends the server with an error of its stream; nil for the message exit.
func (s *Server) end(err error) {
	if s.state != stateShutdown && (err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
		err = ErrNoShutdown
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	s.state, s.result = stateExited, err
}

func (s *Server) writeError() error {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	return s.out.err
}

// post makes the goroutine of Serve call do.
func (s *Server) post(do func()) {
	select {
	case s.events <- do:
	case <-s.quit:
	}
}

// read reads messages until the stream ends. It notes cancellations at once, because a request that is cancelled may
// still wait for its turn.
func (s *Server) read(r *bufio.Reader) error {
	for {
		body, err := readFrame(r)
		if failed, ok := errors.AsType[*responseError](err); ok {
			s.post(func() { s.respond(json.RawMessage("null"), nil, failed) })
			continue
		}
		if err != nil {
			return err
		}
		m := new(message)
		if err := json.Unmarshal(body, m); err != nil {
			s.post(func() {
				s.respond(json.RawMessage("null"), nil, &responseError{codeParse, "the message is not valid JSON-RPC"})
			})
			continue
		}
		if m.Method == "$/cancelRequest" {
			s.noteCancelled(m)
			continue
		}
		if m.Method == "exit" {
			return nil
		}
		s.post(func() { s.handle(m) })
	}
}

// maxCancelled is how many cancelled requests are remembered that may have been answered before.
const maxCancelled = 1000

func (s *Server) noteCancelled(m *message) {
	var p struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(m.Params, &p) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.cancelled) > maxCancelled {
		clear(s.cancelled)
	}
	s.cancelled[string(p.ID)] = true
}

// isCancelled reports whether a request was cancelled.
func (s *Server) isCancelled(id json.RawMessage) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cancelled[string(id)]
}

// forgetCancelled reports whether a request was cancelled, and forgets it.
func (s *Server) forgetCancelled(id json.RawMessage) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.cancelled[string(id)]
	delete(s.cancelled, string(id))
	return was
}

// handle handles one message in the goroutine of Serve.
func (s *Server) handle(m *message) {
	if m.Method == "" {
		return // a response to a request of the server; none is waited for
	}
	h, known := s.methods[m.Method]
	switch {
	case s.state == stateNew && m.Method != "initialize":
		s.refuse(m, codeNotInitialized, "the first request must be initialize")
	case s.state == stateShutdown:
		s.refuse(m, codeInvalidRequest, "the server was shut down")
	case !known:
		s.refuse(m, codeUnknownMethod, fmt.Sprintf("there is no method %q", m.Method))
	default:
		s.safely(m, func() { h(s, m) })
	}
}

// refuse responds to a request with an error. A notification has no response.
func (s *Server) refuse(m *message, code int, text string) {
	if m.ID != nil {
		s.respond(m.ID, nil, &responseError{code, text})
	}
}

// safely calls do for a message. A panic costs this message only.
func (s *Server) safely(m *message, do func()) {
	defer func() {
		if r := recover(); r != nil {
			s.opts.Log.Error("request failed", "method", m.Method, "panic", fmt.Sprint(r),
				"stack", string(debug.Stack()))
			s.refuse(m, codeInternal, fmt.Sprintf("%s failed unexpectedly: %v", m.Method, r))
		}
	}()
	do()
}

// respond answers a request. It is safe for concurrent use.
func (s *Server) respond(id json.RawMessage, result any, err *responseError) {
	if s.forgetCancelled(id) {
		result, err = nil, &responseError{codeCancelled, "the request was cancelled"}
	}
	m := &message{ID: id, Error: err}
	if err == nil {
		text, failed := json.Marshal(result)
		if failed != nil {
			m.Error = &responseError{codeInternal, failed.Error()}
		}
		m.Result = text
	}
	s.out.write(m)
}

// notify sends a notification to the client.
func (s *Server) notify(method string, params any) {
	text, err := json.Marshal(params)
	if err == nil {
		s.out.write(&message{Method: method, Params: text})
	}
}

// request sends a request to the client, whose response is not waited for.
func (s *Server) request(method string, params any) {
	s.lastID++
	if text, err := json.Marshal(params); err == nil {
		s.out.write(&message{ID: fmt.Appendf(nil, `"hatchel-%d"`, s.lastID), Method: method, Params: text})
	}
}

// debounce is how long a load waits for the next keystroke.
const debounce = 40 * time.Millisecond
