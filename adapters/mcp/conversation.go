package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"hatchel/adapters"
	"hatchel/adapters/mcp/client"
	"hatchel/adapters/scrub"
)

// maxProgressText is how many characters of a message about progress the client of a call gets.
const maxProgressText = 200

// MayAsk implements adapters.Asking. Roots are constant, so nobody is asked for them.
func (a *action) MayAsk() []string {
	return slices.DeleteFunc(slices.Clone(a.server.Asks), func(ask string) bool { return ask == asksRoots })
}

// conversation is what a server tells and asks the client of one call. It belongs to the goroutine of Do.
type conversation struct {
	action *action
	call   *adapters.Call
	rules  questionRules
	state  conversationState
	// request is that of the latest attempt.
	request atomic.Pointer[request]
	// answers are those to the pending questions; nil while there are none.
	answers []adapters.Answer
}

// conversationState is what a call continues with that has paused for a server of 2026-07-28.
type conversationState struct {
	Asked     int             `json:"asked"`     // questions so far
	Arguments json.RawMessage `json:"arguments"` // that the server was called with
	State     string          `json:"state"`     // of the server
	Pending   []pendingAnswer `json:"pending"`   // the questions that are asked, in order
}

// pendingAnswer is what an answer is made for.
type pendingAnswer struct {
	Key  string `json:"key"` // of the server
	Kind string `json:"kind"`
}

// Kinds of questions.
const (
	kindForm   = "form"
	kindPage   = "page"
	kindSample = "sample"
)

// converse returns the conversation of a call, which continues if the call has paused. Arguments are those of a call
// that has not.
func (a *action) converse(call *adapters.Call, arguments []byte) (*conversation, error) {
	c := &conversation{
		action: a, call: call, rules: questionRules{a.server.name, a.server.Asks, a.server.AskHosts},
		state: conversationState{Arguments: arguments},
	}
	if call.Resumption != nil {
		c.state = conversationState{}
		if err := json.Unmarshal(call.Resumption.State, &c.state); err != nil {
			return nil, fmt.Errorf("the state of a paused call: %w", err)
		}
		c.answers = call.Resumption.Answers
	}
	return c, nil
}

// fetched returns what removes the token of the latest attempt; nil if it had none. It may be called concurrently.
func (c *conversation) fetched() *scrub.Scrubber {
	if r := c.request.Load(); r != nil {
		if last := r.lastHeaders(); last != nil {
			return last.fetched
		}
	}
	return nil
}

// conversationError is the failure of a call because of a question, or of its pause. It is returned by Do as it is.
type conversationError struct{ error }

func (e conversationError) Unwrap() error { return e.error }

// send calls the server with a function, and asks the client what the server asks. Req has no arguments and no
// functions. The error is one of client.Session.Call, or a conversationError.
func (c *conversation) send(ctx context.Context, send callTool, req *client.Request) (*client.Result, error) {
	req.Arguments, req.State = c.state.Arguments, c.state.State
	relay := &relay{call: c.call, action: c.action, token: c.fetched}
	defer relay.close()
	relay.attach(req)
	if err := c.respond(req); err != nil {
		return nil, conversationError{err}
	}
	for {
		result, err := c.sendOnce(ctx, send, req)
		required, ok := errors.AsType[*client.InputRequired](err)
		if !ok {
			return result, err
		}
		if err := c.askRequired(ctx, req, required); err != nil {
			return nil, conversationError{err}
		}
	}
}

// askRequired asks what a server of 2026-07-28 requires before it is called again.
func (c *conversation) askRequired(ctx context.Context, req *client.Request, required *client.InputRequired) error {
	c.state.State, c.state.Pending, c.answers = required.State, nil, nil
	req.State, req.Responses = required.State, nil
	if err := c.count(max(len(required.Questions), 1)); err != nil {
		return err
	}
	var questions []adapters.Question
	for i, q := range required.Questions {
		question, err := c.read(c.state.Asked-len(required.Questions)+i+1, q)
		if err != nil {
			return err
		}
		questions = append(questions, question)
		c.state.Pending = append(c.state.Pending, pendingAnswer{q.Key, kindOf(&question)})
	}
	if len(questions) == 0 {
		return nil
	}
	state, err := json.Marshal(&c.state)
	if err != nil {
		return err
	}
	if c.answers, err = c.call.Ask(ctx, questions, state); err != nil {
		return err
	}
	return c.respond(req)
}

// respond adds the answers that the server waits for to a request.
func (c *conversation) respond(req *client.Request) error {
	if len(c.answers) != len(c.state.Pending) {
		return errors.New("a paused call has other answers than questions")
	}
	if len(c.answers) == 0 {
		return nil // a call that answers nothing has no inputResponses
	}
	req.Responses = make(map[string]client.Answer, len(c.answers))
	for i, p := range c.state.Pending {
		answer, err := serverAnswer(p.Kind, c.answers[i])
		if err != nil {
			return err
		}
		req.Responses[p.Key] = answer
	}
	return nil
}

