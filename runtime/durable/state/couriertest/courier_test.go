package couriertest_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"hatchel/runtime/durable/state"
	"hatchel/runtime/durable/state/couriertest"
)

// receive returns what a courier receives, from now until the test ends.
func receive(t *testing.T, c *couriertest.Courier) (received func() []string) {
	var all []string
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go c.Receive(ctx, func(from string, message []byte) { all = append(all, from+" "+string(message)) }, func(error) {})
	return func() []string {
		synctest.Wait()
		return all
	}
}

func TestCouriersHearEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var x couriertest.Exchange
		a, b := x.New(), x.New()
		receivedA, receivedB := receive(t, a), receive(t, b)
		synctest.Wait()
		for _, to := range []string{b.Name(), ""} {
			if err := a.Send(t.Context(), to, []byte("message")); err != nil {
				t.Fatal(err)
			}
		}
		x.Interrupt()
		if want := []string{" ", a.Name() + " message", a.Name() + " message", " "}; !slices.Equal(receivedB(), want) {
			t.Errorf("b has received %q", receivedB())
		}
		if want := []string{" ", " "}; !slices.Equal(receivedA(), want) {
			t.Errorf("a has received %q", receivedA())
		}
		if err := a.Send(t.Context(), "nobody", nil); err != state.ErrNoReceiver {
			t.Errorf("got %v", err)
		}
		x.SetUnavailable(true)
		if err := a.Send(t.Context(), b.Name(), nil); !errors.Is(err, state.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
	})
}
