package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/durable/state"
	"hatchel/runtime/durable/state/couriertest"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/mcp/legacy"
	"hatchel/runtime/edge/mcp/legacy/handover"
)

// testCourier is a courier with the errors of package legacy.
type testCourier struct{ *couriertest.Courier }

func (c testCourier) Send(ctx context.Context, to string, message []byte) error {
	err := c.Courier.Send(ctx, to, message)
	switch {
	case errors.Is(err, state.ErrNoReceiver):
		return handover.ErrNoReceiver
	case errors.Is(err, state.ErrUnavailable):
		return mcp.ErrUnavailable
	}
	return err
}

// process is one process of a server. Its client sees the ids of questions and events as they are.
type process struct {
	*testClient
	vanish func() // for the others
	stop   func()
}

// withCouriers runs processes that send each other messages.
func withCouriers(t *testing.T, n int, f func(t *testing.T, x *couriertest.Exchange, all []*process)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		exchange, store, key := new(couriertest.Exchange), new(memorySessions), bytes.Repeat([]byte{7}, 32)
		var all []*process
		for range n {
			all = append(all, startProcess(t, exchange, store, key))
		}
		synctest.Wait()
		f(t, exchange, all)
		for _, p := range all {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if err := p.server.Shutdown(ctx); err != nil {
				t.Errorf("Shutdown: %v", err)
			}
			cancel()
			p.stop()
			p.vanish()
		}
	})
}

func startProcess(t *testing.T, x *couriertest.Exchange, store handover.Store, key []byte) *process {
	courier := x.New()
	v := &testClient{t: t, handler: newAskingHandler(), log: new(bytes.Buffer)}
	v.server = newServer(v.handler, withLegacy(legacy.Options{Key: key, Store: store, Courier: testCourier{courier}}))
	ctx, vanish := context.WithCancel(t.Context())
	go courier.Receive(ctx, func(from string, message []byte) {
		v.server.Receive(context.WithoutCancel(ctx), from, message)
	}, func(error) {})
	client, stop := startHTTP(t, withToolsets(v.server))
	v.client = &http.Client{Transport: client.Transport.(*readableIDs).base}
	return &process{v, vanish, func() {
		stop()
		synctest.Wait()
	}}
}

// stream reads the events of a response.
type stream struct {
	t     *testing.T
	lines *bufio.Scanner
	close func()
	last  string // event id
}

func newStream(t *testing.T, reply *http.Response) *stream {
	t.Helper()
	if reply.StatusCode != http.StatusOK {
		t.Fatalf("the stream got %s: %s", reply.Status, readAll(reply))
	}
	return &stream{t: t, lines: bufio.NewScanner(reply.Body), close: func() { reply.Body.Close() }}
}

// next returns the next message, and "" at the end.
func (s *stream) next() string {
	for s.lines.Scan() {
		line := s.lines.Text()
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			s.last = id
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			return data
		}
	}
	return ""
}

var questionID = regexp.MustCompile(`"id":"(ask-[^"]+)"`)

// question returns the id of the next message, a question.
func (s *stream) question() string {
	s.t.Helper()
	message := s.next()
	m := questionID.FindStringSubmatch(message)
	if m == nil {
		s.t.Fatalf("%q is no question", message)
	}
	return m[1]
}

func (s *stream) expect(parts ...string) {
	s.t.Helper()
	message := s.next()
	for _, part := range parts {
		if !strings.Contains(message, part) {
			s.t.Errorf("the message is %q, want %q in it", message, part)
		}
	}
}

func (p *process) call(ctx context.Context, session []string, tool string) *stream {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":"call","method":"tools/call","params":{"name":%q}}`, tool)
	return newStream(p.t, p.send(ctx, "POST", body, session...))
}

func (p *process) get(ctx context.Context, session []string, last string) *stream {
	if last != "" {
		session = append(slices.Clip(session), "Last-Event-ID", last)
	}
	return newStream(p.t, p.send(ctx, "GET", "", session...))
}

func (p *process) status(method, body string, session []string) int {
	reply := p.send(p.t.Context(), method, body, session...)
	readAll(reply)
	return reply.StatusCode
}

