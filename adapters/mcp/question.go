package mcp

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/mcp/client"
	"hatchel/hcl/jsonscan"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
	"hatchel/internal/credential"
	"hatchel/internal/cut"
	"hatchel/internal/hostname"
)

const (
	// questionTimeout is how long the user has to answer a question of a server.
	questionTimeout = 5 * time.Minute
	maxQuestionText = 2000 // characters of a message
	maxFieldText    = 300  // of a text of a field
	maxQuestionURL  = 2048 // bytes
)

// questionError is a question that is not asked. Capability is empty for a method that no capability is about.
type questionError struct{ capability, reason string }

func (e *questionError) Error() string { return e.reason }

// questionRules are what the server of a connection may ask.
type questionRules struct {
	connection string
	asks       []string
	hosts      []string // of pages, with wildcards
}

// read returns a question of the server as the client of the call gets it, with a key of ours. The error is a
// *questionError.
func (r *questionRules) read(key string, q client.Question) (adapters.Question, error) {
	out := adapters.Question{Key: key, Timeout: questionTimeout}
	var err error
	capability := asksSampling
	switch q.Method {
	case "elicitation/create":
		capability = asksElicitation
		if mode, _ := jsonscan.LookupText(q.Params, "mode"); mode == "url" {
			capability = asksElicitationURL
		}
	case "sampling/createMessage":
	default:
		return out, &questionError{"", "it asked " + cut.Runes(q.Method, 60)}
	}
	switch {
	case !slices.Contains(r.asks, capability):
		err = errors.New("asks of the connection does not list it")
	case capability == asksSampling:
		out.Sample, err = r.sample(q.Params)
	case capability == asksElicitationURL:
		out.Message = r.message(q.Params)
		out.URL, err = r.page(q.Params)
	default:
		out.Message = r.message(q.Params)
		out.Fields, err = r.form(q.Params)
	}
	if err != nil {
		return out, &questionError{capability, err.Error()}
	}
	return out, nil
}

// message returns the text of a form or a page. It begins with who asks.
func (r *questionRules) message(params []byte) string {
	text, _ := jsonscan.LookupText(params, "message")
	return r.prefix() + visible(text, maxQuestionText)
}

func (r *questionRules) prefix() string { return r.connection + " asks: " }

// visible returns a text without hidden characters, of which it keeps the beginning.
func visible(text string, limit int) string {
	clean := cleaner{}
	return clean.line(text, limit)
}

// form returns the fields of a form.
func (r *questionRules) form(params []byte) (*schema.Type, error) {
	raw, _ := jsonscan.Lookup(params, "requestedSchema")
	form, err := schema.ReadForm(raw)
	if err != nil {
		return nil, err
	}
	for _, m := range form.Members {
		t := *m.Type // of this reader alone
		if visible(m.Name, maxFieldText) != m.Name {
			return nil, errors.New("the name of a field has hidden characters or is too long")
		}
		t.Title, t.Description = visible(t.Title, maxFieldText), visible(t.Description, maxFieldText)
		if looksLikeCredential(m.Name, &t) {
			return nil, errors.New("a field of the form looks like a credential")
		}
		if t.Enum, err = visibleChoices(t.Enum); err == nil && t.Elem != nil {
			elem := *t.Elem
			elem.Enum, err = visibleChoices(elem.Enum)
			t.Elem = &elem
		}
		if err != nil {
			return nil, err
		}
		m.Type = &t
	}
	return form, nil
}

// looksLikeCredential reports whether a field asks for a credential, by what the user reads of it. A bool or a choice
// is none, whatever its label says.
func looksLikeCredential(name string, t *schema.Type) bool {
	if credential.IsAskedName(name) {
		return true
	}
	isFree := t.Kind == schema.String && t.Enum == nil || t.Kind == schema.Number || t.Kind == schema.Integer
	return isFree && slices.ContainsFunc([]string{name, t.Title, t.Description}, credential.IsAskedText)
}

func visibleChoices(choices []schema.EnumValue) (out []schema.EnumValue, err error) {
	for _, e := range choices {
		if text, _ := e.Value.(string); visible(text, maxFieldText) != text {
			return nil, errors.New("a choice has hidden characters or is too long")
		}
		e.Title = visible(e.Title, maxFieldText)
		out = append(out, e)
	}
	return out, nil
}

// page returns the address of a page, whose host is one that the server may open.
func (r *questionRules) page(params []byte) (string, error) {
	text, _ := jsonscan.LookupText(params, "url")
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || len(text) > maxQuestionURL ||
		visible(text, maxQuestionURL) != text:
		return "", errors.New("the page has no https URL that can be shown")
	case !slices.ContainsFunc(r.hosts, func(pattern string) bool { return matchesHost(pattern, u.Hostname()) }):
		return "", fmt.Errorf("the page is on %s, which ask_hosts does not list", cut.Runes(u.Hostname(), 100))
	}
	return text, nil
}

