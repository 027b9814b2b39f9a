package mcp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/mcp"
	"hatchel/runtime/state/couriertest"
)

// answer answers a question of a session through this process.
func (p *process) answer(session []string, id, name string) {
	p.t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":{"action":"accept","content":{"name":%q}}}`, id, name)
	reply := p.send(p.t.Context(), "POST", body, session...)
	reply.Body.Close()
	if reply.StatusCode != http.StatusAccepted {
		p.t.Errorf("the answer got %s", reply.Status)
	}
}

// suspended is a call that waited for its client when its process has begun to stop, or has died.
type suspended struct {
	t         *testing.T
	all       []*process
	session   []string
	question  string // id
	before    string // id of the event before the question
	last      string // id of the last event
	remainder string // of the stream, after the question
}

// withSuspendedCall starts a call in the first process, and stops that when the client was asked.
func withSuspendedCall(t *testing.T, f func(s *suspended)) {
	withWaitingCall(t, func(s *suspended, events *stream) {
		s.all[0].server.EndStreams()
		for events.lines.Scan() {
			s.remainder += events.lines.Text() + "\n"
		}
		f(s)
	})
}

// withDeadProcess starts a call in the first process, which the others take for dead when the client was asked.
func withDeadProcess(t *testing.T, f func(s *suspended)) {
	withWaitingCall(t, func(s *suspended, _ *stream) {
		s.all[0].vanish()
		synctest.Wait()
		f(s)
	})
}

// withWaitingCall starts a call in the first process, which asks its client.
func withWaitingCall(t *testing.T, f func(s *suspended, events *stream)) {
	withCouriers(t, 3, func(t *testing.T, _ *couriertest.Exchange, all []*process) {
		s := &suspended{t: t, all: all, session: all[0].sessionHeaders()}
		body := `{"jsonrpc":"2.0","id":"call","method":"tools/call","params":{"name":"ask-later"}}`
		reply := all[0].send(t.Context(), "POST", body, s.session...)
		defer reply.Body.Close()
		events := newStream(t, reply)
		events.lines.Scan()
		s.before = strings.TrimPrefix(events.lines.Text(), "id: ")
		s.question = events.question()
		s.last = events.last
		f(s, events)
	})
}

const answerOfAda = `{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}`

func TestSuspendedCallEndsItsStreamWithoutAReply(t *testing.T) {
	withSuspendedCall(t, func(s *suspended) {
		if !strings.HasPrefix(strings.TrimSpace(s.remainder), "retry: ") || strings.Contains(s.remainder, "data:") {
			s.t.Errorf("after the question came %q", s.remainder)
		}
	})
}

func TestSuspendedCallContinuesInAnotherProcess(t *testing.T) {
	withSuspendedCall(t, func(s *suspended) {
		s.all[0].vanish()
		back := s.all[1].get(s.t.Context(), s.session, s.last)
		defer back.close()
		synctest.Wait()
		s.all[2].answer(s.session, s.question, "Ada")
		back.expectReply("suspended, " + answerOfAda)
	})
}

func TestSuspendedCallHasTheAnswerThatCameBeforeItsClient(t *testing.T) {
	for claim, at := range map[string]int{"through the process that stops": 0, "through another one": 2} {
		t.Run(claim, func(t *testing.T) {
			withSuspendedCall(t, func(s *suspended) {
				s.all[at].answer(s.session, s.question, "Ada")
				s.all[at].answer(s.session, s.question, "Eve")
				s.all[0].vanish()
				back := s.all[1].get(s.t.Context(), s.session, s.last)
				defer back.close()
				back.expectReply("suspended, " + answerOfAda)
			})
		})
	}
}

func TestCallOfADeadProcessContinuesInAnotherOne(t *testing.T) {
	withDeadProcess(t, func(s *suspended) {
		s.all[2].answer(s.session, s.question, "Ada")
		back := s.all[1].get(s.t.Context(), s.session, s.last)
		defer back.close()
		back.expectReply("suspended, " + answerOfAda)
	})
}

// The answer may have died with the process.
func TestQuestionOfADeadProcessIsAskedAgain(t *testing.T) {
	for claim, toTheFirst := range map[string]bool{"and answered": false, "and the answer to the first one counts, too": true} {
		t.Run(claim, func(t *testing.T) {
			withDeadProcess(t, func(s *suspended) {
				back := s.all[1].get(s.t.Context(), s.session, s.last)
				defer back.close()
				question := back.expectAgain(s.question)
				if toTheFirst {
					question = s.question
				}
				s.all[2].answer(s.session, question, "Ada")
				s.all[2].answer(s.session, question, "Eve")
				back.expectReply("suspended, " + answerOfAda)
			})
		})
	}
}

