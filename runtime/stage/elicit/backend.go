package elicit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
	"hatchel/runtime/edge/mcp"
)

// backendGroup returns the questions of a backend as those of a step.
func backendGroup(questions []adapters.Question) *AskGroup {
	g := new(AskGroup)
	for i := range questions {
		q := &questions[i]
		ask := &hcl.Ask{Key: q.Key, Timeout: q.Timeout}
		switch {
		case q.Sample != nil:
			ask.Sample = new(hcl.Sample)
		case q.URL != "":
			ask.Elicit = &hcl.Elicit{ContinueOnDecline: true}
		default:
			ask.Elicit = &hcl.Elicit{Fields: q.Fields, Validator: q.Fields.Compile(), ContinueOnDecline: true}
		}
		g.Asks = append(g.Asks, ask)
	}
	return g
}

// AskBackend asks questions of a backend that are not answered yet, and returns all answers. Resumes says that the
// backend holds nothing open, so that another process can continue the call while it waits. Where ctx ends before the
// call does, the questions are withdrawn, and the error is its cause.
func (x *Exchange) AskBackend(
	ctx context.Context, questions []adapters.Question, resumes bool, f *hcl.Frame,
) ([]adapters.Answer, error) {
	x.backend, x.holdsOpen, x.asking = make(map[string]*adapters.Question, len(questions)), !resumes, ctx
	for i := range questions {
		x.backend[questions[i].Key] = &questions[i]
	}
	defer func() { x.backend, x.holdsOpen, x.asking = nil, false, nil }()
	done, err := x.Ask(backendGroup(questions), f)
	if err != nil {
		if ctx.Err() != nil && !errors.As(err, new(*PausedError)) {
			x.Done, x.invalid = nil, nil // the next question begins anew
		}
		return nil, err
	}
	answers := make([]adapters.Answer, len(questions))
	for i, q := range questions {
		if answers[i], err = backendAnswer(done[q.Key]); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// PendingBackend is Pending for questions of a backend, as client requests.
func (x *Exchange) PendingBackend(
	questions []adapters.Question, sent map[string]any, f *hcl.Frame,
) (again []mcp.Question, complete bool, err error) {
	x.backend = make(map[string]*adapters.Question, len(questions))
	for i := range questions {
		x.backend[questions[i].Key] = &questions[i]
	}
	defer func() { x.backend = nil }()
	return x.Unanswered(backendGroup(questions), sent, f)
}

// backendAnswer returns an answer that was accepted as a backend reads it.
func backendAnswer(done any) (adapters.Answer, error) {
	m, _ := done.(map[string]any)
	if action, ok := m["action"].(string); ok {
		content, _ := m["content"].(map[string]any)
		return adapters.Answer{Action: action, Content: content}, nil
	}
	sample := map[string]any{"role": m["role"], "content": m["content"], "model": m["model"]}
	if m["model"] == nil {
		sample["model"] = "unknown" // which the protocol requires
	}
	if m["stop_reason"] != nil {
		sample["stopReason"] = m["stop_reason"]
	}
	text, err := value.AppendJSON(nil, sample)
	return adapters.Answer{Action: adapters.AnswerAccept, Sample: text}, err
}

// cancelled is the answer for a backend of a client that cannot be asked, or refuses to be.
func cancelled() map[string]any { return map[string]any{"action": adapters.AnswerCancel} }

// backendParams returns the params of a question of a backend. Invalid says why it is asked again; empty for the first
// time.
func (x *Exchange) backendParams(q *adapters.Question, invalid string) []byte {
	if q.Sample != nil {
		return append([]byte(nil), q.Sample...)
	}
	appendForm := func(dst []byte) []byte { return q.Fields.AppendForm(dst) }
	return x.appendElicitation(nil, q.Message, invalid, q.URL, appendForm)
}

// storedQuestion is a question of a backend as it is stored.
type storedQuestion struct {
	Key     string          `json:"key"`
	Message string          `json:"message,omitempty"`
	Form    json.RawMessage `json:"form,omitempty"`
	URL     string          `json:"url,omitempty"`
	Sample  json.RawMessage `json:"sample,omitempty"`
	Timeout int64           `json:"timeout"` // in milliseconds
}

// FreezeQuestions returns the stored form of questions of a backend.
func FreezeQuestions(questions []adapters.Question) (json.RawMessage, error) {
	stored := make([]storedQuestion, len(questions))
	for i, q := range questions {
		stored[i] = storedQuestion{
			Key: q.Key, Message: q.Message, URL: q.URL, Sample: q.Sample, Timeout: q.Timeout.Milliseconds(),
		}
		if q.Fields != nil {
			stored[i].Form = q.Fields.AppendForm(nil)
		}
	}
	return json.Marshal(stored)
}

// ThawQuestions returns the questions that FreezeQuestions has written.
func ThawQuestions(frozen json.RawMessage) ([]adapters.Question, error) {
	var stored []storedQuestion
	if err := json.Unmarshal(frozen, &stored); err != nil {
		return nil, err
	}
	questions := make([]adapters.Question, len(stored))
	for i, s := range stored {
		q := adapters.Question{
			Key: s.Key, Message: s.Message, URL: s.URL, Sample: s.Sample,
			Timeout: time.Duration(s.Timeout) * time.Millisecond,
		}
		if s.Form != nil {
			fields, err := schema.ReadForm(s.Form)
			if err != nil {
				return nil, fmt.Errorf("the form of the question %q: %w", s.Key, err)
			}
			q.Fields = fields
		}
		if q.Fields == nil && q.URL == "" && q.Sample == nil {
			return nil, errors.New("a question that was stored asks nothing")
		}
		questions[i] = q
	}
	return questions, nil
}

// FreezeAnswers returns the stored form of answers for a backend.
func FreezeAnswers(answers []adapters.Answer) (json.RawMessage, error) {
	list := make([]any, len(answers))
	for i, a := range answers {
		m := map[string]any{"action": a.Action}
		if a.Content != nil {
			m["content"] = a.Content
		}
		if a.Sample != nil {
			m["sample"] = string(a.Sample)
		}
		list[i] = m
	}
	return AppendFrozen(nil, list)
}

// ThawAnswers returns the answers that FreezeAnswers has written.
func ThawAnswers(frozen json.RawMessage, reserve func(bytes int64) error) ([]adapters.Answer, error) {
	v, err := Thaw(frozen, reserve)
	if err != nil {
		return nil, err
	}
	list, _ := v.([]any)
	answers := make([]adapters.Answer, len(list))
	for i, e := range list {
		m, _ := e.(map[string]any)
		answers[i].Action, _ = m["action"].(string)
		answers[i].Content, _ = m["content"].(map[string]any)
		if sample, ok := m["sample"].(string); ok {
			answers[i].Sample = []byte(sample)
		}
	}
	return answers, nil
}
