package recent_test

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"hatchel/runtime/observe/event"
	"hatchel/runtime/observe/recent"
)

var began = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func newBeginning(id string) *event.Call {
	return &event.Call{
		ID: []byte(id), Name: "refund", Input: []byte(`{"amount":250}`), Owner: "key eva", TraceID: "4bf9", Task: "t1",
		Caller: event.Caller{Subject: "eva", Client: []byte(`"claude-code 2.1"`)},
	}
}

func newStep() *event.Step {
	return &event.Step{
		Step: "fetch", Kind: "http", Connection: "http.shop", Duration: 22 * time.Millisecond, Outcome: "partial",
		Error: "one failed", Rows: 3, Bytes: 3000, Attempts: 2, Pages: 4,
		Failures: event.Failures{Failed: 1, Of: 3, FailedKey: "7"},
	}
}

func newEnd() *event.Call {
	return &event.Call{
		Outcome: "failed", Error: "The shop is closed.", Duration: 30 * time.Millisecond, Rule: "policy.finance",
		Replayed: "key", Rows: 12, Bytes: 40, Output: []byte(`"done"`),
		Failures: event.Failures{Failed: 1, Of: 2, FailedStep: "pay", FailedKey: "9"},
	}
}

func TestACallReadsAsItWasKept(t *testing.T) {
	log := recent.NewLog("p1")
	e := log.Begin(newBeginning("ID1"), began)
	want := &recent.Call{
		ID: "ID1", Tool: "refund", Began: began, Subject: "eva", Client: `"claude-code 2.1"`, Owner: "key eva",
		TraceID: "4bf9", Task: "t1", Process: "p1", Input: []byte(`{"amount":250}`),
	}
	check := func() {
		t.Helper()
		if got := log.Calls(); len(got) != 1 || !reflect.DeepEqual(got[0], want) {
			t.Errorf("got %+v, want %+v", got[0], want)
		}
	}
	check()
	e.Step(newStep(), began.Add(time.Second))
	e.Elements(2, func(i int) (recent.Element, time.Time) {
		return recent.Element{Took: time.Millisecond, Key: fmt.Sprint(i), Outcome: "failed", Error: "no"}, began.Add(time.Second)
	})
	e.SetApproval("A1")
	e.Wait(began.Add(2*time.Second), time.Minute)
	e.End(newEnd(), "connection refused", began.Add(2*time.Minute))
	want.Approval = "A1"
	want.Steps = []recent.Step{{
		Began: time.Second, Took: 22 * time.Millisecond, Name: "fetch", Kind: "http", Target: "http.shop",
		Outcome: "partial", Error: "one failed", Rows: 3, Bytes: 3000, Attempts: 2, Pages: 4,
		Failures: recent.Failures{Failed: 1, Of: 3, Key: "7"},
		Elements: []recent.Element{
			{Began: time.Second, Took: time.Millisecond, Key: "0", Outcome: "failed", Error: "no"},
			{Began: time.Second, Took: time.Millisecond, Key: "1", Outcome: "failed", Error: "no"},
		},
	}}
	want.Waits = []recent.Wait{{Began: 2 * time.Second, Took: time.Minute}}
	want.End = &recent.End{
		After: 2 * time.Minute, Took: 30 * time.Millisecond, Outcome: "failed", Error: "The shop is closed.",
		Cause: "connection refused", Rule: "policy.finance", Replayed: "key", Output: []byte(`"done"`), Rows: 12, Bytes: 40,
		Failures: recent.Failures{Failed: 1, Of: 2, FailedStep: "pay", Key: "9"},
	}
	check()
}

func TestALogKeepsTheLatestCalls(t *testing.T) {
	log := recent.NewLog("p1")
	first := log.Begin(newBeginning("first"), began)
	for i := range recent.Kept {
		log.Begin(newBeginning(fmt.Sprint(i)), began).End(newEnd(), "", began)
	}
	first.Step(newStep(), began)
	first.End(newEnd(), "", began) // another call has its place
	calls := log.Calls()
	if len(calls) != recent.Kept || calls[0].ID != "0" || calls[recent.Kept-1].ID != fmt.Sprint(recent.Kept-1) {
		t.Fatalf("%d calls, from %s on", len(calls), calls[0].ID)
	}
	for _, c := range calls {
		if len(c.Steps) > 0 {
			t.Errorf("call %s has a step of another call", c.ID)
		}
	}
}

