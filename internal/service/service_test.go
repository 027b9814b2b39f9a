package service_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/internal/service"
)

func TestServicesStopInTheReverseOrderAndTheirErrorsAreJoined(t *testing.T) {
	var order []string
	failed := errors.New("disk full")
	record := func(name string, err error) service.Service {
		return service.Service{
			Name:  name,
			Start: func(context.Context) error { order = append(order, "+"+name); return nil },
			Stop:  func() error { order = append(order, "-"+name); return err },
		}
	}
	l := service.NewList(t.Context())
	if err := l.Start(record("store", failed), record("queue", nil), record("endpoint", errors.New("busy"))); err != nil {
		t.Fatal(err)
	}
	err := l.Stop()
	if want := []string{"+store", "+queue", "+endpoint", "-endpoint", "-queue", "-store"}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
	if !errors.Is(err, failed) || err.Error() != "endpoint: busy\nstore: disk full" {
		t.Errorf("error %q", err)
	}
	if err := l.Stop(); err != nil || len(order) != 6 {
		t.Errorf("stopped twice: %v, error %v", order, err)
	}
}

func TestAServiceThatDoesNotStartIsNotStopped(t *testing.T) {
	stopped := 0
	stop := func() error { stopped++; return nil }
	failed := errors.New("address in use")
	l := service.NewList(t.Context())
	err := l.Start(service.Service{Name: "a", Stop: stop},
		service.Service{Name: "b", Start: func(context.Context) error { return failed }, Stop: stop},
		service.Service{Name: "c", Stop: stop})
	l.Stop()
	if err != failed || stopped != 1 {
		t.Errorf("error %v, %d services stopped", err, stopped)
	}
	if err := l.Start(service.Service{Name: "d", Stop: stop}); err != service.ErrStopped {
		t.Errorf("started after the stop: error %v", err)
	}
}

func TestAServiceThatDoesNotStopDelaysTheOthersForItsDeadlineOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, never := time.Now(), make(chan struct{})
		stopped := false
		l := service.NewList(t.Context())
		l.Start(service.Ending("store", func() { stopped = true }), service.Ending("stuck", func() { <-never }))
		err := l.Stop()
		if took := time.Since(began); took != service.StopTimeout || !stopped {
			t.Errorf("took %s, store stopped %t", took, stopped)
		}
		if err == nil || !strings.Contains(err.Error(), "stuck: not stopped within 1m0s") {
			t.Errorf("error %v", err)
		}
		close(never)
	})
}

func TestTheContextOfAGroupHasTheValuesOfItsOwnerAndNotItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
		ended, g := false, service.NewGroup(ctx)
		g.Go(func(ctx context.Context) {
			if ctx.Value(key{}) != "value" {
				t.Error("the values of the owner are missing")
			}
			<-ctx.Done()
			ended = true
		})
		cancel()
		synctest.Wait()
		if ended {
			t.Error("the end of the owner's context ends the goroutines")
		}
		if g.Close(); !ended {
			t.Error("Close does not await the goroutines")
		}
	})
}

func TestAGroupDrains(t *testing.T) {
	for _, c := range []struct {
		needs, while, took time.Duration
		inTime             bool
	}{
		{time.Second, 3 * time.Second, time.Second, true},
		{time.Hour, 3 * time.Second, 3 * time.Second, false},
		{time.Hour, 0, 0, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			g, began := service.NewGroup(t.Context()), time.Now()
			g.Go(func(ctx context.Context) {
				select {
				case <-time.After(c.needs):
				case <-ctx.Done():
				}
			})
			if inTime := g.Drain(c.while); inTime != c.inTime || time.Since(began) != c.took {
				t.Errorf("needs %s: drained in %s, in time %t", c.needs, time.Since(began), inTime)
			}
			if g.Go(func(context.Context) { t.Error("started after the end") }) || g.Context().Err() == nil {
				t.Error("the group goes on")
			}
		})
	}
}