func answerMessage(id, name string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":{"action":"accept","content":{"name":%q}}}`, id, name)
}

func TestQuestionIsAnsweredAtAnotherProcessOnce(t *testing.T) {
	withCouriers(t, 3, func(t *testing.T, _ *couriertest.Exchange, all []*process) {
		session := all[0].sessionHeaders()
		call := all[1].call(t.Context(), session, "ask")
		id := call.question()
		for i, name := range []string{"first", "second"} {
			if got := all[2*i].status("POST", answerMessage(id, name), session); got != http.StatusAccepted {
				t.Errorf("the answer got %d", got)
			}
		}
		call.expect(`"id":"call","result"`, `first`)
	})
}

func TestAnswersOfOthersSettleNothing(t *testing.T) {
	withCouriers(t, 2, func(t *testing.T, _ *couriertest.Exchange, all []*process) {
		ada, eve := all[0].sessionHeaders(), all[0].sessionHeaders()
		call := all[0].call(t.Context(), ada, "ask")
		id := call.question()
		for name, forged := range map[string]string{
			"another session": id, "a cut id": id[:len(id)-2], "a guess": "ask-1", "no id": "", "the process": "ask-AAAAAAAAAAAAAAAAAAAAAAAAAA",
		} {
			session := ada
			if forged == id {
				session = eve
			}
			if got := all[1].status("POST", answerMessage(forged, "eve"), session); got != http.StatusAccepted {
				t.Errorf("an answer of %s got %d", name, got)
			}
		}
		all[1].status("POST", answerMessage(id, "ada"), ada)
		call.expect("ada")
	})
}

func TestAnswerWhileTheStoreIsUnavailableMayBeRepeated(t *testing.T) {
	withCouriers(t, 2, func(t *testing.T, x *couriertest.Exchange, all []*process) {
		session := all[0].sessionHeaders()
		call := all[0].call(t.Context(), session, "ask")
		id := call.question()
		x.SetUnavailable(true)
		reply := all[1].send(t.Context(), "POST", answerMessage(id, "ada"), session...)
		if readAll(reply); reply.StatusCode != http.StatusServiceUnavailable || reply.Header.Get("Retry-After") == "" {
			t.Errorf("the answer got %s", reply.Status)
		}
		x.SetUnavailable(false)
		if got := all[1].status("POST", answerMessage(id, "ada"), session); got != http.StatusAccepted {
			t.Errorf("the second answer got %d", got)
		}
		call.expect("ada")
	})
}

func TestAnswerForAProcessThatIsGoneIsIgnored(t *testing.T) {
	withCouriers(t, 2, func(t *testing.T, _ *couriertest.Exchange, all []*process) {
		session := all[0].sessionHeaders()
		ctx, disconnect := context.WithCancel(t.Context())
		id := all[0].call(ctx, session, "ask").question()
		all[0].vanish()
		synctest.Wait()
		if got := all[1].status("POST", answerMessage(id, "ada"), session); got != http.StatusAccepted {
			t.Errorf("the answer got %d", got)
		}
		disconnect()
	})
}

