package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hatchel/cmd/hatchel/console"
	"hatchel/cmd/hatchel/oauthclient"
	"hatchel/internal/printable"
	"hatchel/internal/proxy"
	"hatchel/internal/sendonce"
	"hatchel/runtime/edge/server"
)

// remoteOptions say which server is meant, and who asks.
type remoteOptions struct {
	Address string           // of the server or of its endpoint, with http or https
	Key     string           // an API key or token; empty for none
	Tokens  server.WithToken // in place of a key; nil for none
	Version string           // of this program
	Notes   io.Writer
}

// remoteServer is a connection to an MCP server. Errors of its methods are sentences for the user, and that of the
// context when that has ended.
type remoteServer struct {
	session   *mcp.ClientSession
	transport *remoteTransport
	endpoint  string
	notes     io.Writer

	mu       sync.Mutex // guards notes and progress
	progress string     // the last that was printed
}

// remoteEndpoint returns the URL of the MCP endpoint for an address: the address itself if its path names one, as in
// /mcp and /mcp/billing, and otherwise /mcp below it.
func remoteEndpoint(address string) string {
	scheme, rest, _ := strings.Cut(address, "://")
	parts := strings.Split(strings.TrimRight(rest, "/"), "/")
	for _, part := range parts[max(1, len(parts)-2):] {
		if part == "mcp" || part == "sse" {
			return scheme + "://" + strings.Join(parts, "/")
		}
	}
	return scheme + "://" + strings.Join(parts, "/") + "/mcp"
}

// connectRemote connects to a server, in the newest revision of the protocol that both sides know.
func connectRemote(ctx context.Context, o remoteOptions) (*remoteServer, error) {
	s := &remoteServer{endpoint: remoteEndpoint(o.Address), notes: o.Notes}
	base := sendonce.New(proxy.NewTransport())
	s.transport = &remoteTransport{next: base, key: o.Key, tokens: o.Tokens, agent: "hatchel/" + o.Version, ctx: ctx}
	client := mcp.NewClient(&mcp.Implementation{Name: "hatchel", Version: o.Version}, &mcp.ClientOptions{
		Capabilities:                &mcp.ClientCapabilities{},
		ProgressNotificationHandler: s.showProgress,
		//lint:ignore SA1019 logging is deprecated in the protocol, and servers use it
		LoggingMessageHandler: s.showMessage,
	})
	err := mcp.AddSendingCustomMethod[*listSkillsParams, *listSkillsResult](client, listSkillsMethod)
	if err != nil {
		return nil, err
	}
	s.session, err = client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: s.endpoint, DisableStandaloneSSE: true, MaxRetries: -1,
		HTTPClient: &http.Client{
			Transport:     s.transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil)
	if err != nil {
		base.CloseIdleConnections()
		return nil, s.explain(ctx, err)
	}
	return s, nil
}

// Close ends the session.
func (s *remoteServer) Close() {
	s.session.Close()
	s.transport.next.CloseIdleConnections()
}

// Tools returns all tools.
func (s *remoteServer) Tools(ctx context.Context) (tools []*mcp.Tool, err error) {
	for t, err := range s.session.Tools(ctx, nil) {
		if err != nil {
			return nil, s.explain(ctx, err)
		}
		tools = append(tools, t)
	}
	return tools, nil
}

// Prompts returns all prompts; none if the server has no such list.
func (s *remoteServer) Prompts(ctx context.Context) (prompts []*mcp.Prompt, err error) {
	if s.session.InitializeResult().Capabilities.Prompts == nil {
		return nil, nil
	}
	for p, err := range s.session.Prompts(ctx, nil) {
		if err != nil {
			return nil, s.explain(ctx, err)
		}
		prompts = append(prompts, p)
	}
	return prompts, nil
}

// Resources returns all resources; none if the server has no such list.
func (s *remoteServer) Resources(ctx context.Context) (resources []*mcp.Resource, err error) {
	if s.session.InitializeResult().Capabilities.Resources == nil {
		return nil, nil
	}
	for r, err := range s.session.Resources(ctx, nil) {
		if err != nil {
			return nil, s.explain(ctx, err)
		}
		resources = append(resources, r)
	}
	return resources, nil
}

// Templates returns all templates of resources; none if the server has no such list.
func (s *remoteServer) Templates(ctx context.Context) (templates []*mcp.ResourceTemplate, err error) {
	if s.session.InitializeResult().Capabilities.Resources == nil {
		return nil, nil
	}
	for t, err := range s.session.ResourceTemplates(ctx, nil) {
		if err != nil {
			return nil, s.explain(ctx, err)
		}
		templates = append(templates, t)
	}
	return templates, nil
}

// Call calls a tool with a JSON object, and returns its result as JSON. Progress and messages are printed as they
// arrive. When ctx ends, the call is cancelled on the server.
func (s *remoteServer) Call(ctx context.Context, name string, arguments []byte) ([]byte, error) {
	params := &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)}
	//lint:ignore SA1019 as above
	params.Meta = mcp.Meta{mcp.MetaKeyLogLevel: "info"}
	params.SetProgressToken("hatchel")
	result, err := s.session.CallTool(ctx, params)
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	return json.Marshal(result)
}

