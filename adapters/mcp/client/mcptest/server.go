package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
)

// Era is what a Server speaks.
type Era int

// The eras.
const (
	Both   Era = iota // 2026-07-28, and initialize with the revisions before
	Legacy            // the revisions up to 2025-11-25 only
	Modern            // 2026-07-28 only
)

// The newest revisions of the eras.
const (
	LegacyRevision = "2025-11-25"
	ModernRevision = "2026-07-28"
)

// Handler carries out the call of a tool. The result is encoded as JSON; Text, Structured, Failure and Required make
// results. An error becomes one of JSON-RPC; *Error has a code.
type Handler func(c *Call) (result any, err error)

// Server is a scripted MCP server. Its fields are set before it is used; its methods may be called concurrently.
type Server struct {
	Era      Era
	Revision string // that initialize agrees on; LegacyRevision if empty
	Stateful bool   // over HTTP it has sessions, up to 2025-11-25
	Stream   bool   // over HTTP every answer to a call is a stream of events
	TTL      int    // ttlMs of lists; 0 for none

	// Intercept answers a request of HTTP in place of the server if it returns true. The method is that of the
	// message.
	Intercept func(w http.ResponseWriter, r *http.Request, method string, body []byte) bool

	// Line returns what a program writes in place of the answer to a request, without the line end; nil for the
	// answer.
	Line func(method, id string) []byte

	mu       sync.Mutex
	tools    []json.RawMessage
	handlers map[string]Handler
	calls    []*Call
	sessions map[string]*session
	listen   map[chan struct{}]func()
	methods  []string
	lastID   int
}

// session is a session of a client up to 2025-11-25, or the only one of a program.
type session struct {
	id           string
	capabilities json.RawMessage
	pending      map[string]chan json.RawMessage // answers to questions; guarded by Server.mu
	cancels      map[string]context.CancelFunc   // of calls, by raw id; guarded by Server.mu
}

// Error is an error of JSON-RPC.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *Error) Error() string { return e.Message }

// SetTools replaces the definitions, which are JSON objects, and tells the clients that listen.
func (s *Server) SetTools(definitions ...string) {
	s.mu.Lock()
	s.tools = nil
	for _, d := range definitions {
		s.tools = append(s.tools, json.RawMessage(d))
	}
	tell := slices.Collect(maps.Values(s.listen))
	s.mu.Unlock()
	for _, t := range tell {
		t()
	}
}

// Handle sets what carries out the calls of a tool. Without a handler a call answers with its arguments as text.
func (s *Server) Handle(tool string, h Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handlers == nil {
		s.handlers = map[string]Handler{}
	}
	s.handlers[tool] = h
}

// Calls returns the calls that have begun, in their order.
func (s *Server) Calls() []*Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Methods returns the methods of all messages that were received, in their order.
func (s *Server) Methods() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.methods)
}

// Sessions returns how many sessions up to 2025-11-25 are open.
func (s *Server) Sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions)
}

// DropSessions forgets all sessions, as a server does that starts anew.
func (s *Server) DropSessions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions = nil
}

// Tool returns a definition whose arguments are strings, of which all are required.
func Tool(name, description string, arguments ...string) string {
	properties := map[string]any{}
	for _, a := range arguments {
		properties[a] = map[string]string{"type": "string"}
	}
	schema := map[string]any{"type": "object", "properties": properties}
	if len(arguments) > 0 {
		schema["required"] = arguments
	}
	text, _ := json.Marshal(map[string]any{"name": name, "description": description, "inputSchema": schema})
	return string(text)
}

// Text returns a result with one text.
func Text(format string, args ...any) any {
	return map[string]any{"content": []any{textContent(fmt.Sprintf(format, args...))}}
}

// Structured returns a result with structuredContent, and its JSON as a text.
func Structured(v any) any {
	text, _ := json.Marshal(v)
	return map[string]any{"content": []any{textContent(string(text))}, "structuredContent": v}
}

// Failure returns a result with isError.
func Failure(text string) any {
	return map[string]any{"content": []any{textContent(text)}, "isError": true}
}

func textContent(text string) any { return map[string]string{"type": "text", "text": text} }

// Required returns a result of 2026-07-28 that asks questions, by their keys.
func Required(state string, questions map[string]Question) any {
	result := map[string]any{"resultType": "input_required", "inputRequests": questions}
	if state != "" {
		result["requestState"] = state
	}
	return result
}