// count counts questions, of which a call has at most client.MaxQuestions.
func (c *conversation) count(n int) error {
	if c.state.Asked += n; c.state.Asked > client.MaxQuestions {
		const text = "the server of this tool asked more than %d questions in one call"
		return &adapters.Fault{Message: fmt.Sprintf(text, client.MaxQuestions), Change: adapters.ChangeUnknown}
	}
	return nil
}

// read returns a question as the client gets it. The error is a fault if the question is refused.
func (c *conversation) read(n int, q client.Question) (adapters.Question, error) {
	q.Params = c.fetched().JSON(q.Params)
	question, err := c.rules.read(fmt.Sprintf("%s.%d", c.rules.connection, n), q)
	refused, ok := errors.AsType[*questionError](err)
	if !ok {
		return question, err
	}
	text := "the server asked a question that this configuration does not allow"
	if refused.capability != "" {
		text += " (" + refused.capability + ")"
	}
	return question, &adapters.Fault{
		Message: text, Hint: "The question was refused, because " + refused.reason, Cause: refused,
		Change: adapters.ChangeUnknown,
	}
}

// legacyQuestion is a question of a server that holds the call open.
type legacyQuestion struct {
	ctx      context.Context
	question client.Question
	answered chan client.Answer
}

// errNotAsked refuses a question of a call that fails.
var errNotAsked = errors.New("the call has ended")

// sendOnce calls the server once. What it asks meanwhile is asked in this goroutine.
func (c *conversation) sendOnce(
	ctx context.Context, send callTool, req *client.Request,
) (result *client.Result, err error) {
	if len(c.action.MayAsk()) == 0 {
		return send(ctx, req)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	questions, done := make(chan legacyQuestion), make(chan struct{})
	req.Ask = func(asking context.Context, q client.Question) (client.Answer, error) {
		asked := legacyQuestion{asking, q, make(chan client.Answer, 1)}
		select {
		case questions <- asked:
		case <-asking.Done():
			return client.Answer{}, context.Cause(asking)
		}
		select {
		case answer, ok := <-asked.answered:
			if !ok {
				return client.Answer{}, errNotAsked
			}
			return answer, nil
		case <-asking.Done():
			return client.Answer{}, context.Cause(asking)
		}
	}
	go func() {
		defer close(done)
		result, err = send(ctx, req)
	}()
	for {
		select {
		case <-done:
			return result, err
		case asked := <-questions:
			if failed := c.askLegacy(ctx, asked); failed != nil {
				close(asked.answered)
				cancel()
				<-done
				return nil, conversationError{failed}
			}
		}
	}
}

// askLegacy asks a question of a server that holds the call open, and gives it the answer. A question that the server
// withdraws, or that is open when it ends the call, is withdrawn from the client. Ctx is that of the call.
func (c *conversation) askLegacy(ctx context.Context, asked legacyQuestion) error {
	if asked.ctx.Err() != nil {
		return nil
	}
	if err := c.count(1); err != nil {
		return err
	}
	question, err := c.read(c.state.Asked, asked.question)
	if err != nil {
		return err
	}
	answers, err := c.call.Ask(asked.ctx, []adapters.Question{question}, nil)
	switch {
	case err != nil && asked.ctx.Err() != nil && ctx.Err() == nil:
		return nil
	case err != nil:
		return err
	}
	answer, err := serverAnswer(kindOf(&question), answers[0])
	if err == nil {
		asked.answered <- answer
	}
	return err
}

// relay tells the client of a call what the server tells. Its methods may be called until close returns.
type relay struct {
	call   *adapters.Call
	action *action
	token  func() *scrub.Scrubber // of the request

	mu     sync.Mutex // held while the client of the call is used, which no other goroutine does meanwhile
	closed bool       // guarded by mu
}

// attach sets the functions of a request that the client of the call has a use for.
func (r *relay) attach(req *client.Request) {
	if r.call.WantsProgress() {
		req.Progress = r.progress
	}
	if r.action.ForwardLogs != "" {
		req.Log = r.log
	}
}

func (r *relay) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}

func (r *relay) progress(p client.Progress) {
	clean := cleaner{fetched: r.token()}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.call.Progress(p.Progress, p.Total, clean.line(p.Message, maxProgressText))
	}
}

func (r *relay) log(m client.Log) {
	r.action.server.messages.write(m)
	if slices.Index(logLevels, m.Level) < slices.Index(logLevels, r.action.ForwardLogs) {
		return
	}
	clean := cleaner{fetched: r.token()}
	data := clean.data(m.Data)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.call.Log(m.Level, r.action.server.name, data)
	}
}
