package approval_test

import (
	"testing"

	"hatchel/runtime/durable/state"
	"hatchel/runtime/stage/approval"
)

// giveBack returns a used approval for the purpose "x", and reports whether that was possible.
func giveBack(t testing.TB, b *approval.Store, a *approval.Approval) bool {
	t.Helper()
	returned, err := b.Return(t.Context(), "x", a)
	if err != nil {
		t.Fatal(err)
	}
	return returned
}

func TestReturnedApprovalIsUsedOnce(t *testing.T) {
	onEveryStore(t, func(t *testing.T, open func() state.Store) {
		books := bothBooks(open)
		a := openNew(t, books[0], "x")
		decide(t, books[1], a, true)
		if !use(t, books[0], a) || !giveBack(t, books[0], a) {
			t.Fatal("it was not used and returned")
		}
		again, isNew, err := books[1].Open(t.Context(), "x", request("ann"))
		if err != nil || isNew || again.ID != a.ID || again.Status != approval.Approved {
			t.Fatalf("Open = %+v, %t, %v", again, isNew, err)
		}
		if used := concurrently(func(i int) bool { return use(t, books[i%2], again) }); used != 1 {
			t.Errorf("it was used %d times", used)
		}
	})
}

func TestReturnFailsAfterANewRequest(t *testing.T) {
	onEveryStore(t, func(t *testing.T, open func() state.Store) {
		b := approval.NewStore(open())
		a := openNew(t, b, "x")
		decide(t, b, a, true)
		use(t, b, a)
		openNew(t, b, "x")
		if giveBack(t, b, a) {
			t.Error("it was returned")
		}
		if use(t, b, a) {
			t.Error("it was used again")
		}
	})
}
