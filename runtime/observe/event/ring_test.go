package event_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/hcl/eventkind"
	"hatchel/runtime/observe/event"
)

// viewer sees what sees says.
type viewer struct {
	owner string
	sees  func(operation, name string) bool
	check error
	asked []string
}

func (v *viewer) Owner() string { return v.owner }

func (v *viewer) Sees(operation, name string) bool {
	v.asked = append(v.asked, operation+" "+name)
	return v.sees == nil || v.sees(operation, name)
}

func (v *viewer) Check() error { return v.check }

func newPublisher() *event.Publisher {
	return event.NewPublisher(event.Options{Ring: event.NewRing("p1"), Revision: "r1", Process: "p1"})
}

func publishCall(p *event.Publisher, tool string, n int) {
	p.Call(context.Background(), &event.Call{Kind: eventkind.ToolCall, Name: tool, ID: fmt.Append(nil, n),
		Caller: event.Caller{Subject: "eva"}, Owner: "k\neva"})
}

func listen(t testing.TB, p *event.Publisher, q event.Query, v event.Viewer) *event.Listener {
	t.Helper()
	l, err := p.Ring.Listen(q, v)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// drain returns the ids of the calls that a listener which does not follow gets, and how many it has lost.
func drain(t testing.TB, l *event.Listener) (ids []string, lost int) {
	t.Helper()
	for {
		events, err := l.Next(context.Background())
		if err == io.EOF {
			return ids, lost
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			var data struct {
				ID   string `json:"tool_call_id"`
				Lost int
			}
			if err := json.Unmarshal(e.Data, &data); err != nil {
				t.Fatalf("%s: %v", e.Data, err)
			}
			if e.Kind == eventkind.Gap {
				lost += data.Lost
				ids = append(ids, "gap")
				continue
			}
			ids = append(ids, data.ID)
		}
	}
}

func TestNothingIsRecordedUntilSomebodyListens(t *testing.T) {
	p := newPublisher()
	if p.Wants(eventkind.ToolCall) {
		t.Fatal("somebody wants events")
	}
	publishCall(p, "refund", 1)
	release := p.Ring.Hold()
	defer release()
	publishCall(p, "refund", 2)
	if ids, _ := drain(t, listen(t, p, event.Query{}, &viewer{})); !slices.Equal(ids, []string{"2"}) {
		t.Fatalf("got %q", ids)
	}
}

func TestRecordingGoesOnAfterTheLastListenerForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPublisher()
		p.Ring.Hold()()
		time.Sleep(event.Linger - time.Second)
		if !p.Wants(eventkind.ToolCall) {
			t.Error("the recording has ended early")
		}
		p.Ring.Hold()()
		time.Sleep(event.Linger - time.Second)
		if !p.Wants(eventkind.ToolCall) {
			t.Error("the recording has ended for the first of two listeners")
		}
		time.Sleep(time.Second + 1)
		if p.Wants(eventkind.ToolCall) {
			t.Error("the recording goes on")
		}
	})
}

func TestAListenerContinuesAfterAnEvent(t *testing.T) {
	p := newPublisher()
	defer p.Ring.Hold()()
	for n := range 5 {
		publishCall(p, "refund", n)
	}
	l := listen(t, p, event.Query{}, &viewer{})
	events, err := l.Next(t.Context())
	if err != nil || len(events) != 5 {
		t.Fatal(len(events), err)
	}
	id := string(events[2].AppendID(nil))
	if ids, _ := drain(t, listen(t, p, event.Query{After: id}, &viewer{})); !slices.Equal(ids, []string{"3", "4"}) {
		t.Errorf("after %s: got %q", id, ids)
	}
}

func TestAListenerThatDoesNotFollowEndsWithWhatWasThere(t *testing.T) {
	p := newPublisher()
	defer p.Ring.Hold()()
	for n := range 1000 {
		publishCall(p, "refund", n)
	}
	l, got := listen(t, p, event.Query{}, &viewer{owner: "o"}), 0
	for {
		events, err := l.Next(t.Context())
		if err == io.EOF {
			break
		}
		if err != nil || got > 2000 {
			t.Fatalf("after %d events: %v", got, err)
		}
		got += len(events)
		for n := range 1000 { // faster than the listener reads
			publishCall(p, "refund", n)
		}
	}
	if got != 1000 {
		t.Errorf("got %d events", got)
	}
}

