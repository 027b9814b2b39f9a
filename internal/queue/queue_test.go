package queue_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"hatchel/internal/queue"
)

func TestItemsAreTakenInBatchesUntilTheQueueIsClosedAndEmpty(t *testing.T) {
	q := queue.New[int](5)
	for i := range 7 {
		if added := q.Add(i); added != (i < 5) {
			t.Errorf("item %d is added: %t", i, added)
		}
	}
	q.Close()
	if q.Add(7) {
		t.Error("a closed queue takes items")
	}
	var sizes []int
	var all []int
	var missed []bool
	for batch, m := range q.Batches(t.Context(), 2) {
		sizes, all, missed = append(sizes, len(batch)), append(all, batch...), append(missed, m)
	}
	if !slices.Equal(sizes, []int{2, 2, 1}) || !slices.Equal(all, []int{0, 1, 2, 3, 4}) ||
		!slices.Equal(missed, []bool{false, false, true}) {
		t.Errorf("batches of %v: %v, missed %v", sizes, all, missed)
	}
}

func TestBatchesWaitForItemsAndEndWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		q := queue.New[string](1)
		var got []string
		var taking sync.WaitGroup
		taking.Go(func() {
			for batch := range q.Batches(ctx, 10) {
				got = append(got, batch...)
			}
		})
		for _, item := range []string{"a", "b", "c"} {
			synctest.Wait() // the queue is empty again
			if !q.Add(item) {
				t.Errorf("there was no room for %s", item)
			}
		}
		synctest.Wait()
		cancel()
		taking.Wait()
		if !slices.Equal(got, []string{"a", "b", "c"}) {
			t.Errorf("got %v", got)
		}
	})
}

// TestMissedItemsAreReportedOnceAfterTheOthers lets several goroutines add more than there is room for.
func TestMissedItemsAreReportedOnceAfterTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue.New[int](100)
		var adding sync.WaitGroup
		for range 10 {
			adding.Go(func() {
				for i := range 100 {
					q.Add(i)
				}
			})
		}
		adding.Wait()
		taken, reports := 0, 0
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			synctest.Wait()
			q.Close()
		}()
		for batch, missed := range q.Batches(ctx, 30) {
			if taken += len(batch); missed {
				reports++
			}
		}
		if taken != 100 || reports != 1 {
			t.Errorf("%d items were taken and %d reports made, want 100 and 1", taken, reports)
		}
	})
}
