package state_test

import (
	"context"
	"net/url"
	"strings"
	"sync"
	"testing"

	"hatchel/internal/poolertest"
	"hatchel/runtime/durable/postgres/postgrestest"
	"hatchel/runtime/durable/state"
)

// startPooler starts a pooler that gives each transaction another connection to the schema of an address. It
// returns the address of the pooler.
func startPooler(t *testing.T, address string, settings ...string) string {
	t.Helper()
	return poolertest.Start(t, address, append(settings, "pool_mode = transaction")...)
}

func openThrough(t testing.TB, pooled, listen string) *state.Postgres {
	t.Helper()
	return must[*state.Postgres](t)(state.OpenPostgresThrough(context.WithoutCancel(t.Context()), pooled, listen))
}

func TestPostgresStoreThroughAPooler(t *testing.T) {
	storeSuite(t, func(t *testing.T) func() state.Store {
		address, _ := postgrestest.Schema(t)
		pooled := startPooler(t, address)
		return func() state.Store { return openThrough(t, pooled, address) }
	})
}

func TestMessagesTravelBesideAPooler(t *testing.T) {
	address, db := postgrestest.Schema(t)
	pooled := startPooler(t, address)
	check(t, state.CheckPostgres(t.Context(), pooled, address))
	a, b := startProcess(t, openThrough(t, pooled, address)), startProcess(t, openThrough(t, pooled, address))
	large := strings.Repeat("large", 10_000)
	for range 10 {
		a.send(t, b, "to b")
		b.send(t, nil, "to all")
		a.send(t, b, large)
		b.expect(t, a.Name()+" to b", a.Name()+" "+large)
		a.expect(t, b.Name()+" to all")
	}
	killListeners(t, db)
	b.expect(t, "")
	a.expect(t, "")
	b.stop()
	eventually(t, func() bool { return a.Send(t.Context(), b.Name(), nil) == state.ErrNoReceiver })
}

func TestPoolerInTheWrongPlaceIsReported(t *testing.T) {
	address, _ := postgrestest.Schema(t)
	strict := startPooler(t, address)
	lax := startPooler(t, address, "ignore_startup_parameters = statement_timeout, lock_timeout, synchronous_commit, "+
		"idle_in_transaction_session_timeout, tcp_keepalives_idle, tcp_keepalives_interval, tcp_keepalives_count")
	for what, pooled := range map[string]string{"a pooler": strict, "a pooler that ignores settings": lax} {
		reported := false
		for range 5 { // a statement can be prepared once on each connection of the pooler
			s, err := state.OpenPostgres(t.Context(), pooled)
			if err == nil {
				_, err = s.Record(t.Context(), "k", "x")
				s.Close()
			}
			reported = reported || err != nil && strings.Contains(err.Error(), "add one to the state block as listen")
		}
		if !reported {
			t.Errorf("that the only address is that of %s is not reported", what)
		}
	}
	other := must[*url.URL](t)(url.Parse(address))
	other.Path = "/postgres"
	var checks sync.WaitGroup
	defer checks.Wait()
	for what, listen := range map[string]string{"the pooler": lax, "another database": other.String()} {
		checks.Go(func() {
			err := state.CheckPostgres(context.WithoutCancel(t.Context()), strict, listen)
			if err == nil || !strings.Contains(err.Error(), "must name the same database") {
				t.Errorf("listen names %s: %v", what, err)
			}
		})
	}
}