// Clients answer so when a question is cancelled.
func TestErrorToAQuestionThatIsAskedAgainIsNoAnswer(t *testing.T) {
	withDeadProcess(t, func(s *suspended) {
		back := s.all[1].get(s.t.Context(), s.session, s.last)
		defer back.close()
		again := back.expectAgain(s.question)
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"error":{"code":-32603,"message":"cancelled"}}`, s.question)
		for _, p := range s.all[1:] {
			p.send(s.t.Context(), "POST", body, s.session...).Body.Close()
		}
		s.all[2].answer(s.session, again, "Ada")
		back.expectReply("suspended, " + answerOfAda)
	})
}

// expectAgain expects that a question is cancelled and asked again, and returns its new id.
func (s *stream) expectAgain(id string) (again string) {
	s.t.Helper()
	s.expect(`"method":"notifications/cancelled"`, `"requestId":"`+id+`"`)
	if again = s.question(); again == id {
		s.t.Errorf("the question has the id of the cancelled one")
	}
	return again
}

func TestCallOfTwoDeadProcessesContinuesInAThirdOne(t *testing.T) {
	for claim, nth := range map[string]int{"the first question is answered": 0, "the second": 1, "the third": 2} {
		t.Run(claim, func(t *testing.T) {
			withDeadProcess(t, func(s *suspended) {
				questions := []string{s.question}
				first := s.all[1].get(s.t.Context(), s.session, s.last)
				defer first.close()
				questions = append(questions, first.expectAgain(s.question))
				s.all[1].vanish()
				synctest.Wait()
				back := s.all[2].get(s.t.Context(), s.session, s.last)
				defer back.close()
				back.expect("notifications/cancelled")
				questions = append(questions, back.expectAgain(questions[1]))
				s.all[2].answer(s.session, questions[nth], "Ada")
				back.expectReply("suspended, suspended, " + answerOfAda)
			})
		})
	}
}

func TestProcessThatWasTakenForDeadEndsItsCallWithoutAReply(t *testing.T) {
	withWaitingCall(t, func(s *suspended, events *stream) {
		s.all[0].vanish()
		synctest.Wait()
		back := s.all[1].get(s.t.Context(), s.session, s.last)
		defer back.close()
		back.expectAgain(s.question)
		s.all[0].answer(s.session, s.question, "Ada")
		if message := events.next(); message != "" {
			s.t.Errorf("the first process has sent %s", message)
		}
		back.expectReply("suspended, " + answerOfAda)
	})
}

func TestProcessThatWasTakenForDeadFindsTheAnswerThatWasStored(t *testing.T) {
	withWaitingCall(t, func(s *suspended, events *stream) {
		s.all[0].vanish()
		synctest.Wait()
		s.all[1].answer(s.session, s.question, "Ada")
		s.all[0].server.Heard("", nil) // it hears again
		events.expectReply(answerOfAda)
	})
}

func TestProcessThatWasTakenForDeadStopsToWaitForATakenCall(t *testing.T) {
	withWaitingCall(t, func(s *suspended, events *stream) {
		s.all[0].vanish()
		synctest.Wait()
		back := s.all[1].get(s.t.Context(), s.session, s.last)
		defer back.close()
		again := back.expectAgain(s.question)
		s.all[0].server.Heard("", nil) // it hears again
		if message := events.next(); message != "" {
			s.t.Errorf("the first process has sent %s", message)
		}
		s.all[1].answer(s.session, again, "Ada")
		back.expectReply("suspended, " + answerOfAda)
	})
}

func TestLivingProcessKeepsACallWhoseClientReturnsElsewhere(t *testing.T) {
	withWaitingCall(t, func(s *suspended, _ *stream) {
		back := s.all[1].get(s.t.Context(), s.session, s.last)
		defer back.close()
		synctest.Wait()
		s.all[2].answer(s.session, s.question, "Ada")
		back.expectReply(answerOfAda)
	})
}

func TestSuspendedCallIsSuspendedAgain(t *testing.T) {
	withSuspendedCall(t, func(s *suspended) {
		s.all[0].vanish()
		first := s.all[1].get(s.t.Context(), s.session, s.last)
		synctest.Wait()
		s.all[1].server.EndStreams()
		if message := first.next(); message != "" {
			s.t.Errorf("got %s", message)
		}
		s.all[1].vanish()
		s.all[2].answer(s.session, s.question, "Ada")
		for _, last := range []string{first.last, s.last} { // also for a client that has missed where the call went
			back := s.all[2].get(s.t.Context(), s.session, last)
			back.expectReply("suspended, suspended, " + answerOfAda)
			back.close()
		}
	})
}

func TestQuestionThatTheClientHasNotSeenIsSentAgain(t *testing.T) {
	withSuspendedCall(t, func(s *suspended) {
		back := s.all[1].get(s.t.Context(), s.session, s.before)
		defer back.close()
		if id := back.question(); id != s.question {
			s.t.Errorf("the question has the id %s, and had %s", id, s.question)
		}
		s.all[1].answer(s.session, s.question, "Ada")
		back.expectReply("suspended, " + answerOfAda)
	})
}

func TestSuspendedCallContinuesOnce(t *testing.T) {
	withSuspendedCall(t, func(s *suspended) {
		var readers []*stream
		for i := range 4 {
			readers = append(readers, s.all[1+i%2].get(s.t.Context(), s.session, s.last))
			defer readers[i].close()
		}
		synctest.Wait()
		s.all[2].answer(s.session, s.question, "Ada")
		for _, back := range readers {
			back.expectReply("suspended, " + answerOfAda)
		}
	})
}

// expectReply expects the reply to the call, after events without a message.
func (s *stream) expectReply(text string) {
	s.t.Helper()
	s.expect(`"id":"call","result":{"content":[{"type":"text","text":"` + text + `"`)
}

// awayCalls is unavailable when a question is added to a call.
type awayCalls struct{ memorySessions }

func (a *awayCalls) SaveCall(ctx context.Context, session string, c mcp.StoredCall, until time.Time) (bool, error) {
	if c.Version == 1 && !bytes.Contains(c.Body, []byte(`"result"`)) {
		return false, mcp.ErrUnavailable
	}
	return a.memorySessions.SaveCall(ctx, session, c, until)
}

func TestAnswerToAQuestionThatCouldNotBeStoredIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		exchange, store, key := new(couriertest.Exchange), new(awayCalls), bytes.Repeat([]byte{7}, 32)
		a, b := startProcess(t, exchange, store, key), startProcess(t, exchange, store, key)
		synctest.Wait()
		session := a.sessionHeaders()
		call := a.call(t.Context(), session, "ask-later")
		question := call.question()
		a.vanish()
		synctest.Wait()
		b.answer(session, question, "Ada")
		a.server.Heard("", nil) // it hears again
		call.expectReply(answerOfAda)
		for _, p := range []*process{a, b} {
			p.server.Shutdown(t.Context())
			p.stop()
			p.vanish()
		}
	})
}

// failingCalls fails to save a call that it has saved a number of times.
type failingCalls struct {
	*memorySessions
	saves int
}

func (f failingCalls) SaveCall(ctx context.Context, session string, c mcp.StoredCall, until time.Time) (bool, error) {
	if c.Version == f.saves {
		return false, errors.New("disk")
	}
	return f.memorySessions.SaveCall(ctx, session, c, until)
}

func TestQuestionOfACallThatCannotBeStoredIsNotAsked(t *testing.T) {
	options := sharedOptions()
	options.SessionStore = failingCalls{new(memorySessions), 0}
	withHandler(t, newAskingHandler, options, func(t *testing.T, c *testClient) {
		v := c.openSession("2025-11-25")
		stream := v.call(t.Context(), 2, "ask-later")
		defer stream.Body.Close()
		if got := readAll(stream); !strings.Contains(got, `"text":"disk"`) || strings.Contains(got, "elicitation") {
			t.Errorf("got %s", got)
		}
	})
}

func TestQuestionThatCannotBeStoredIsCancelled(t *testing.T) {
	options := sharedOptions()
	options.SessionStore = failingCalls{new(memorySessions), 1}
	withHandler(t, newAskingHandler, options, func(t *testing.T, c *testClient) {
		v := c.openSession("2025-11-25")
		stream := v.call(t.Context(), 2, "ask-later")
		defer stream.Body.Close()
		if got := readAll(stream); !strings.Contains(got, "notifications/cancelled") || !strings.Contains(got, `"text":"disk"`) {
			t.Errorf("got %s", got)
		}
	})
}

func TestCallThatCannotBeSuspendedFails(t *testing.T) {
	options := sharedOptions()
	options.SessionStore = failingCalls{new(memorySessions), 2}
	withHandler(t, newAskingHandler, options, func(t *testing.T, c *testClient) {
		v := c.openSession("2025-11-25")
		stream := v.call(t.Context(), 2, "ask-later")
		defer stream.Body.Close()
		v.until(stream, `"id":"ask-1"`)
		c.server.EndStreams()
		v.until(stream, `"error":{"code":-32603,"message":"The server was stopped while this call waited for a person, and the call could not be stored.`)
	})
}

// lateCalls is a store in which the first look for suspended calls finds none.
type lateCalls struct {
	memorySessions
	looked atomic.Bool
}

func (l *lateCalls) ListCalls(ctx context.Context, session string) ([]mcp.StoredCall, error) {
	if !l.looked.Swap(true) {
		return nil, nil
	}
	return l.memorySessions.ListCalls(ctx, session)
}

func TestAnswerThatArrivesAfterTheProcessHasSuspendedTheCallIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		exchange, store, key := new(couriertest.Exchange), new(lateCalls), bytes.Repeat([]byte{7}, 32)
		a, b := startProcess(t, exchange, store, key), startProcess(t, exchange, store, key)
		synctest.Wait()
		session := a.sessionHeaders()
		call := a.call(t.Context(), session, "ask-later")
		question := call.question()
		a.server.EndStreams()
		for call.lines.Scan() {
		}
		if err := a.server.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.answer(session, question, "Ada")
		synctest.Wait()
		back := b.get(t.Context(), session, call.last)
		back.expectReply("suspended, " + answerOfAda)
		back.close()
		b.server.Shutdown(t.Context())
		for _, p := range []*process{a, b} {
			p.stop()
			p.vanish()
		}
	})
}
