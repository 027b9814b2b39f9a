package approval_test

import (
	"testing"

	"hatchel/runtime/approval"
	"hatchel/runtime/state"
)

func TestReturnedApprovalIsUsedOnce(t *testing.T) {
	onEveryStore(t, func(t *testing.T, open func() state.Store) {
		books := []*approval.Book{approval.NewBook(open()), approval.NewBook(open())}
		a := openNew(t, books[0], "x")
		if _, err := books[1].Decide(t.Context(), a.ID, true, by("op")); err != nil {
			t.Fatal(err)
		}
		if used, err := books[0].Use(t.Context(), a); !used || err != nil {
			t.Fatal(used, err)
		}
		if back, err := books[0].Return(t.Context(), "x", a); !back || err != nil {
			t.Fatal(back, err)
		}
		b, isNew, err := books[1].Open(t.Context(), "x", request("ann"))
		if err != nil || isNew || b.ID != a.ID || b.Status != approval.Approved {
			t.Fatalf("%+v %v %v", b, isNew, err)
		}
		if used := concurrently(func(i int) bool { used, _ := books[i%2].Use(t.Context(), b); return used }); used != 1 {
			t.Errorf("%d have used it", used)
		}
	})
}

func TestReturnFailsAfterANewRequest(t *testing.T) {
	onEveryStore(t, func(t *testing.T, open func() state.Store) {
		book := approval.NewBook(open())
		a := openNew(t, book, "x")
		if _, err := book.Decide(t.Context(), a.ID, true, by("op")); err != nil {
			t.Fatal(err)
		}
		if used, err := book.Use(t.Context(), a); !used || err != nil {
			t.Fatal(used, err)
		}
		openNew(t, book, "x")
		if back, err := book.Return(t.Context(), "x", a); back || err != nil {
			t.Error(back, err)
		}
		if used, err := book.Use(t.Context(), a); used || err != nil {
			t.Error(used, err)
		}
	})
}
