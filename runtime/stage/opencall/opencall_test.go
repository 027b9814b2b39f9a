package opencall_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"hatchel/adapters"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/durable/state/couriertest"
	. "hatchel/runtime/stage/opencall"
)

// processStore is the store of one process that other processes share.
type processStore struct {
	state.Store
	*couriertest.Courier
}

// newRegistry returns the registry of one process, which stop ends.
func newRegistry(t *testing.T, x *couriertest.Exchange) (r *Registry, stop func()) {
	t.Helper()
	kept, err := state.Open(context.WithoutCancel(t.Context()), "")
	if err != nil {
		t.Fatal(err)
	}
	shared := processStore{kept, x.New()}
	process := state.NewProcess(context.WithoutCancel(t.Context()), func(context.Context) (state.Store, error) { return shared, nil })
	r = NewRegistry(process)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var receiving sync.WaitGroup
	begun := make(chan struct{})
	begin := sync.OnceFunc(func() { close(begun) })
	receiving.Go(func() {
		shared.Courier.Receive(ctx, func(from string, message []byte) {
			if begin(); from != "" && !r.Receive(from, message) {
				t.Errorf("%s is no message about an open call", message)
			}
		}, func(error) {})
	})
	<-begun
	stop = sync.OnceFunc(func() { cancel(); receiving.Wait(); process.Close(); kept.Close() })
	t.Cleanup(stop)
	return r, stop
}

// client collects progress.
type client struct {
	adapters.NopClient
	mu   sync.Mutex
	seen []string
}

func (c *client) Progress(done, total float64, message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = append(c.seen, message)
}

func (c *client) messages() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprint(c.seen)
}

func options(owner string) Options {
	return Options{
		Owner: owner, Connection: "mcp.db", Stop: context.Background(), Capable: func(string) bool { return true },
		Reloaded: func() <-chan struct{} { return nil }, IsValid: func() bool { return true },
	}
}

func question(key string) []adapters.Question {
	return []adapters.Question{{Key: key, Message: "Where?", URL: "https://example.com/", Timeout: time.Minute}}
}

// askTwice asks two questions, and reports progress after each.
func askTwice(ctx context.Context, asker adapters.Asker, c adapters.Client, report *Report) (any, error) {
	report.Upstreams = []adapters.UpstreamCall{{Connection: "db", Tool: "t", Calls: 1}}
	text := ""
	for _, key := range []string{"db.1", "db.2"} {
		answers, err := asker.Ask(ctx, question(key), nil)
		if err != nil {
			return nil, err
		}
		c.Progress(1, 0, "after "+key)
		text += answers[0].Action + " "
	}
	return map[string]any{"text": text, "n": 1.0}, nil
}

func accept(content map[string]any) []adapters.Answer {
	return []adapters.Answer{{Action: adapters.AnswerAccept, Content: content}}
}

// inEachProcess runs a test whose call is open here, and whose client comes there: to the same process, and to another
// one.
func inEachProcess(t *testing.T, test func(t *testing.T, here, there *Registry)) {
	for claim, elsewhere := range map[string]bool{"in the same process": false, "in another one": true} {
		t.Run(claim, func(t *testing.T) {
			x := new(couriertest.Exchange)
			here, _ := newRegistry(t, x)
			there := here
			if elsewhere {
				there, _ = newRegistry(t, x)
			}
			test(t, here, there)
		})
	}
}

func TestACallIsContinuedInAnyProcess(t *testing.T) {
	inEachProcess(t, func(t *testing.T, here, there *Registry) {
		ended := make(chan struct{})
		first := here.Start(t.Context(), &client{}, options("ann"), askTwice, func() { close(ended) })
		if first.Question == nil || here.Waiting() != 1 {
			t.Fatalf("%+v", first)
		}
		second := there.Continue(t.Context(), first.Question.Open, accept(map[string]any{"a": 1}), &client{})
		if second.Question == nil || second.Question.Questions[0].Key != "db.2" || second.Err != nil {
			t.Fatalf("%+v", second)
		}
		last := &client{}
		out := there.Continue(t.Context(), second.Question.Open, accept(nil), last)
		if fmt.Sprint(out.Output) != "map[n:1 text:accept accept ]" || out.Err != nil || len(out.Report.Upstreams) != 1 {
			t.Errorf("%+v", out)
		}
		<-ended
		if seen := last.messages(); seen != "[after db.2]" && here == there { // another process may drop progress
			t.Errorf("the client that waits now has seen %s", seen)
		}
		again := there.Continue(t.Context(), second.Question.Open, accept(nil), last)
		if f, ok := errors.AsType[*adapters.Fault](again.Err); !ok || f.Change != adapters.ChangeUnknown {
			t.Errorf("%+v", again)
		}
		if here.Waiting() != 0 {
			t.Errorf("%d calls wait", here.Waiting())
		}
	})
}