// startWaiting starts the request 7, which waits until it is cancelled, and returns the response when it has ended.
func (p *process) startWaiting(session []string) (ended <-chan string) {
	p.handler.started = make(chan string, 1)
	response := make(chan string)
	go func() {
		body := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"wait"}}`
		response <- readAll(p.send(p.t.Context(), "POST", body, session...))
	}()
	<-p.handler.started
	return response
}

func TestCallIsCancelledAtAnotherProcess(t *testing.T) {
	withCouriers(t, 3, func(t *testing.T, _ *couriertest.Exchange, all []*process) {
		session := all[0].sessionHeaders()
		ended := all[1].startWaiting(session)
		all[2].status("POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, session)
		if got := <-ended; strings.Contains(got, `"id":7`) {
			t.Errorf("the cancelled call was answered: %s", got)
		}
	})
}

func TestCancellationsToAllAreLimited(t *testing.T) {
	withCouriers(t, 2, func(t *testing.T, _ *couriertest.Exchange, all []*process) {
		session := all[0].sessionHeaders()
		ended := all[1].startWaiting(session)
		cancel := func(id int) {
			all[0].status("POST", fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id), session)
		}
		for range 100 {
			cancel(8)
		}
		cancel(7)
		synctest.Wait()
		select {
		case got := <-ended:
			t.Errorf("the call has ended: %q", got)
		default:
		}
		time.Sleep(time.Second)
		cancel(7)
		<-ended
	})
}

func TestPlainRequestsOfASessionUseNoRecord(t *testing.T) {
	store := new(memorySessions)
	synctest.Test(t, func(t *testing.T) {
		exchange := new(couriertest.Exchange)
		a, b := startProcess(t, exchange, store, bytes.Repeat([]byte{7}, 32)), startProcess(t, exchange, store, bytes.Repeat([]byte{7}, 32))
		synctest.Wait()
		session := a.sessionHeaders()
		for _, p := range []*process{a, b} {
			for _, body := range []string{
				pingMessage, `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"echo"}}`,
				`{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"note://today"}}`,
			} {
				if got := p.status("POST", body, session); got != http.StatusOK {
					t.Errorf("%s got %d", body, got)
				}
			}
			defer p.stop()
			defer p.vanish()
		}
		if store.uses > 0 {
			t.Errorf("records were used %d times", store.uses)
		}
	})
}

func TestDeletedSessionIsNotFoundInAnyProcess(t *testing.T) {
	withCouriers(t, 3, func(t *testing.T, _ *couriertest.Exchange, all []*process) {
		session := all[0].sessionHeaders()
		for i, p := range all {
			if got := p.status("POST", pingMessage, session); i < 2 && got != http.StatusOK {
				t.Errorf("before: %d", got)
			}
		}
		if got := all[1].status("DELETE", "", session); got != http.StatusNoContent {
			t.Errorf("DELETE got %d", got)
		}
		synctest.Wait()
		for i, p := range all {
			if got := p.status("POST", pingMessage, session); got != http.StatusNotFound {
				t.Errorf("process %d answers with %d", i, got)
			}
		}
	})
}

func TestProcessThatHasMissedTheEndOfASessionFindsItOut(t *testing.T) {
	withCouriers(t, 2, func(t *testing.T, x *couriertest.Exchange, all []*process) {
		session := all[0].sessionHeaders()
		all[1].status("POST", pingMessage, session)
		x.SetUnavailable(true)
		all[0].status("DELETE", "", session)
		x.SetUnavailable(false)
		if got := all[1].status("POST", pingMessage, session); got != http.StatusOK {
			t.Errorf("a process that was not told answers with %d", got)
		}
		time.Sleep(11 * time.Second) // until the end is saved
		x.Interrupt()
		synctest.Wait()
		if got := all[1].status("POST", pingMessage, session); got != http.StatusNotFound {
			t.Errorf("later it answers with %d", got)
		}
	})
}

func TestLevelIsThatOfTheSessionInEveryProcess(t *testing.T) {
	withCouriers(t, 2, func(t *testing.T, _ *couriertest.Exchange, all []*process) {
		session := all[0].sessionHeaders()
		for _, level := range []string{"error", "warning", "error"} {
			if got := all[1].status("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":%q}}`, level), session); got != http.StatusOK {
				t.Fatalf("setLevel got %d", got)
			}
			for i, p := range all {
				got := readAll(p.send(t.Context(), "POST", `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"steps"}}`, session...))
				if strings.Contains(got, `"low":true`) != (level == "warning") {
					t.Errorf("process %d at level %s: %s", i, level, got)
				}
			}
		}
	})
}

func TestSubscriptionAtAnotherProcessNotifiesTheReader(t *testing.T) {
	withCouriers(t, 3, func(t *testing.T, _ *couriertest.Exchange, all []*process) {
		session := all[0].sessionHeaders()
		events := all[1].get(t.Context(), session, "")
		all[2].subscribe(session, "note://a")
		synctest.Wait()
		for i, want := range []int{0, 1, 0} {
			if n, _ := all[i].handler.countFollowed(); n != want {
				t.Errorf("process %d follows %d resources, want %d", i, n, want)
			}
		}
		all[1].server.ResourceUpdated("note://a", nil)
		events.expect("notifications/resources/updated", "note://a")
		all[0].status("POST", `{"jsonrpc":"2.0","id":3,"method":"resources/unsubscribe","params":{"uri":"note://a"}}`, session)
		all[1].expectFollowed(0, "unsubscribing")
	})
}