// Question is a question to the user of a call. Its params are encoded as JSON.
type Question struct {
	Method string `json:"method"`
	Params any    `json:"params"`
}

// Form returns the question for a form with one text.
func Form(message, field string) Question {
	schema := map[string]any{
		"type": "object", "properties": map[string]any{field: map[string]string{"type": "string"}},
		"required": []string{field},
	}
	return Question{"elicitation/create", map[string]any{"mode": "form", "message": message, "requestedSchema": schema}}
}

// frame is a message of JSON-RPC.
type frame struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *Error          `json:"error"`
}

type answer struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

func notification(method string, params any) []byte {
	return encode(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
}

// serve answers a request. Send sends a message to the client before the answer.
func (s *Server) serve(
	ctx context.Context, f *frame, in *session, header http.Header, send func([]byte) error,
) (result any, problem *Error) {
	var params struct {
		ProtocolVersion string                     `json:"protocolVersion"`
		Capabilities    json.RawMessage            `json:"capabilities"`
		Cursor          string                     `json:"cursor"`
		Meta            map[string]json.RawMessage `json:"_meta"`
	}
	json.Unmarshal(f.Params, &params)
	_, modern := params.Meta["io.modelcontextprotocol/protocolVersion"]
	if modern && s.Era == Legacy || !modern && s.Era == Modern && f.Method != "ping" {
		supported := []string{ModernRevision}
		if s.Era == Legacy {
			return nil, &Error{Code: -32601, Message: "Method not found"}
		}
		return nil, &Error{-32022, "Unsupported protocol version", encode(map[string]any{"supported": supported})}
	}
	capabilities := map[string]any{"tools": map[string]any{"listChanged": true}, "logging": map[string]any{}}
	info := map[string]string{"name": "mcptest", "version": "1"}
	switch f.Method {
	case "server/discover":
		versions := []string{ModernRevision}
		if s.Era == Both {
			versions = append(versions, LegacyRevision)
		}
		return map[string]any{
			"resultType": "complete", "supportedVersions": versions, "capabilities": capabilities,
			"_meta": map[string]any{"io.modelcontextprotocol/serverInfo": info},
		}, nil
	case "initialize":
		if in != nil {
			in.capabilities = params.Capabilities
		}
		revision := s.Revision
		if revision == "" {
			revision = LegacyRevision
		}
		return map[string]any{"protocolVersion": revision, "capabilities": capabilities, "serverInfo": info}, nil
	case "ping", "logging/setLevel":
		return struct{}{}, nil
	case "tools/list":
		s.mu.Lock()
		defer s.mu.Unlock()
		result := map[string]any{"tools": slices.Clone(s.tools)}
		if s.tools == nil {
			result["tools"] = []any{}
		}
		if s.TTL > 0 {
			result["ttlMs"] = s.TTL
		}
		if modern {
			result["resultType"] = "complete"
		}
		return result, nil
	case "tools/call":
		return s.call(ctx, f, in, header, modern, send)
	}
	return nil, &Error{Code: -32601, Message: "Method not found"}
}

// nextID returns an id that the server has not used.
func (s *Server) nextID(prefix string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastID++
	return prefix + strconv.Itoa(s.lastID)
}

// received notes a message. It reports whether it was the answer to a question, or a notification.
func (s *Server) received(f *frame, in *session) (isRequest bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.methods = append(s.methods, f.Method)
	switch {
	case f.Method == "" && in != nil:
		var id string
		json.Unmarshal(f.ID, &id)
		if waiting := in.pending[id]; waiting != nil {
			delete(in.pending, id)
			if f.Error != nil {
				waiting <- nil
			} else {
				waiting <- f.Result
			}
		}
	case f.Method == "notifications/cancelled" && in != nil:
		var params struct{ RequestID json.RawMessage }
		json.Unmarshal(f.Params, &params)
		if cancel := in.cancels[string(params.RequestID)]; cancel != nil {
			cancel()
		}
	}
	return f.Method != "" && f.ID != nil
}

// subscribe has changes of the list told. The function returned ends that.
func (s *Server) subscribe(tell func()) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listen == nil {
		s.listen = map[chan struct{}]func(){}
	}
	key := make(chan struct{})
	s.listen[key] = tell
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.listen, key)
	}
}

// Listeners returns how many clients are told of changes.
func (s *Server) Listeners() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.listen)
}
