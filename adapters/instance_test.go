package adapters_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
)

// twoInstances is the config of a connection with two instances.
type twoInstances struct{}

func (twoInstances) InstanceKeys() []string { return []string{"eu", "us"} }

// onInstance is an action that uses an instance.
type onInstance struct {
	actionFunc
	key string
	err error
}

func (a onInstance) ChooseInstance(*adapters.Call) (string, error) { return a.key, a.err }

func TestAnInstanceThatIsDownOrSlowFailsItsOwnCallersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := hcl.ConnectionLimits{Concurrency: 1,
			Breaker: &hcl.Breaker{Failures: 1, Window: time.Minute, Cooldown: time.Minute}}
		conn := &hcl.Connection{Kind: "postgres", Name: "desk", Config: twoInstances{}, Limits: limits}
		var counted, changed []string
		turns := func(name string) adapters.Turns { counted = append(counted, name); return nil }
		guards := adapters.NewConnectionGuards(conn, turns, func(name, state string) {
			changed = append(changed, name+" "+state)
		})
		call := func(ctx context.Context, key string, of actionFunc) error {
			_, err := guards.Do(ctx, onInstance{of, key, nil}, &adapters.Call{})
			return err
		}
		fine := actionFunc(func(context.Context) error { return nil })
		if err := call(t.Context(), "eu", func(context.Context) error { return down }); err != down {
			t.Errorf("the first call returned %v", err)
		}
		err := call(t.Context(), "eu", fine)
		if !isSuspended(err) || !strings.Contains(err.Error(), `"desk[eu]" has failed`) {
			t.Errorf("a call of the instance that is down returned %v", err)
		}
		if err := call(t.Context(), "us", fine); err != nil {
			t.Errorf("a call of the other instance returned %v", err)
		}
		if !slices.Equal(changed, []string{"desk[eu] open"}) || !slices.Equal(counted, []string{"desk[eu]", "desk[us]"}) {
			t.Errorf("changes: %q, names of rates: %q", changed, counted)
		}
		time.Sleep(2 * time.Minute)
		release := make(chan struct{})
		go call(t.Context(), "eu", func(context.Context) error { <-release; return nil })
		synctest.Wait()
		if err := call(t.Context(), "us", fine); err != nil {
			t.Errorf("while a call holds the only slot of one instance, a call of the other returned %v", err)
		}
		close(release)
		synctest.Wait()
		unknown := errors.New("the caller's region is unknown")
		if _, err := guards.Do(t.Context(), onInstance{fine, "", unknown}, &adapters.Call{}); err != unknown {
			t.Errorf("a call without an instance returned %v", err)
		}
	})
}