func TestAFailureOfABackendTravels(t *testing.T) {
	x := new(couriertest.Exchange)
	here, _ := newRegistry(t, x)
	there, _ := newRegistry(t, x)
	fault := &adapters.Fault{Message: "no", Hint: "change it", Status: 409, Cause: errors.New("because"), Change: adapters.ChangeUndone}
	do := func(ctx context.Context, asker adapters.Asker, _ adapters.Client, _ *Report) (any, error) {
		if _, err := asker.Ask(ctx, question("db.1"), nil); err != nil {
			return nil, err
		}
		return nil, fault
	}
	first := here.Start(t.Context(), &client{}, options(""), do, func() {})
	out := there.Continue(t.Context(), first.Question.Open, accept(nil), &client{})
	f, ok := errors.AsType[*adapters.Fault](out.Err)
	if !ok || f.Message != "no" || f.Hint != "change it" || f.Status != 409 || f.Cause.Error() != "because" ||
		adapters.ChangeOf(out.Err) != adapters.ChangeUndone {
		t.Errorf("%+v", out.Err)
	}
}

func TestACallOfAProcessThatHasEndedIsLost(t *testing.T) {
	x := new(couriertest.Exchange)
	here, stop := newRegistry(t, x)
	there, _ := newRegistry(t, x)
	first := here.Start(t.Context(), &client{}, options(""), askTwice, func() {})
	stop()
	out := there.Continue(t.Context(), first.Question.Open, accept(nil), &client{})
	if f, ok := errors.AsType[*adapters.Fault](out.Err); !ok || f.Change != adapters.ChangeUnknown {
		t.Errorf("%+v", out)
	}
}

func TestAClientThatLeavesEndsTheCallAnywhere(t *testing.T) {
	inEachProcess(t, func(t *testing.T, here, there *Registry) {
		working, ended := make(chan struct{}), make(chan struct{})
		do := func(ctx context.Context, asker adapters.Asker, _ adapters.Client, _ *Report) (any, error) {
			if _, err := asker.Ask(ctx, question("db.1"), nil); err != nil {
				return nil, err
			}
			close(working)
			<-ctx.Done()
			return nil, ctx.Err()
		}
		first := here.Start(t.Context(), &client{}, options(""), do, func() { close(ended) })
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			<-working
			leave()
		}()
		if out := there.Continue(ctx, first.Question.Open, accept(nil), &client{}); out.Err == nil {
			t.Errorf("%+v", out)
		}
		<-ended
	})
}

// The backend withdraws a question, and goes on. Its client brings the answer later.
func TestAnAnswerToAQuestionThatWasWithdrawnIsRefused(t *testing.T) {
	inEachProcess(t, func(t *testing.T, here, there *Registry) {
		withdraw, ended := make(chan struct{}), make(chan struct{})
		do := func(ctx context.Context, asker adapters.Asker, _ adapters.Client, _ *Report) (any, error) {
			asking, cancel := context.WithCancel(ctx)
			go func() {
				<-withdraw
				cancel()
			}()
			if _, err := asker.Ask(asking, question("db.1"), nil); !errors.Is(err, context.Canceled) || ctx.Err() != nil {
				t.Errorf("the withdrawn question: %v", err)
			}
			answers, err := asker.Ask(ctx, question("db.2"), nil)
			if err != nil || answers[0].Action != adapters.AnswerCancel {
				t.Errorf("the next question: %v, %v", answers, err)
			}
			return "went on", nil
		}
		first := here.Start(t.Context(), &client{}, options("ann"), do, func() { close(ended) })
		close(withdraw)
		<-ended
		for range 2 {
			out := there.Continue(t.Context(), first.Question.Open, accept(nil), &client{})
			f, ok := errors.AsType[*adapters.Fault](out.Err)
			if !ok || f.Change != adapters.ChangeUnknown || !strings.Contains(f.Message, "withdrew its question") {
				t.Errorf("%+v", out)
			}
		}
		here.Release(t.Context(), first.Question.Open)
		if here.Waiting() != 0 {
			t.Errorf("%d calls wait", here.Waiting())
		}
	})
}