func TestAnIdOfAnotherRecordingIsAGap(t *testing.T) {
	p := newPublisher()
	defer p.Ring.Hold()()
	publishCall(p, "refund", 1)
	for _, id := range []string{"aaaaaaaaaa-1", "aaaaaaaaaa-99999"} {
		if ids, _ := drain(t, listen(t, p, event.Query{After: id}, &viewer{})); !slices.Equal(ids, []string{"gap", "1"}) {
			t.Errorf("after %s: got %q", id, ids)
		}
	}
}

func TestAnIdThatIsOvertakenIsAGapOfAsManyAsWereLost(t *testing.T) {
	p := newPublisher()
	defer p.Ring.Hold()()
	publishCall(p, "refund", 0)
	events, err := listen(t, p, event.Query{}, &viewer{}).Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	id, sent := string(events[0].AppendID(nil)), 100_000
	for n := range sent {
		publishCall(p, "refund", n+1)
	}
	ids, lost := drain(t, listen(t, p, event.Query{After: id}, &viewer{}))
	if ids[0] != "gap" || len(ids)-1+lost != sent || lost == 0 {
		t.Errorf("first %s, received %d, lost %d, sent %d", ids[0], len(ids)-1, lost, sent)
	}
}

func TestReplayGivesTheLatestEventsThatTheListenerGets(t *testing.T) {
	p := newPublisher()
	defer p.Ring.Hold()()
	for n := range 50_000 {
		publishCall(p, []string{"refund", "invoices"}[n%2], n)
	}
	sees := func(_, name string) bool { return name == "refund" }
	ids, lost := drain(t, listen(t, p, event.Query{Replay: 3}, &viewer{sees: sees}))
	if !slices.Equal(ids, []string{"49994", "49996", "49998"}) || lost != 0 {
		t.Errorf("got %q, lost %d", ids, lost)
	}
	if ids, _ := drain(t, listen(t, p, event.Query{Replay: 3, Tool: "x*"}, &viewer{})); ids != nil {
		t.Errorf("of no tool: got %q", ids)
	}
}

func TestSinceIsATimeAndAGapIfTheRecordingIsYounger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPublisher()
		defer p.Ring.Hold()()
		began := time.Now()
		publishCall(p, "refund", 1)
		time.Sleep(time.Minute)
		publishCall(p, "refund", 2)
		for since, want := range map[time.Duration][]string{
			-time.Second: {"gap", "1", "2"}, 0: {"1", "2"}, time.Second: {"2"}, time.Hour: nil,
		} {
			l, err := p.Ring.Listen(event.Query{Since: began.Add(since)}, &viewer{})
			if err != nil {
				t.Fatal(err)
			}
			if ids, _ := drain(t, l); !slices.Equal(ids, want) {
				t.Errorf("since %v: got %q, want %q", since, ids, want)
			}
			l.Close()
		}
	})
}