// A call keeps at most 8 KiB, and what it came to always finds room.
func TestACallIsBounded(t *testing.T) {
	log := recent.NewLog("p1")
	long := strings.Repeat("x", 300)
	c := newBeginning("ID1")
	c.Name, c.Caller.Subject, c.Owner, c.TraceID, c.Task = long, long, long, long, long
	c.Input, c.Caller.Client = []byte(strings.Repeat("y", 4<<10)), []byte(long)
	e := log.Begin(c, began)
	for range 1000 {
		e.Step(newStep(), began)
	}
	end := newEnd()
	end.Error, end.Output = strings.Repeat("z", 1<<10), []byte(strings.Repeat("o", 4<<10))
	e.End(end, strings.Repeat("c", 1<<10), began)
	got := log.Calls()[0]
	switch {
	case got.End == nil || len(got.End.Error) != 1<<10 || len(got.End.Cause) != 1<<10:
		t.Fatalf("the end of the call is not kept: %+v", got.End)
	case len(got.Steps)+got.MoreSteps != 1000 || got.MoreSteps == 0:
		t.Errorf("%d steps are kept, and %d more counted", len(got.Steps), got.MoreSteps)
	case got.End.Output != nil || got.End.OutputSize != 4<<10:
		t.Errorf("an output without room is kept: %d bytes of %d", len(got.End.Output), got.End.OutputSize)
	}
	if size := recent.SizeOf(log); size > 8<<10 {
		t.Errorf("the call takes %d bytes", size)
	}
}

// Elements leave room for the steps after them, and those that find none are counted.
func TestElementsAreBounded(t *testing.T) {
	log := recent.NewLog("p1")
	e := log.Begin(newBeginning("ID1"), began)
	e.Step(newStep(), began)
	asked := 0
	e.Elements(10_000, func(i int) (recent.Element, time.Time) {
		asked++
		return recent.Element{Key: fmt.Sprint(i), Outcome: "ok"}, began
	})
	if !e.Step(newStep(), began) {
		t.Error("the step after it has no room")
	}
	got := log.Calls()[0]
	kept := len(got.Steps[0].Elements)
	if kept < 100 || kept+got.MoreSteps != 10_000 || asked != kept+1 || len(got.Steps[1].Elements) > 0 {
		t.Errorf("%d elements are kept, %d asked for and %d counted", kept, asked, got.MoreSteps)
	}
	if after := got.Continuing(got).Steps; len(after) != 4 || len(after[2].Elements) != kept {
		t.Error("a call that continues loses elements")
	}
}

// Calls and readers at the same time: no call is read with parts of another one.
func TestCallsAndReadersMeet(t *testing.T) {
	log := recent.NewLog("p1")
	var calls sync.WaitGroup
	for worker := range 8 {
		calls.Go(func() {
			for i := range 2000 {
				id := fmt.Sprint(worker, "-", i)
				e := log.Begin(newBeginning(id), began)
				e.SetApproval(id)
				e.End(newEnd(), id, began)
			}
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		calls.Wait()
	}()
	for open := true; open; {
		select {
		case <-done:
			open = false
		default:
		}
		for _, c := range log.Calls() {
			if c.Approval != "" && c.Approval != c.ID || c.End != nil && c.End.Cause != c.ID {
				t.Fatalf("a call has parts of another one: %+v", c)
			}
		}
	}
	if n := len(log.Calls()); n != recent.Kept {
		t.Errorf("%d calls are kept", n)
	}
}

func TestANilLogKeepsNothing(t *testing.T) {
	var log *recent.Log
	e := log.Begin(newBeginning("ID1"), began)
	e.Step(newStep(), began)
	e.Wait(began, time.Second)
	e.SetApproval("A1")
	e.End(newEnd(), "", began)
	if calls := log.Calls(); !e.IsZero() || calls != nil {
		t.Errorf("%d calls", len(calls))
	}
}

func TestKeepingAllocatesNothing(t *testing.T) {
	log := recent.NewLog("p1")
	c, s, end := newBeginning("ID1"), newStep(), newEnd()
	keep := func() {
		e := log.Begin(c, began)
		e.Step(s, began)
		e.End(end, "", began)
	}
	for range recent.Kept {
		keep()
	}
	if n := testing.AllocsPerRun(100, keep); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkKeepACall(b *testing.B) {
	log := recent.NewLog("p1")
	c, s, end := newBeginning("RYNKYOFV6BSEWFVH7YHTL2V7YF"), newStep(), newEnd()
	b.ReportAllocs()
	for b.Loop() {
		e := log.Begin(c, began)
		e.Step(s, began)
		e.End(end, "", began)
	}
}
