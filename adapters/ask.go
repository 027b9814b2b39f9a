package adapters

import (
	"context"
	"time"

	"hatchel/hcl/schema"
)

// Asking is an Action whose backend may ask the client of a call while it runs. MayAsk returns the capabilities that
// answering takes, as `requires` names them: "elicitation", "elicitation.url" and "sampling". An Action that returns
// none never asks.
type Asking interface {
	MayAsk() []string
}

// Question is what a backend asks the client of a call: a form, a page or a prompt for its model. Exactly one of
// Fields, URL and Sample is set. Texts have no hidden characters, and neither they nor the fields are secret.
type Question struct {
	// Key names the question in answers and in the audit log. It is unique among the questions of the call, those of
	// ask blocks included, which are identifiers: it has a dot.
	Key     string
	Message string        // of a form or a page, as the user reads it
	Fields  *schema.Type  // of a form: an object whose members have no FormError; without members the user only agrees
	URL     string        // of the page that the user opens
	Sample  []byte        // params of sampling/createMessage, an object as encoded JSON without _meta
	Timeout time.Duration // how long the client has to answer; positive
}

// Capability returns the capability that answering the question takes.
func (q *Question) Capability() string {
	switch {
	case q.Sample != nil:
		return "sampling"
	case q.URL != "":
		return "elicitation.url"
	}
	return "elicitation"
}

// Actions of an Answer.
const (
	AnswerAccept  = "accept"
	AnswerDecline = "decline"
	AnswerCancel  = "cancel"
)

// Answer is the answer to a Question. Action is AnswerAccept, AnswerDecline or AnswerCancel. It is AnswerCancel for a
// client that cannot be asked.
type Answer struct {
	Action  string
	Content map[string]any // of an accepted form: values of its fields; nil for none
	Sample  []byte         // of an accepted prompt: the result of sampling/createMessage, an object as encoded JSON
}

// Asker asks the client of a call.
type Asker interface {
	// CanAsk reports whether the client can answer questions that take a capability.
	CanAsk(capability string) bool

	// Ask is Call.Ask.
	Ask(ctx context.Context, questions []Question, resume []byte) ([]Answer, error)
}

// Resumption is what an Action continues with that has paused.
type Resumption struct {
	State   []byte   // that Ask was given as resume
	Answers []Answer // to the questions that Ask was given, in their order
}

// CanAsk reports whether the client of the call can answer questions that take a capability. Without an Asker nobody
// can: questions of a step with each or repeat, and of a tool that a step calls, are not asked.
func (c *Call) CanAsk(capability string) bool { return c.Asker != nil && c.Asker.CanAsk(capability) }

// Ask asks the client of the call questions, all at once, and returns their answers in the same order. It checks
// answers, and asks again for those that are not valid. The timeouts of the call do not run meanwhile. Ask may only be
// called in the goroutine of Do. Ctx is that of Do, or derived from it: where it ends before that of Do, the questions
// are withdrawn, Ask returns its cause, and Do may go on. A client that answers afterwards is refused.
//
// Resume says how the Action continues. With nil the backend holds the call open, so Ask returns when the answers have
// come, in this process. With resume the backend holds nothing open: where the client answers with another request,
// Ask fails, Do returns that error at once, and is called again, maybe in another process, with a call whose
// Resumption has these bytes and the answers. Otherwise Ask returns the answers, and Do continues as it would then.
// The bytes are sealed on the way, and must not be empty.
//
// Any other error ends the call. What the backend has open for it must be cancelled then.
func (c *Call) Ask(ctx context.Context, questions []Question, resume []byte) ([]Answer, error) {
	if c.Asker == nil {
		answers := make([]Answer, len(questions))
		for i := range answers {
			answers[i].Action = AnswerCancel
		}
		return answers, nil
	}
	return c.Asker.Ask(ctx, questions, resume)
}