func TestFilters(t *testing.T) {
	p := newPublisher()
	defer p.Ring.Hold()()
	ctx := t.Context()
	publishCall(p, "invoice_list", 1)
	p.Step(ctx, &event.Step{Tool: "invoice_list", ID: []byte("2"), Subject: "eva", Owner: "k\neva", Outcome: "ok"})
	p.Call(ctx, &event.Call{Kind: eventkind.ToolResult, Name: "refund", ID: []byte("3"), Outcome: "failed",
		Caller: event.Caller{Subject: "bob"}, Owner: "k\nbob"})
	p.Publish(ctx, event.Meta{Kind: eventkind.Server}, event.Member{Name: "tool_call_id", Value: "4"})
	for _, test := range []struct {
		query  string
		owner  string
		hidden bool
		want   string
	}{
		{"", "", false, "1 2 3 4"},
		{"types=tool_call,server", "", false, "1 4"},
		{"tool=invoice_*", "", false, "1 2"},
		{"tool=refund&outcome=ok", "", false, ""},
		{"outcome=ok,failed", "", false, "2 3"},
		{"caller=bob", "", false, "3"},
		{"own=true", "k\neva", false, "1 2"},
		{"own=true", "", false, ""},
		{"", "k\nbob", true, "3"},
		{"", "", true, ""},
	} {
		q, err := event.ParseQuery(test.query, "", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		q.Follow, q.Replay = false, 100
		v := &viewer{owner: test.owner, sees: func(string, string) bool { return !test.hidden }}
		if ids, _ := drain(t, listen(t, p, q, v)); strings.Join(ids, " ") != test.want {
			t.Errorf("%q of %q, hidden %v: got %q, want %q", test.query, test.owner, test.hidden, ids, test.want)
		}
	}
}

func TestUnknownParametersAreRefusedWithTheList(t *testing.T) {
	for query, want := range map[string]string{
		"types=tool_call,shout":  `Unknown type "shout". The types are tool_call, prompt_get,`,
		"outcome=good":           `Unknown outcome "good". The outcomes are ok, partial, failed,`,
		"color=red":              `Unknown parameter "color". The parameters are types, tool,`,
		"own=maybe":              `own is true or false`,
		"replay=-1":              `replay is a number from 0 to 10000`,
		"since=yesterday":        `since is the id of an event, a duration such as 5m`,
		"since=5m&replay=3":      `At most one of since and replay`,
		"tool=a&tool=b":          `The parameter tool is given twice`,
		"outcome=failed&own=%zz": `The query string is not valid: invalid URL escape "%zz"`,
		"outcome=ok;own=true":    `The query string is not valid: invalid semicolon separator in query`,
		"types=tool_call%0Aevil": `Unknown type "tool_call\nevil"`,
	} {
		_, err := event.ParseQuery(query, "", time.Now())
		var refused *event.QueryError
		if !errors.As(err, &refused) || !strings.HasPrefix(refused.Message, want) {
			t.Errorf("%s: got %v, want %s…", query, err, want)
		}
	}
}

func TestTheHeaderLastEventIDIsTheIDOfAnEvent(t *testing.T) {
	for id, want := range map[string]string{"garbage": "The header Last-Event-ID is", "5m": "The header Last-Event-ID is",
		"abcdefghij-7": ""} {
		q, err := event.ParseQuery("replay=3", id, time.Now())
		if want == "" && (err != nil || q.After != id || q.Replay != 0) ||
			want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: %+v, %v", id, q, err)
		}
	}
}

func TestVisibilityIsDecidedOncePerToolAndGeneration(t *testing.T) {
	p := newPublisher()
	defer p.Ring.Hold()()
	v := &viewer{}
	l := listen(t, p, event.Query{Follow: true}, v)
	publish := func() {
		for n := range 10 {
			publishCall(p, "refund", n)
		}
		for got := 0; got < 10; {
			events, err := l.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got += len(events)
		}
	}
	publish()
	p.Ring.Changed()
	publish()
	if !slices.Equal(v.asked, []string{"tool refund", "tool refund"}) {
		t.Errorf("asked for %q", v.asked)
	}
}

func TestAListenerThatMayNoLongerListenEnds(t *testing.T) {
	p := newPublisher()
	v := &viewer{}
	l := listen(t, p, event.Query{Follow: true}, v)
	go func() {
		time.Sleep(10 * time.Millisecond)
		v.check = errors.New("no longer")
		p.Ring.Changed()
	}()
	if _, err := l.Next(t.Context()); err == nil || err.Error() != "no longer" {
		t.Error(err)
	}
}

func TestLimitsOfListeners(t *testing.T) {
	p := newPublisher()
	for n := range 8 {
		for range 8 {
			listen(t, p, event.Query{Follow: true}, &viewer{owner: fmt.Sprint("caller", n)})
		}
		if _, err := p.Ring.Listen(event.Query{Follow: true}, &viewer{owner: fmt.Sprint("caller", n)}); n < 7 &&
			err != event.ErrTooManyOfCaller {
			t.Fatal(err)
		}
	}
	if _, err := p.Ring.Listen(event.Query{Follow: true}, &viewer{owner: "another"}); err != event.ErrTooMany {
		t.Fatal(err)
	}
	if _, err := p.Ring.Listen(event.Query{}, &viewer{owner: "another"}); err != nil {
		t.Errorf("a listener that does not follow is counted: %v", err)
	}
}

func TestClosingTheRingEndsListeners(t *testing.T) {
	p := newPublisher()
	l := listen(t, p, event.Query{Follow: true}, &viewer{})
	go p.Ring.Close()
	if _, err := l.Next(t.Context()); err != event.ErrClosed {
		t.Error(err)
	}
	if _, err := p.Ring.Listen(event.Query{}, &viewer{}); err != event.ErrClosed {
		t.Error(err)
	}
	p.Ring.Hold()()
	publishCall(p, "refund", 1)
}

