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

	"hatchel/runtime/durable/state/couriertest"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/mcp/legacy/handover"
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
		s.all[0].server.Receive(context.Background(), "", nil) // it listens again
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
		s.all[0].server.Receive(context.Background(), "", nil) // it listens again
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
			synctest.Wait() // one that finds another about to take the call would have to return once more
		}
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

func (a *awayCalls) SaveCall(ctx context.Context, session string, c handover.StoredCall, until time.Time) (bool, error) {
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
		a.server.Receive(context.Background(), "", nil) // it listens again
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

func (f failingCalls) SaveCall(ctx context.Context, session string, c handover.StoredCall, until time.Time) (bool, error) {
	if c.Version == f.saves {
		return false, errors.New("disk")
	}
	return f.memorySessions.SaveCall(ctx, session, c, until)
}

// callWithFailingStore begins a call that asks, with a store that fails after a number of saves.
func callWithFailingStore(t *testing.T, saves int, do func(c *testClient, v *sessionClient, stream *http.Response)) {
	options := sharedOptions(failingCalls{new(memorySessions), saves})
	withHandler(t, newAskingHandler, options, func(t *testing.T, c *testClient) {
		v := c.openSession("2025-11-25")
		stream := v.call(t.Context(), 2, "ask-later")
		defer stream.Body.Close()
		do(c, v, stream)
	})
}

func TestQuestionOfACallThatCannotBeStoredIsNotAsked(t *testing.T) {
	callWithFailingStore(t, 0, func(_ *testClient, _ *sessionClient, stream *http.Response) {
		if got := readAll(stream); !strings.Contains(got, `"text":"disk"`) || strings.Contains(got, "elicitation") {
			t.Errorf("got %s", got)
		}
	})
}

func TestQuestionThatCannotBeStoredIsCancelled(t *testing.T) {
	callWithFailingStore(t, 1, func(_ *testClient, _ *sessionClient, stream *http.Response) {
		if got := readAll(stream); !strings.Contains(got, "notifications/cancelled") || !strings.Contains(got, `"text":"disk"`) {
			t.Errorf("got %s", got)
		}
	})
}

func TestCallThatCannotBeSuspendedFails(t *testing.T) {
	callWithFailingStore(t, 2, func(c *testClient, v *sessionClient, stream *http.Response) {
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

func (l *lateCalls) ListCalls(ctx context.Context, session string) ([]handover.StoredCall, error) {
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

// pausedCalls is a store in which the record that a process makes of its own call is saved after release.
type pausedCalls struct {
	*memorySessions
	saving, release chan struct{}
}

func (p pausedCalls) SaveCall(ctx context.Context, session string, c handover.StoredCall, until time.Time) (bool, error) {
	if c.Version == 0 {
		close(p.saving)
		<-p.release
	}
	return p.memorySessions.SaveCall(ctx, session, c, until)
}

// withInterruptedTaker has the second process take the call of the first one, which has stopped or died, and stop before
// it has stored the call itself; until release is called.
func withInterruptedTaker(t *testing.T, died bool, f func(s *suspended, first *stream, release func())) {
	synctest.Test(t, func(t *testing.T) {
		exchange, store, key := new(couriertest.Exchange), new(memorySessions), bytes.Repeat([]byte{7}, 32)
		paused := pausedCalls{store, make(chan struct{}), make(chan struct{})}
		s := &suspended{t: t}
		for _, store := range []handover.Store{store, paused, store} {
			s.all = append(s.all, startProcess(t, exchange, store, key))
		}
		synctest.Wait()
		s.session = s.all[0].sessionHeaders()
		call := s.all[0].call(t.Context(), s.session, "ask-later")
		s.question, s.last = call.question(), call.last
		if !died {
			s.all[0].server.EndStreams()
			for call.lines.Scan() {
			}
		}
		s.all[0].vanish()
		synctest.Wait()
		first := s.all[1].get(t.Context(), s.session, s.last)
		<-paused.saving
		s.all[1].vanish()
		synctest.Wait()
		f(s, first, func() { close(paused.release) })
		first.close()
		call.close()
		for i, p := range s.all {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if err := p.server.Shutdown(ctx); err != nil {
				t.Errorf("Shutdown of %d: %v", i, err)
			}
			cancel()
			p.stop()
			p.vanish()
		}
	})
}

func TestCallOfAProcessThatDiedWhileItTookTheCallContinues(t *testing.T) {
	for claim, died := range map[string]bool{"from a process that has stopped": false, "from one that has died": true} {
		t.Run(claim, func(t *testing.T) {
			withInterruptedTaker(t, died, func(s *suspended, first *stream, release func()) {
				back := s.all[2].get(s.t.Context(), s.session, s.last)
				defer back.close()
				s.all[2].answer(s.session, back.expectAgain(s.question), "Ada")
				back.expectReply("suspended, " + answerOfAda)
				release()
			})
		})
	}
}

func TestAnswerAfterAProcessDiedWhileItTookTheCallIsKept(t *testing.T) {
	withInterruptedTaker(t, false, func(s *suspended, first *stream, release func()) {
		s.all[2].answer(s.session, s.question, "Ada")
		back := s.all[2].get(s.t.Context(), s.session, s.last)
		defer back.close()
		back.expectReply("suspended, " + answerOfAda)
		release()
	})
}

func TestProcessThatWasTakenForDeadWhileItTookTheCallDoesNotContinueIt(t *testing.T) {
	withInterruptedTaker(t, true, func(s *suspended, first *stream, release func()) {
		back := s.all[2].get(s.t.Context(), s.session, s.last)
		defer back.close()
		again := back.expectAgain(s.question)
		release()
		if message := first.next(); message != "" {
			s.t.Errorf("the second process has sent %s", message)
		}
		s.all[2].answer(s.session, again, "Ada")
		back.expectReply("suspended, " + answerOfAda)
	})
}

func TestReturningClientHasAnEventIDBeforeAnythingElseIsDone(t *testing.T) {
	withInterruptedTaker(t, true, func(s *suspended, first *stream, release func()) {
		if !first.lines.Scan() || !strings.HasPrefix(first.lines.Text(), "id: ") {
			s.t.Errorf("the stream of the process that has died begins with %q", first.lines.Text())
		}
		release()
	})
}