func TestReaderElsewhereEndsTheOneHere(t *testing.T) {
	withCouriers(t, 2, func(t *testing.T, _ *couriertest.Exchange, all []*process) {
		session := all[0].sessionHeaders()
		all[0].subscribe(session, "note://a")
		before := all[0].get(t.Context(), session, "")
		synctest.Wait()
		after := all[1].get(t.Context(), session, "")
		if got := before.next(); got != "" {
			t.Errorf("the stream goes on with %s", got)
		}
		all[0].expectFollowed(0, "the end of its stream")
		all[1].expectFollowed(1, "the begin of a stream")
		for _, p := range all {
			p.server.ListsChanged(sameChanges(mcp.Changes{Tools: true}))
		}
		after.expect("notifications/tools/list_changed")
	})
}

func TestReaderWhoReturnsElsewhereIsToldOfEverything(t *testing.T) {
	withCouriers(t, 2, func(t *testing.T, _ *couriertest.Exchange, all []*process) {
		session := all[0].sessionHeaders()
		all[0].subscribe(session, "note://a")
		before := all[0].get(t.Context(), session, "")
		all[0].server.ListsChanged(sameChanges(mcp.Changes{Tools: true}))
		before.expect("notifications/tools/list_changed")
		synctest.Wait() // the other process knows of the reader
		before.close()
		after := all[1].get(t.Context(), session, before.last)
		for _, want := range []string{"tools/list_changed", "prompts/list_changed", "resources/list_changed", "resources/updated"} {
			after.expect("notifications/" + want)
		}
	})
}

func TestStreamOfACallIsResumedAtAnotherProcess(t *testing.T) {
	withCouriers(t, 3, func(t *testing.T, _ *couriertest.Exchange, all []*process) {
		session := all[0].sessionHeaders()
		ctx, disconnect := context.WithCancel(t.Context())
		call := all[0].call(ctx, session, "ask-twice")
		first := call.question()
		disconnect()
		synctest.Wait()
		ctx, disconnect = context.WithCancel(t.Context())
		second := all[1].get(ctx, session, call.last)
		all[2].status("POST", answerMessage(first, "one"), session)
		id := second.question()
		disconnect()
		synctest.Wait()
		third := all[2].get(t.Context(), session, second.last)
		all[1].status("POST", answerMessage(id, "two"), session)
		third.expect(`"id":"call","result"`, "one", "two")
		if got := third.next(); got != "" {
			t.Errorf("the stream goes on with %s", got)
		}
	})
}

func TestStreamOfAProcessThatIsGoneEndsWithAnError(t *testing.T) {
	withCouriers(t, 2, func(t *testing.T, _ *couriertest.Exchange, all []*process) {
		session := all[0].sessionHeaders()
		ctx, disconnect := context.WithCancel(t.Context())
		call := all[0].call(ctx, session, "ask")
		call.question()
		disconnect()
		synctest.Wait()
		resumed := all[1].get(t.Context(), session, call.last)
		synctest.Wait()
		began := time.Now()
		all[0].vanish()
		resumed.expect(`"id":"call","error":{"code":-32603,"message":"The call was interrupted`)
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("the client was told after %s", took)
		}
		all[1].get(t.Context(), session, call.last).expect(`"id":"call","error":{"code":-32603`)
		all[0].status("DELETE", "", session) // in this test the process still runs
	})
}