func TestAnIdleListenerIsWokenInTimeForAComment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPublisher()
		l, _ := p.Ring.Listen(event.Query{Follow: true}, &viewer{})
		defer l.Close()
		began := time.Now()
		events, err := l.Next(t.Context())
		if err != nil || len(events) != 0 || time.Since(began) != 15*time.Second {
			t.Error(len(events), err, time.Since(began))
		}
	})
}

func TestSecretsAreRemovedBeforeTheRing(t *testing.T) {
	p := newPublisher()
	p.Scrub = func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), "hunter2", "(sensitive)")) }
	defer p.Ring.Hold()()
	publishCall(p, "hunter2", 1)
	events, err := listen(t, p, event.Query{}, &viewer{}).Next(t.Context())
	if err != nil || strings.Contains(string(events[0].Data), "hunter2") {
		t.Errorf("%s, %v", events[0].Data, err)
	}
}

func TestAnEventThatIsTooLargeKeepsWhatIdentifiesIt(t *testing.T) {
	p := newPublisher()
	defer p.Ring.Hold()()
	large := strings.Repeat("x", 100_000)
	p.Call(t.Context(), &event.Call{Kind: eventkind.ToolResult, Name: "refund", ID: []byte("C1"), Outcome: "failed",
		Output: []byte(`"` + large + `"`), Rule: "large"})
	approval := json.RawMessage(`{"id":"A1","status":"pending","arguments":{"note":"` + large + `"},"tool":"refund"}`)
	p.Publish(t.Context(), event.Meta{Kind: eventkind.ApprovalRequested, Operation: "tool", Name: "refund"},
		event.Member{Name: "tool", Value: "refund"}, event.Member{Name: "approval", Value: approval})
	p.Publish(t.Context(), event.Meta{Kind: eventkind.Reload}, event.Member{Name: "result", Value: "failed"},
		event.Member{Name: "report", Value: json.RawMessage(`{"diagnostics":["` + large + `"]}`)})
	events, err := listen(t, p, event.Query{}, &viewer{}).Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		`"tool":"refund","tool_call_id":"C1","outcome":"failed","ms":0,"rule":"large","omitted_bytes":100002}`,
		`"tool":"refund","approval":{"id":"A1","status":"pending","tool":"refund"},"omitted_bytes":100011}`,
		`"result":"failed","report":{},"omitted_bytes":100004}`,
	} {
		if data := string(events[i].Data); !json.Valid(events[i].Data) || !strings.HasSuffix(data, `"process":"p1",`+want) {
			t.Errorf("%.300s", data)
		}
	}
}

// FuzzReceivedAndLostAreSent publishes in bursts beside a listener that is slow, and counts.
func FuzzReceivedAndLostAreSent(f *testing.F) {
	f.Add([]byte{1, 200, 3, 255, 0, 90}, uint16(60))
	f.Add([]byte{255, 255, 255, 255}, uint16(8000))
	f.Add([]byte{}, uint16(0))
	f.Fuzz(func(t *testing.T, bursts []byte, size uint16) {
		p := newPublisher()
		defer p.Ring.Hold()()
		l := listen(t, p, event.Query{Follow: true}, &viewer{})
		text, sent, received, lost := strings.Repeat("x", int(size%8192)), 0, 0, 0
		var publishing sync.WaitGroup
		take := func() {
			events, err := l.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				if e.Kind != eventkind.Gap {
					received++
					continue
				}
				var data struct{ Lost int }
				if err := json.Unmarshal(e.Data, &data); err != nil {
					t.Fatal(err)
				}
				lost += data.Lost
			}
		}
		for i, burst := range bursts[:min(len(bursts), 20)] {
			n := int(burst) * 4
			sent += n
			publishing.Go(func() {
				for n := range n {
					p.Call(context.Background(), &event.Call{Kind: eventkind.ToolResult, Name: "refund",
						ID: fmt.Append(nil, n), Error: text})
				}
			})
			if i%3 == 0 && n > 0 {
				take()
			}
		}
		publishing.Wait()
		for received+lost < sent {
			take()
		}
		if received+lost != sent {
			t.Fatalf("received %d and lost %d of %d", received, lost, sent)
		}
	})
}
