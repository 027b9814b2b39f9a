package approval_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/durable/state"
	"hatchel/runtime/stage/approval"
)

// observing is a request whose state before the call is read anew with every call of Observe.
func observing() (r approval.Request, reads *int) {
	reads = new(int)
	r = request("x")
	r.Observe = func() []approval.Observation {
		*reads++
		return []approval.Observation{{Name: "order", At: time.Now().UTC(), Result: json.RawMessage(fmt.Sprint(*reads))}}
	}
	return r, reads
}

func TestTheStateBeforeIsReadForANewApprovalOnly(t *testing.T) {
	b, _ := newBook(t)
	r, reads := observing()
	for range 3 {
		a, _, err := b.Open(t.Context(), "x", r)
		if err != nil || len(a.Before) != 1 || string(a.Before[0].Result) != "1" {
			t.Fatal(a, err)
		}
	}
	if *reads != 1 {
		t.Errorf("it is read %d times", *reads)
	}
}

func TestAWaitingCallLooksAgain(t *testing.T) {
	onEveryStore(t, func(t *testing.T, open func() state.Store) {
		here := open()
		waits, decides := approval.NewStore(here), approval.NewStore(open())
		watch(t, here, waits)
		r, _ := observing()
		a, _, err := waits.Open(t.Context(), "x", r)
		if err != nil {
			t.Fatal(err)
		}
		seen := a.Digest
		a.Observe = r.Observe
		waited := make(chan error, 1)
		go func() {
			_, err := waits.Wait(t.Context(), a, 0, nil)
			waited <- err
		}()
		again, err := decides.LookAgain(t.Context(), a.ID)
		if err != nil || string(again.Before[0].Result) != "2" || again.Digest == seen {
			t.Fatalf("looked at %+v, %v", again, err)
		}
		old := by("ann")
		old.Digest = seen
		if _, err := decides.Decide(t.Context(), a.ID, true, old); !errors.Is(err, approval.ErrChanged) {
			t.Errorf("what was seen before is decided: %v", err)
		}
		if _, err := decides.Propose(t.Context(), a.ID, true, old, true); !errors.Is(err, approval.ErrChanged) {
			t.Errorf("what was seen before is proposed: %v", err)
		}
		old.Digest = again.Digest
		decided, err := decides.Decide(t.Context(), a.ID, true, old)
		if err != nil || decided.Decision.Digest != again.Digest {
			t.Errorf("%+v, %v", decided, err)
		}
		if err := <-waited; err != nil {
			t.Error(err)
		}
	})
}

func TestNobodyLooksAgainForACallThatNoLongerWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newBook(t)
		r, _ := observing()
		a, _, err := b.Open(t.Context(), "x", r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.LookAgain(t.Context(), a.ID); !errors.Is(err, approval.ErrNobodyWaits) {
			t.Errorf("looks again: %v", err)
		}
		if a, err := b.LookAgain(t.Context(), openNew(t, b, "y").ID); err != nil || a.Before != nil {
			t.Errorf("without before blocks: %+v, %v", a, err)
		}
	})
}

func TestTheDigestIsOfWhatIsShown(t *testing.T) {
	b, _ := newBook(t)
	digests := map[string]string{}
	for name, change := range map[string]func(*approval.Request){
		"nothing":   func(*approval.Request) {},
		"effect":    func(r *approval.Request) { r.Effect = "UPDATE" },
		"arguments": func(r *approval.Request) { r.Arguments = json.RawMessage(`{"n":2}`) },
		"revision":  func(r *approval.Request) { r.Revision = "another" },
		"before": func(r *approval.Request) {
			r.Before = []approval.Observation{{Name: "order", Result: json.RawMessage("1")}}
		},
	} {
		r := request("x")
		change(&r)
		a, _, err := b.Open(t.Context(), name, r)
		if err != nil || len(a.Digest) != 32 || digests[a.Digest] != "" {
			t.Errorf("%s has the digest %q of %s (%v)", name, a.Digest, digests[a.Digest], err)
		}
		digests[a.Digest] = name
	}
}