// matchesHost reports whether a host is that of a pattern, or one below it if the pattern begins with *. A host that is
// not written in ASCII is none, because it may be another one to a browser than it is here.
func matchesHost(pattern, text string) bool {
	host, ok := hostname.Parse(text)
	name, below := strings.CutPrefix(pattern, "*.")
	want, _ := hostname.Parse(name)
	return ok && (!below && host == want || below && strings.HasSuffix(host, "."+want))
}

// sampleMembers are the members of a request for a message of a model that are passed on as they are.
var sampleMembers = []string{"maxTokens", "temperature", "stopSequences", "modelPreferences"}

// sample returns the params of a request for a message of a model. Its system prompt begins with who asks.
func (r *questionRules) sample(params []byte) ([]byte, error) {
	for _, name := range []string{"tools", "toolChoice"} {
		if _, ok := jsonscan.Lookup(params, name); ok {
			return nil, errors.New("it asks for a message of a model that calls tools")
		}
	}
	if context, ok := jsonscan.LookupText(params, "includeContext"); ok && context != "none" {
		return nil, errors.New("it asks for a message of a model with the context of other servers")
	}
	clean := cleaner{}
	params, err := clean.json(params)
	if err != nil {
		return nil, errors.New("the request for a message of a model cannot be read")
	}
	messages, ok := jsonscan.Lookup(params, "messages")
	maxTokens, hasMax := jsonscan.Lookup(params, "maxTokens")
	if !ok || messages[0] != '[' || !hasMax || !jsonscan.IsNumber(string(maxTokens)) {
		return nil, errors.New("the request for a message of a model has no messages, or no maxTokens")
	}
	system, _ := jsonscan.LookupText(params, "systemPrompt")
	dst := append(append([]byte(`{"messages":`), messages...), `,"systemPrompt":`...)
	dst = value.AppendString(dst, strings.TrimSpace(r.prefix()+strings.TrimSpace(system)))
	for _, name := range sampleMembers {
		if member, ok := jsonscan.Lookup(params, name); ok {
			dst = append(append(append(append(dst, `,"`...), name...), `":`...), member...)
		}
	}
	return append(dst, `,"includeContext":"none"}`...), nil
}

// rejectedSampling is the error for a server whose request for a message of a model is rejected.
const rejectedSampling = -1

// kindOf returns which kind of question it is.
func kindOf(q *adapters.Question) string {
	switch {
	case q.Sample != nil:
		return kindSample
	case q.URL != "":
		return kindPage
	}
	return kindForm
}

// serverAnswer returns an answer to a question of a kind as the server gets it.
func serverAnswer(kind string, a adapters.Answer) (client.Answer, error) {
	accepted := a.Action == adapters.AnswerAccept
	switch {
	case kind == kindSample && accepted:
		return client.Answer{Result: a.Sample}, nil
	case kind == kindSample:
		const text = "User rejected sampling request"
		return client.Answer{Error: &client.RPCError{Code: rejectedSampling, Message: text}}, nil
	}
	answer := map[string]any{"action": a.Action}
	if accepted && kind == kindForm {
		content := a.Content
		if content == nil {
			content = map[string]any{}
		}
		answer["content"] = content
	}
	text, err := value.AppendJSON(nil, answer)
	return client.Answer{Result: text}, err
}

// codePageRequired is the error of a server of 2025-11-25 whose user has to open a page before the call.
const codePageRequired = -32042

// requiredPage returns what a server says that refuses a call until its user has opened a page, and the address if the
// server may have it opened; nothing for another error.
func (s *server) requiredPage(e *client.RPCError) (message, advice string) {
	if e == nil || e.Code != codePageRequired {
		return "", ""
	}
	message = "the server of this tool refused the call until its user has opened a page"
	raw, _ := jsonscan.Lookup(e.Data, "elicitations")
	pages, err := value.Decode(raw)
	list, _ := pages.([]any)
	if err != nil || len(list) == 0 {
		return message, ""
	}
	page, _ := list[0].(map[string]any)
	address, _ := page["url"].(string)
	params := append(jsonscan.AppendString([]byte(`{"url":`), address), '}')
	rules := questionRules{s.name, s.Asks, s.AskHosts}
	if address, err = rules.page(params); err != nil || !slices.Contains(s.Asks, asksElicitationURL) {
		return message + ", which this configuration does not allow", ""
	}
	return message, "have the user open " + address + " and call again"
}
