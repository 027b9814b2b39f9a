package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"

	"hatchel/adapters/mcp/client"
	"hatchel/hcl/mock"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// mockedKey is the key of the question of a mock.
const mockedKey = "ask"

// result returns the result of a reply.
func (m *mockedServer) result(reply *mock.Reply) (*client.Result, error) {
	if reply.Taped {
		return m.tapedResult(reply)
	}
	if ask, ok := reply.Args["ask"]; ok {
		question, err := encodeQuestion(mockedKey, ask)
		if err != nil {
			return nil, m.invalid(reply, "ask", err)
		}
		return nil, &client.InputRequired{Questions: []client.Question{question}}
	}
	out := &client.Result{}
	content, hasContent := reply.Args["content"].([]any)
	structured, isStructured := reply.Args["structured"]
	var err error
	if isStructured {
		if out.Structured, err = value.AppendJSON(nil, structured); err != nil {
			return nil, m.invalid(reply, "structured", err)
		}
	}
	failure, failed := reply.Args["error"].(string)
	text, hasText := reply.Args["text"].(string)
	switch {
	case hasContent:
	case failed:
		out.IsError = true
		content = textBlocks(failure)
	case hasText:
		content = textBlocks(text)
	case isStructured:
		content = textBlocks(string(out.Structured))
	default:
		content = []any{}
	}
	return m.encode(reply, out, content)
}

// invalid reports a reply with a value that cannot be JSON.
func (m *mockedServer) invalid(reply *mock.Reply, argument string, err error) error {
	return m.mocks.Fail(reply.Mock, fmt.Sprintf("%s cannot be encoded: %v.", argument, err))
}

// encode completes a result with its content and the bytes that a server would have sent.
func (m *mockedServer) encode(reply *mock.Reply, out *client.Result, content []any) (_ *client.Result, err error) {
	if out.Content, err = value.AppendJSON(nil, content); err != nil {
		return nil, m.invalid(reply, "content", err)
	}
	out.Bytes = len(out.Content) + len(out.Structured)
	return out, nil
}

func textBlocks(text string) []any { return []any{map[string]any{"type": "text", "text": text}} }

// encodeQuestion returns a question with these parameters. That of a page has the mode by which it is told from a form.
func encodeQuestion(key string, params any) (q client.Question, err error) {
	q.Key = key
	if q.Method, err = questionMethod(params); err != nil {
		return q, err
	}
	if object, _ := params.(map[string]any); object["url"] != nil {
		object = maps.Clone(object)
		object["mode"], params = "url", object
	}
	q.Params, err = value.AppendJSON(nil, params)
	return q, err
}

// tapedRejection is an error of JSON-RPC on a tape.
var tapedRejection = schema.ObjectOf(
	&schema.Member{Name: "code", Type: mock.Integer},
	&schema.Member{Name: "message", Type: mock.Text},
)

func checkTaped(reply map[string]any) error {
	_, isResult := reply["content"]
	fail, isFailure := reply["fail"].(string)
	kinds := 0
	for _, is := range []bool{isResult, isFailure, reply["rejected"] != nil, reply["asks"] != nil} {
		if is {
			kinds++
		}
	}
	if kinds != 1 || isFailure && failures[fail] == nil {
		return errors.New("response has one of content, rejected, asks, and fail, which is closed, timeout or refused")
	}
	return nil
}

// tapedResult returns the result of a reply of a tape.
func (m *mockedServer) tapedResult(reply *mock.Reply) (*client.Result, error) {
	if rejected, ok := reply.Args["rejected"].(map[string]any); ok {
		code, _ := rejected["code"].(int)
		message, _ := rejected["message"].(string)
		return nil, &client.Error{Kind: client.Rejected, RPC: &client.RPCError{Code: code, Message: message}}
	}
	if asks, ok := reply.Args["asks"].([]any); ok {
		required := &client.InputRequired{}
		for _, ask := range asks {
			entry, _ := ask.(map[string]any)
			key, _ := entry["key"].(string)
			question, err := encodeQuestion(key, entry["params"])
			if err != nil {
				return nil, m.invalid(reply, "asks", err)
			}
			required.Questions = append(required.Questions, question)
		}
		return nil, required
	}
	out := &client.Result{}
	out.IsError, _ = reply.Args["is_error"].(bool)
	var err error
	if structured, ok := reply.Args["structured"]; ok {
		if out.Structured, err = value.AppendJSON(nil, structured); err != nil {
			return nil, m.invalid(reply, "structured", err)
		}
	}
	if meta, ok := reply.Args["meta"]; ok {
		if out.Meta, err = value.AppendJSON(nil, meta); err != nil {
			return nil, m.invalid(reply, "meta", err)
		}
	}
	content, _ := reply.Args["content"].([]any)
	return m.encode(reply, out, content)
}

// record keeps what the server has answered.
func (m *mockedServer) record(q *mock.Question, result *client.Result, err error) {
	if !m.mocks.IsRecording() {
		return
	}
	reply, err := tapedReply(result, err)
	if err != nil {
		m.mocks.FailRecording(q.Secrets, "%s has failed in a way that a tape cannot hold: %v", q.Name, err)
		return
	}
	m.mocks.Record(q, reply)
}

// tapedReply returns what a call came to as a tape has it. Its error is the failure that a tape cannot hold.
func tapedReply(result *client.Result, err error) (map[string]any, error) {
	if required := (*client.InputRequired)(nil); errors.As(err, &required) {
		asks := []any{}
		for _, question := range required.Questions {
			params, err := value.Decode(question.Params)
			if err != nil {
				return nil, err
			}
			asks = append(asks, map[string]any{"key": question.Key, "params": params})
		}
		return map[string]any{"asks": asks}, nil
	}
	if failed := (*client.Error)(nil); errors.As(err, &failed) {
		if failed.Kind == client.Rejected {
			rejected := map[string]any{"code": failed.RPC.Code, "message": failed.RPC.Message}
			return map[string]any{"rejected": rejected}, nil
		}
		if fail := failureOf(failed); fail != "" {
			return map[string]any{"fail": fail}, nil
		}
	}
	if err != nil {
		return nil, err
	}
	reply := map[string]any{}
	for name, text := range map[string][]byte{
		"content": result.Content, "structured": result.Structured, "meta": result.Meta,
	} {
		if text == nil && name != "content" {
			continue
		}
		if reply[name], err = value.Decode([]byte(cmp.Or(string(text), "[]"))); err != nil {
			return nil, err
		}
	}
	if result.IsError {
		reply["is_error"] = true
	}
	return reply, nil
}

// failureOf returns the value of fail for the failure of a call, or "" if there is none.
func failureOf(err *client.Error) string {
	switch {
	case err.Kind == client.NotSent:
		return "refused"
	case err.Kind == client.Unknown && errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case err.Kind == client.Unknown && errors.Is(err, client.ErrClosed):
		return "closed"
	}
	return ""
}