func TestStreamOfAnEarlierProcessEndsWithAnError(t *testing.T) {
	options := sharedOptions(new(memorySessions))
	withServer(t, options, func(t *testing.T, before *testClient) {
		a := &process{testClient: before}
		before.client = &http.Client{Transport: before.client.Transport.(*readableIDs).base}
		session := a.sessionHeaders()
		call := a.call(t.Context(), session, "steps")
		call.next()
		call.close()
		after := &testClient{t: t, handler: newFakeHandler(), log: new(bytes.Buffer)}
		after.server = newServer(after.handler, options)
		client, stop := startHTTP(t, withToolsets(after.server))
		after.client = client
		got := readAll(after.send(t.Context(), "GET", "", append(session, "Last-Event-ID", call.last)...))
		if !strings.Contains(got, `data: {"jsonrpc":"2.0","id":"call","error":{"code":-32603,"message":"The call was interrupted`) {
			t.Errorf("got %q", got)
		}
		stop()
	})
}

func TestEventIDsOfOthersAreRefused(t *testing.T) {
	withCouriers(t, 2, func(t *testing.T, _ *couriertest.Exchange, all []*process) {
		ada, eve := all[0].sessionHeaders(), all[0].sessionHeaders()
		call := all[0].call(t.Context(), ada, "steps")
		call.next()
		ref, seq, _ := strings.Cut(call.last, ".")
		for _, forged := range []string{call.last, ref + ".", ref, "1-1", "." + seq, ref[1:] + "." + seq, ref + ".-1"} {
			session := ada
			if forged == call.last {
				session = eve
			}
			for i, p := range all {
				if got := p.status("GET", "", append(slices.Clip(session), "Last-Event-ID", forged)); got != http.StatusBadRequest {
					t.Errorf("process %d answers %q with %d", i, forged, got)
				}
			}
		}
	})
}

// A reader that has left without a word must not keep a question waiting.
func TestProcessFindsOutThatAReaderElsewhereHasLeft(t *testing.T) {
	withCouriers(t, 2, func(t *testing.T, x *couriertest.Exchange, all []*process) {
		session := all[0].sessionHeaders()
		ctx, disconnect := context.WithCancel(t.Context())
		call := all[0].call(ctx, session, "ask")
		call.question()
		disconnect()
		synctest.Wait()
		ctx, disconnect = context.WithCancel(t.Context())
		all[1].get(ctx, session, call.last)
		synctest.Wait()
		x.SetUnavailable(true)
		disconnect()
		synctest.Wait()
		x.SetUnavailable(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		select {
		case err := <-all[0].handler.stopped:
			if !errors.Is(err, mcp.ErrUnreachable) {
				t.Errorf("the question ended with %v", err)
			}
		default:
			t.Error("the question still waits")
			all[0].status("DELETE", "", session)
		}
	})
}

func TestShutdownSendsTheLastEventsToOtherProcesses(t *testing.T) {
	withCouriers(t, 2, func(t *testing.T, _ *couriertest.Exchange, all []*process) {
		session := all[0].sessionHeaders()
		ctx, disconnect := context.WithCancel(t.Context())
		call := all[0].call(ctx, session, "wait")
		call.lines.Scan()
		call.last = strings.TrimPrefix(call.lines.Text(), "id: ")
		disconnect()
		synctest.Wait()
		resumed := all[1].get(t.Context(), session, call.last)
		stopped := make(chan error)
		go func() { stopped <- all[0].server.Shutdown(t.Context()) }()
		synctest.Wait()
		close(all[0].handler.release)
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		resumed.expect(`"id":"call","result"`, "waited")
	})
}

// The database may be away while a process stops.
func TestShutdownEndsWhenOtherProcessesCannotBeReached(t *testing.T) {
	withCouriers(t, 2, func(t *testing.T, x *couriertest.Exchange, all []*process) {
		session := all[0].sessionHeaders()
		ctx, disconnect := context.WithCancel(t.Context())
		call := all[0].call(ctx, session, "wait")
		call.lines.Scan()
		call.last = strings.TrimPrefix(call.lines.Text(), "id: ")
		disconnect()
		synctest.Wait()
		all[1].get(t.Context(), session, call.last)
		synctest.Wait()
		x.SetUnavailable(true)
		close(all[0].handler.release)
		grace, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := all[0].server.Shutdown(grace); err != context.DeadlineExceeded {
			t.Errorf("Shutdown: %v", err)
		}
		x.SetUnavailable(false)
	})
}
