package approval_test

import (
	"slices"
	"testing"

	"hatchel/runtime/stage/approval"
)

func TestApprovalsOfACallerAreTheirsAlone(t *testing.T) {
	b, _ := newBook(t)
	waiting, rejected, approved := openNew(t, b, "0"), openNew(t, b, "1"), openNew(t, b, "2")
	decide(t, b, rejected, false)
	decide(t, b, approved, true)
	others := []approval.Request{request("bob"), request(""), request("ann")}
	others[2].Caller.Key = "another issuer"
	for i, r := range others {
		if _, _, err := b.Open(t.Context(), string(rune('a'+i)), r); err != nil {
			t.Fatal(err)
		}
	}
	list, err := b.OfCaller(t.Context(), waiting.Caller)
	var ids []string
	for _, a := range list {
		ids = append(ids, a.ID)
	}
	if err != nil || len(ids) != 2 || !slices.Contains(ids, waiting.ID) || !slices.Contains(ids, approved.ID) {
		t.Errorf("ann has %q, %v, not what waits (%s) and what the next call may use (%s)", ids, err, waiting.ID, approved.ID)
	}
	if list, err := b.OfCaller(t.Context(), approval.Requester{}); err != nil || len(list) > 0 {
		t.Errorf("an unidentified caller has %d, %v", len(list), err)
	}
}