// TestAnAnswerIsNotTakenForOneToTheNextQuestion has a client repeat the request with its first answer.
func TestAnAnswerIsNotTakenForOneToTheNextQuestion(t *testing.T) {
	r, _ := newRegistry(t, new(couriertest.Exchange))
	first := r.Start(t.Context(), &client{}, options("ann"), askTwice, func() {})
	second := r.Continue(t.Context(), first.Question.Open, accept(nil), &client{})
	if again := r.Continue(t.Context(), first.Question.Open, accept(nil), &client{}); again.Err == nil {
		t.Errorf("the first answer was taken for the second one: %+v", again)
	}
	if out := r.Continue(t.Context(), second.Question.Open, accept(nil), &client{}); out.Err != nil {
		t.Error(out.Err)
	}
}

func TestACallThatIsReleasedEnds(t *testing.T) {
	inEachProcess(t, func(t *testing.T, here, there *Registry) {
		ended := make(chan struct{})
		first := here.Start(t.Context(), &client{}, options(""), askTwice, func() { close(ended) })
		there.Release(t.Context(), first.Question.Open)
		<-ended
	})
}

func TestTooManyOpenCallsAreRefused(t *testing.T) {
	r, _ := newRegistry(t, new(couriertest.Exchange))
	start := func(owner string) Outcome {
		return r.Start(t.Context(), &client{}, options(owner), askTwice, func() {})
	}
	var open []Ref
	for caller := range 8 {
		for range 8 {
			out := start(fmt.Sprint("caller ", caller))
			if out.Question == nil {
				t.Fatalf("%+v", out)
			}
			open = append(open, out.Question.Open)
		}
		if out := start(fmt.Sprint("caller ", caller)); out.Err == nil {
			t.Errorf("caller %d has a ninth one", caller)
		}
	}
	if out := start("another"); out.Err == nil {
		t.Error("a connection has 65")
	}
	for _, ref := range open {
		r.Release(t.Context(), ref)
	}
	if out := start("another"); out.Question == nil || r.Waiting() != 1 {
		t.Errorf("%+v, and %d wait", out, r.Waiting())
	}
}

// TestCallersGetTheirOwnAnswers continues the calls of 100 callers at once, in either process.
func TestCallersGetTheirOwnAnswers(t *testing.T) {
	x := new(couriertest.Exchange)
	here, _ := newRegistry(t, x)
	there, _ := newRegistry(t, x)
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			want := fmt.Sprint("caller ", i)
			o := options(want)
			o.Connection = fmt.Sprint("connection ", i%4)
			do := func(ctx context.Context, asker adapters.Asker, c adapters.Client, _ *Report) (any, error) {
				answers, err := asker.Ask(ctx, question("db.1"), nil)
				if err != nil {
					return nil, err
				}
				c.Progress(1, 0, want)
				return map[string]any{"owner": want, "answer": answers[0].Content["who"]}, nil
			}
			first := here.Start(t.Context(), &client{}, o, do, func() {})
			if first.Question == nil {
				t.Errorf("%+v", first)
				return
			}
			r, seen := here, &client{}
			if i%2 == 0 {
				r = there
			}
			out := r.Continue(t.Context(), first.Question.Open, accept(map[string]any{"who": want}), seen)
			if fmt.Sprint(out.Output) != fmt.Sprintf("map[answer:%s owner:%s]", want, want) {
				t.Errorf("%s: %+v", want, out)
			}
			if m := seen.messages(); m != "[]" && m != "["+want+"]" {
				t.Errorf("%s has seen %s", want, m)
			}
		})
	}
	all.Wait()
}
