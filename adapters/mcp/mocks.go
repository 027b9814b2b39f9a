package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hatchel/adapters"
	"hatchel/adapters/mcp/client"
	"hatchel/hcl/mock"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// ask makes an attempt. In a test, mocks answer it.
func (a *action) ask(ctx context.Context, r *request, sent *client.Request) (*client.Result, *failure) {
	if a.server.mocks == nil {
		return a.attempt(ctx, r, sent)
	}
	m := &mockedServer{mocks: a.server.mocks, connection: a.server.name}
	var failed *failure
	result, err := m.call(ctx, sent, a.mockedDetails(),
		func(ctx context.Context, sent *client.Request) (*client.Result, error) {
			result, f := a.attempt(ctx, r, sent)
			if failed = f; f != nil {
				return nil, f.err
			}
			return result, nil
		})
	switch {
	case failed != nil:
		return nil, failed
	case err != nil:
		return nil, a.server.failureOf(r, err)
	}
	return result, nil
}

// mockedDetails returns what mocks need to know of a call.
func (a *action) mockedDetails() mockedDetails {
	d := mockedDetails{readOnly: a.readOnly, structured: anyStructured}
	if a.pinned.Output != nil {
		d.structured = a.pinned.Output.Type()
	}
	return d
}

// callTool sends one request to the server: it is that of a session.
type callTool func(ctx context.Context, r *client.Request) (*client.Result, error)

// mockedServer has the calls of a connection answered by mocks.
type mockedServer struct {
	mocks      adapters.Mocks
	connection string
}

// mockedDetails are what mocks need to know of a call besides its request.
type mockedDetails struct {
	readOnly   bool         // the tool changes nothing, as its own block says
	structured *schema.Type // of the structured content, by the pinned definition; of kind Any if it declares none
}

// mockedCall is a call that mocks answer, read.
type mockedCall struct {
	*client.Request
	mockedDetails
	connection string
	arguments  any
	answers    map[string]any // of the client to questions of the server, by their keys
}

// call asks the mocks, and the server with send where none of them answers. Its results and errors are those of send.
func (m *mockedServer) call(
	ctx context.Context, r *client.Request, d mockedDetails, send callTool,
) (*client.Result, error) {
	c, err := m.readCall(r, d)
	if err != nil {
		return nil, err
	}
	q := &mock.Question{
		Kind: "mcp", Connection: m.connection, Name: fmt.Sprintf("tools/call %s at %s", r.Name, m.connection),
		Sent: c.sent(), ReadOnly: d.readOnly, Match: c.match, Taped: c.sent, Suggest: c.suggest,
		Raw: r,
	}
	reply, err := m.mocks.Ask(ctx, q)
	switch {
	case err != nil:
		return nil, err
	case reply == nil:
		result, err := send(ctx, r)
		m.record(q, result, err)
		return result, err
	}
	if err := failures[reply.Text("fail")]; err != nil {
		return nil, err
	}
	return m.result(reply)
}

// failures are the errors of calls by the values of fail.
var failures = map[string]error{
	"refused": &client.Error{Kind: client.NotSent, Err: errors.New("connection refused")},
	"closed":  &client.Error{Kind: client.Unknown, Err: client.ErrClosed},
	"timeout": &client.Error{Kind: client.Unknown, Err: context.DeadlineExceeded},
}

// failNames are the values of fail.
var failNames = []string{"closed", "timeout", "refused"}

