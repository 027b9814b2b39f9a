package client

import (
	"context"
	"fmt"
	"time"

	"hatchel/hcl/jsonscan"
)

// incoming handles a message that is not the answer to x. The exchange is nil for a message outside of requests.
func (s *Session) incoming(x *exchange, m *message) {
	switch {
	case m.method == "":
		s.countUnknown(x)
	case m.id != nil && s.modern:
		s.countUnknown(x) // such a server has no requests
	case m.id != nil:
		s.answer(x, m)
	default:
		s.notify(x, m)
	}
}

// notify handles a notification.
func (s *Session) notify(x *exchange, m *message) {
	switch m.method {
	case "notifications/tools/list_changed":
		if s.options.Changed != nil {
			s.options.Changed()
		}
	case "notifications/message":
		if x != nil && x.wantsLogs() {
			x.notify(m)
		} else if log, ok := readLog(m.params); ok && s.options.Log != nil {
			s.options.Log(log)
		}
	case "notifications/progress":
		if x != nil {
			x.notify(m)
		}
	case "notifications/cancelled":
		if id, ok := jsonscan.Lookup(m.params, "requestId"); ok {
			s.withdrawQuestion(string(id))
		}
	}
}

var (
	empty     = []byte("{}")
	cancelled = []byte(`{"action":"cancel"}`)
)

const (
	codeMethodNotFound = -32601
	codeRefused        = -1 // of a user who does not want a message of a model
)

// answer answers a request of the server.
func (s *Session) answer(x *exchange, m *message) {
	switch {
	case m.method == "ping":
		s.reply(s.ctx, x, m.id, Answer{Result: empty})
	case m.method == "roots/list" && s.options.Roots != nil:
		s.reply(s.ctx, x, m.id, Answer{Result: s.rootsResult()})
	case m.isQuestion():
		s.ask(x, m)
	default:
		notOffered := &RPCError{Code: codeMethodNotFound, Message: "This client does not offer the method"}
		s.reply(s.ctx, x, m.id, Answer{Error: notOffered})
	}
}

// ask asks the user of the call that a question belongs to. A question that names no call belongs to the only one.
func (s *Session) ask(x *exchange, m *message) {
	on := x
	if x == nil || x.call == nil {
		x = s.onlyCall()
	}
	refusal, id := refusalOf(m), string(m.id)
	parent := s.ctx
	if x != nil && x.asking != nil {
		parent = x.asking
	}
	ctx, cancel := context.WithCancelCause(parent)
	q := &question{cancel}
	if !s.openQuestion(id, q) {
		cancel(nil)
		s.countUnknown(on) // any answer would be taken for that to the first question with this id
		return
	}
	end := func() {
		s.closeQuestion(id, q)
		cancel(nil)
	}
	if x == nil || x.call.Ask == nil || !isObject(m.params) || !x.admitQuestion() {
		end()
		s.reply(s.ctx, on, m.id, refusal)
		return
	}
	asking := func() {
		defer end()
		answer, err := x.call.Ask(ctx, Question{Key: id, Method: m.method, Params: m.params})
		if context.Cause(ctx) == errWithdrawn {
			return // a request that was cancelled has no answer
		}
		if err != nil || answer.Result == nil && answer.Error == nil {
			answer = refusal
		}
		s.reply(context.WithoutCancel(ctx), on, m.id, answer)
	}
	if !s.goWhileOpen(asking) {
		end()
	}
}

// errWithdrawn ends a question that the server has withdrawn.
var errWithdrawn = fmt.Errorf("the server has withdrawn its question: %w", context.Canceled)

// refusalOf returns the answer to a question that is not asked.
func refusalOf(m *message) Answer {
	if m.method == "sampling/createMessage" {
		return Answer{Error: &RPCError{Code: codeRefused, Message: "The user refused the request"}}
	}
	return Answer{Result: cancelled}
}

// question is one that waits for its answer. Cancel ends it.
type question struct{ cancel context.CancelCauseFunc }

// openQuestion notes that a question with an id waits for its answer. It reports false if one does already.
func (s *Session) openQuestion(id string, q *question) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, isOpen := s.asked[id]; isOpen {
		return false
	}
	s.asked[id] = q
	return true
}

// closeQuestion undoes openQuestion.
func (s *Session) closeQuestion(id string, q *question) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked[id] == q { // a question that was withdrawn may have been followed by another one
		delete(s.asked, id)
	}
}

// withdrawQuestion ends the question with an id that the server withdraws.
func (s *Session) withdrawQuestion(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.asked[id]; q != nil {
		delete(s.asked, id)
		q.cancel(errWithdrawn)
	}
}

// onlyCall returns the call that waits for its answer; nil if it is none or more than one.
func (s *Session) onlyCall() *exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	var only *exchange
	for x := range s.open {
		if x.call == nil {
			continue
		}
		if only != nil {
			return nil
		}
		only = x
	}
	return only
}

const (
	maxReplies   = 16               // answers that are sent at once
	replyTimeout = 10 * time.Second // to send an answer
)

// reply sends an answer to a request of the server, which came during an exchange or outside of any, and does not wait
// until it is sent. A server that does not take its answers gets no more.
func (s *Session) reply(ctx context.Context, x *exchange, id []byte, a Answer) {
	select {
	case s.replies <- struct{}{}:
	default:
		s.countUnknown(x)
		return
	}
	frame := appendAnswer(nil, id, a)
	sending := func() {
		defer func() { <-s.replies }()
		ctx, cancel := context.WithTimeout(ctx, replyTimeout)
		defer cancel()
		s.send(ctx, frame) // a server that does not get it ends the request that asked
	}
	if !s.goWhileOpen(sending) {
		<-s.replies
	}
}

// rootsResult returns the result of roots/list.
func (s *Session) rootsResult() []byte {
	dst := []byte(`{"roots":[`)
	for i, root := range s.options.Roots {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonscan.AppendString(append(dst, `{"uri":`...), root.URI)
		if root.Name != "" {
			dst = jsonscan.AppendString(append(dst, `,"name":`...), root.Name)
		}
		dst = append(dst, '}')
	}
	return append(dst, "]}"...)
}