// Read reads a resource, and returns the result as JSON.
func (s *remoteServer) Read(ctx context.Context, uri string) ([]byte, error) {
	result, err := s.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	return json.Marshal(result)
}

func (s *remoteServer) showProgress(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
	text := r.Params.Message
	if r.Params.Total > 0 || text == "" { // a number without a total says less than a message
		text = fmt.Sprintf("%g", r.Params.Progress)
		if r.Params.Total > 0 {
			text += fmt.Sprintf("/%g", r.Params.Total)
		}
		if r.Params.Message != "" {
			text += " " + r.Params.Message
		}
	}
	s.mu.Lock()
	again := s.progress == text // a server repeats what it waits for, so that the connection stays open
	s.progress = text
	s.mu.Unlock()
	if !again {
		s.note("progress: " + text)
	}
}

func (s *remoteServer) showMessage(_ context.Context, r *mcp.LoggingMessageRequest) {
	text, isText := r.Params.Data.(string)
	if !isText {
		encoded, err := json.Marshal(r.Params.Data)
		if err != nil {
			return
		}
		text = string(encoded)
	}
	s.note(string(r.Params.Level) + ": " + text)
}

// note prints a line that the server wrote.
func (s *remoteServer) note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintln(s.notes, printable.Line(console.JoinLines(text)))
}

// explain returns a sentence for an error.
func (s *remoteServer) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if refused := s.transport.failure(); refused != nil {
		return refused.explain(s.endpoint, s.transport.key)
	}
	if answered, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return errors.New(printable.Line(answered.Message))
	}
	return fmt.Errorf("%s does not answer as an MCP server: check the address", s.endpoint)
}

const maxReason = 64 << 10 // bytes of a response that refuses a request

// remoteTransport adds the credential to requests, and keeps why the last one failed.
type remoteTransport struct {
	next       *sendonce.Transport
	key, agent string
	ctx        context.Context  // of the command: a sign-in outlasts a request of the client
	tokens     server.WithToken // nil if there is a key

	mu   sync.Mutex
	last *failedRequest // guarded by mu; nil after a success
}

// failedRequest is a response that is no success, or an error.
type failedRequest struct {
	err      error
	status   int
	location bool
	body     []byte
}

func (t *remoteTransport) failure() *failedRequest {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

// RoundTrip implements http.RoundTripper.
func (t *remoteTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	send := func(token string) (*http.Response, error) {
		attempt := r.Clone(r.Context())
		if r.GetBody != nil {
			var err error
			if attempt.Body, err = r.GetBody(); err != nil {
				return nil, err
			}
		}
		if token != "" {
			attempt.Header.Set("Authorization", "Bearer "+token)
		}
		attempt.Header.Set("User-Agent", t.agent)
		return t.next.RoundTrip(attempt)
	}
	var res *http.Response
	var err error
	if t.tokens == nil {
		res, err = send(t.key)
	} else {
		res, err = t.tokens(t.ctx, send)
	}
	var failed *failedRequest
	switch {
	case err != nil:
		failed = &failedRequest{err: err}
	case res.StatusCode >= 300:
		failed = &failedRequest{status: res.StatusCode, location: res.StatusCode < 400}
		failed.body, _ = io.ReadAll(io.LimitReader(res.Body, maxReason))
		res.Body.Close()
		res.Body = io.NopCloser(bytes.NewReader(failed.body))
		if json.Valid(failed.body) && bytes.Contains(failed.body, []byte(`"jsonrpc"`)) && res.StatusCode != 401 &&
			res.StatusCode != 403 {
			failed = nil // a protocol error, which says what is wrong
		}
	}
	if r.Method == http.MethodPost {
		t.mu.Lock()
		t.last = failed
		t.mu.Unlock()
	}
	return res, err
}

// explain returns a sentence for the user.
func (f *failedRequest) explain(endpoint, key string) error {
	signIn, isSignIn := errors.AsType[*oauthclient.Error](f.err)
	switch {
	case isSignIn:
		return signIn
	case f.err != nil:
		return fmt.Errorf("%s: %s", endpoint, server.ConnectionText(f.err))
	case f.location:
		return fmt.Errorf("%s redirects, and the key is not sent elsewhere: use the final address", endpoint)
	case f.status == http.StatusBadRequest && bytes.Contains(f.body, []byte("HTTP request to an HTTPS server")):
		return fmt.Errorf("%s: the server speaks https: write https://", endpoint)
	case f.status == http.StatusNotFound || f.status == http.StatusMethodNotAllowed:
		return fmt.Errorf("%s answers with status %d, so it is no MCP endpoint: check the address and the name of the "+
			"toolset", endpoint, f.status)
	}
	client := server.NewClient(endpoint, key, "")
	return errors.New(printable.Line(client.Explain(f.status, messageOf(f.body)).Error()))
}

// messageOf returns the text of a protocol error, or the body as it is.
func messageOf(body []byte) []byte {
	var answered struct{ Error struct{ Message string } }
	if json.Unmarshal(body, &answered) == nil && answered.Error.Message != "" {
		return []byte(answered.Error.Message)
	}
	return body
}