func (m *mockedServer) readCall(r *client.Request, d mockedDetails) (*mockedCall, error) {
	c := &mockedCall{Request: r, mockedDetails: d, connection: m.connection, arguments: map[string]any{}}
	var err error
	if len(r.Arguments) > 0 {
		if c.arguments, err = value.Decode(r.Arguments); err != nil {
			return nil, err
		}
	}
	for key, answer := range r.Responses {
		if c.answers == nil {
			c.answers = map[string]any{}
		}
		if answer.Error != nil {
			c.answers[key] = map[string]any{"error": answer.Error.Message}
		} else if c.answers[key], err = value.Decode(answer.Result); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// sent returns the call as conditions and tapes read it.
func (c *mockedCall) sent() map[string]any {
	sent := map[string]any{"call": c.Name, "arguments": c.arguments}
	if c.answers != nil {
		sent["answers"] = c.answers
	}
	return sent
}

// match compares the call with a mock.
func (c *mockedCall) match(m *mock.Matcher, of *mock.Mock, _ bool) {
	m.Part("the connection", of.Connection == c.connection, of.Connection, c.connection)
	if want, ok := of.Request["call"].(string); ok {
		m.Part("call", m.LikeText(want, c.Name), want, c.Name)
	}
	for _, part := range []struct {
		name string
		got  any
	}{{"arguments", c.arguments}, {"answers", c.answers}} {
		if want, ok := of.Request[part.name]; ok {
			m.Subset(part.name, want, part.got)
		}
	}
}

// suggest returns the mock that answers the call.
func (c *mockedCall) suggest() *mock.Mock {
	reply := map[string]any{"text": mock.Text}
	if c.structured != nil && c.structured.Kind != schema.Any {
		reply = map[string]any{"structured": c.structured}
	}
	request := map[string]any{"call": c.Name}
	if arguments, _ := c.arguments.(map[string]any); len(arguments) > 0 {
		request["arguments"] = arguments
	}
	return &mock.Mock{Connection: c.connection, Request: request, Replies: []map[string]any{reply}}
}

// mockKind is what tests write in place of a server.
func mockKind() *mock.Kind {
	return &mock.Kind{
		Doc:    "In a test: a call of a tool of another MCP server, and the results of it.",
		Choice: "the tool",
		Request: []mock.Argument{
			{Name: "call", Doc: "The name of the tool at the server. * stands for any text.", Type: mock.Text},
		},
		Details: []mock.Argument{
			{Name: "arguments", Doc: "Some of the arguments.", Type: mock.Map},
			{Name: "answers", Doc: "Some of the answers to the questions of an earlier reply, by their keys.",
				Type: mock.Map},
		},
		Answers: []mock.Argument{
			{Name: "text", Doc: "The text of the result.", Type: mock.Text, Lines: true},
			{Name: "content", Doc: "The content of the result: a list of objects as the protocol has them, such as " +
				"{ type = \"text\", text = \"…\" }.", Type: mock.List, Check: checkContent},
			{Name: "error", Doc: "The text of a result that says that the tool has failed.", Type: mock.Text,
				Lines: true},
			{Name: "fail", Doc: "How the call fails: \"closed\", \"timeout\" or \"refused\". Only with \"refused\" " +
				"nothing was sent.", Type: mock.Text, Check: checkFail},
			{Name: "ask", Doc: "What the server asks the user of the call, as the protocol has it: message and " +
				"requestedSchema, message and url, or messages. Answer blocks of the test answer it by the name " +
				"CONNECTION.1, the next one of the call by CONNECTION.2, and the next reply follows.",
				Type: mock.Map, Check: checkAsk},
		},
		Besides: []mock.Argument{
			{Name: "structured", Doc: "The structured content. Without text and content, the text is the same as " +
				"JSON.", Type: mock.Any, Member: "structured", Declared: "output schema"},
			mock.Delay("How long the server takes."),
		},
		Effect: func(request map[string]any) (verb, source string) {
			call, _ := request["call"].(string)
			call, _, _ = strings.Cut(call, "*")
			return "CALL", call
		},
		Fails: func(reply map[string]any) bool { return reply["error"] != nil || reply["fail"] != nil },
		Taped: mock.Taped(map[string]*schema.Type{
			"content": mock.List, "structured": mock.Any.AsNullable(), "is_error": mock.Bool, "meta": mock.Map,
			"fail": mock.Text, "rejected": tapedRejection, "asks": mock.List,
		}),
		CheckTaped: checkTaped,
		Naming:     []string{"call"},
	}
}

func checkFail(v any) string {
	if name, _ := v.(string); slices.Contains(failNames, name) {
		return ""
	}
	return fmt.Sprintf("fail must be one of %s, and is %q.", strings.Join(failNames, ", "), v)
}

func checkContent(v any) string {
	list, _ := v.([]any)
	for i, e := range list {
		block, _ := e.(map[string]any)
		if kind, ok := block["type"].(string); !ok || kind == "" {
			return fmt.Sprintf("content[%d] is an object with a type, such as { type = \"text\", text = \"…\" }.", i)
		}
	}
	return ""
}

func checkAsk(v any) string {
	if _, err := questionMethod(v); err != nil {
		return err.Error()
	}
	return ""
}

// questionMethod returns the method of a question by its parameters.
func questionMethod(params any) (string, error) {
	object, _ := params.(map[string]any)
	_, isPage := object["url"]
	_, isForm := object["requestedSchema"]
	_, isPrompt := object["messages"]
	message, _ := object["message"].(string)
	switch {
	case isPrompt && !isPage && !isForm:
		return "sampling/createMessage", nil
	case message != "" && isPage != isForm && !isPrompt:
		return "elicitation/create", nil
	}
	return "", errors.New("ask is a question as the protocol has it: message and requestedSchema of a form, message " +
		"and url of a page, or messages for the model of the client")
}
