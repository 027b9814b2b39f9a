package runtime

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hatchel/runtime/stage/approval"
)

// checkVoid waits until an approval is void, and checks the reason that approvers read.
func (d *testApprover) checkVoid(a *approval.Approval, why string) {
	d.t.Helper()
	var now *approval.Approval
	waitFor(d.t, func() (is bool) {
		var err error
		if now, err = d.approvals.Find(d.t.Context(), a.ID); err != nil || now == nil {
			d.t.Fatal(now, err)
		}
		return now.Status == approval.Void
	})
	if now.Decision == nil || now.Decision.By != approval.Server || !strings.Contains(now.Decision.Reason, why) {
		d.t.Errorf("void is %+v", now.Decision)
	}
	for _, approved := range []bool{true, false} {
		_, err := d.approvals.Decide(d.t.Context(), a.ID, approved, approval.Decision{By: "os:op", At: time.Now()})
		var already *approval.DecidedError
		if !errors.As(err, &already) || already.Status != approval.Void || !strings.Contains(err.Error(), "it was voided at ") || !strings.Contains(err.Error(), why) {
			d.t.Errorf("who decides is told %v", err)
		}
	}
	list, _, err := d.approvals.List(d.t.Context(), approval.ListQuery{Status: approval.Pending, Limit: 1000})
	if err != nil {
		d.t.Fatal(err)
	}
	for _, e := range list {
		if e.ID == a.ID {
			d.t.Error("it is listed as pending")
		}
	}
}

func TestWhatWaitsForARemovedToolEnds(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	h := newHost(t, tool("refund", refunding), w.use)
	approver := newApprover(t, h)
	waits := startCall(t, h, "ann", "refund", `{"amount":500}`)
	a := approver.waitForPending(1)[0]
	load(t, h, tool("other", `text = "x"`))
	if got := <-waits; !isRefused(got) || !strings.Contains(got, "This tool was removed") || count() != 0 {
		t.Error(got)
	}
	approver.checkVoid(a, "the tool was removed")
}

func TestWhatNobodyWaitsForAnyMoreIsVoidToo(t *testing.T) {
	w := newFakeBackend()
	w.addCounter()
	src := tool("refund", refunding) + tool("same", "approval {}\ntext = \"same\"")
	h := newHost(t, src, w.use)
	approver := newApprover(t, h)
	ctx, hangUp := context.WithCancel(t.Context())
	left := startCallWithContext(ctx, t, h, "ann", "refund", `{"amount":500}`)
	a := approver.waitForPending(1)[0]
	hangUp()
	<-left
	stays := startCall(t, h, "ann", "same", `{}`)
	var other *approval.Approval
	for _, x := range approver.waitForPending(2) {
		if x.ID != a.ID {
			other = x
		}
	}
	load(t, h, strings.Replace(src, "pays", "gives", 1))
	approver.checkVoid(a, "configuration of the tool was changed")
	approver.decide(other, true, "")
	if got := <-stays; isRefused(got) {
		t.Errorf("a tool that has not changed: %s", got)
	}
}

func TestATaskThatWaitsEndsWhenItsToolChanges(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	src := tool("t", "task {}\napproval { timeout = \"1h\" }\nfake { do = \"count\" }\ntext = \"done\"")
	h := newHost(t, src, w.use)
	approver := newApprover(t, h)
	id := mustCall(t, h, modernRequest("t", `{}`, following)).TaskID
	a := approver.waitForPending(1)[0]
	load(t, h, strings.Replace(src, "done", "did", 1))
	waitFor(t, func() bool {
		r, err := taskRequest(t, h, "tasks/get", id, "")
		return err == nil && r.Status == "completed" && r.Result.IsError && strings.Contains(r.Result.text(), "configuration of this tool was changed")
	})
	approver.checkVoid(a, "configuration of the tool was changed")
	if count() != 0 {
		t.Errorf("%d done", count())
	}
}

// Two processes share what they remember, and one of them serves another configuration for a while.
func TestAProcessEndsNothingThatAnotherHasAskedFor(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	src := tool("refund", refunding)
	next, path := strings.Replace(src, "pays", "gives", 1), filepath.Join(t.TempDir(), "state.db")
	old, early := newHost(t, src, w.use, storedIn(t, path)), newHost(t, src, w.use, storedIn(t, path))
	approver := newApprover(t, old)

	waits := startCall(t, old, "ann", "refund", `{"amount":500}`)
	a := approver.waitForPending(1)[0]
	load(t, early, next)
	early.AwaitRetired()
	if now, err := approver.approvals.Find(t.Context(), a.ID); err != nil || now.Status != approval.Pending {
		t.Fatalf("%+v %v", now, err)
	}
	approver.decide(a, true, "")
	if got := <-waits; isRefused(got) || count() != 1 {
		t.Errorf("%d done: %s", count(), got)
	}

	// The same call waits in both. Where it counts no more it ends, and takes with it what was asked for there; where it does, it asks afresh.
	load(t, early, src)
	ends := startCall(t, early, "ann", "refund", `{"amount":600}`)
	a = approver.waitForPending(1)[0]
	goesOn := startCall(t, old, "ann", "refund", `{"amount":600}`)
	waitFor(t, func() bool { return old.build.caches.waiters.Len() == 1 })
	load(t, early, next)
	if got := <-ends; !isRefused(got) || !strings.Contains(got, "configuration of this tool was changed") {
		t.Error(got)
	}
	approver.checkVoid(a, "configuration of the tool was changed")
	approver.decide(approver.waitForPending(1)[0], true, "")
	if got := <-goesOn; isRefused(got) || count() != 2 {
		t.Errorf("%d done: %s", count(), got)
	}

	// And one that joins what another has asked for leaves that as it is.
	load(t, early, src)
	goesOn = startCall(t, old, "ann", "refund", `{"amount":700}`)
	a = approver.waitForPending(1)[0]
	ends = startCall(t, early, "ann", "refund", `{"amount":700}`)
	waitFor(t, func() bool { return early.build.caches.waiters.Len() == 1 })
	load(t, early, next)
	if got := <-ends; !isRefused(got) {
		t.Error(got)
	}
	early.AwaitRetired()
	approver.decide(a, true, "")
	if got := <-goesOn; isRefused(got) || count() != 3 {
		t.Errorf("%d done: %s", count(), got)
	}
}
