package couriertest_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"hatchel/runtime/state"
	"hatchel/runtime/state/couriertest"
)

// hear returns what a courier hears, from now until the test ends.
func hear(t *testing.T, c *couriertest.Courier) (heard func() []string) {
	var all []string
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go c.Hear(ctx, func(from string, news []byte) { all = append(all, from+" "+string(news)) }, func(error) {})
	return func() []string {
		synctest.Wait()
		return all
	}
}

func TestCouriersHearEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var x couriertest.Exchange
		a, b := x.New(), x.New()
		heardA, heardB := hear(t, a), hear(t, b)
		synctest.Wait()
		for _, to := range []string{b.Name(), ""} {
			if err := a.Send(t.Context(), to, []byte("news")); err != nil {
				t.Fatal(err)
			}
		}
		x.Interrupt()
		if want := []string{" ", a.Name() + " news", a.Name() + " news", " "}; !slices.Equal(heardB(), want) {
			t.Errorf("b has heard %q", heardB())
		}
		if want := []string{" ", " "}; !slices.Equal(heardA(), want) {
			t.Errorf("a has heard %q", heardA())
		}
		if err := a.Send(t.Context(), "nobody", nil); err != state.ErrGone {
			t.Errorf("got %v", err)
		}
		x.SetUnavailable(true)
		if err := a.Send(t.Context(), b.Name(), nil); !errors.Is(err, state.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
	})
}
