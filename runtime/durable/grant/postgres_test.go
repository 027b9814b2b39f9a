package grant_test

import (
	"context"
	"testing"
	"time"

	"hatchel/runtime/durable/grant"
	"hatchel/runtime/durable/postgres/postgrestest"
	"hatchel/runtime/durable/state"
)

func TestPostgres(t *testing.T) {
	suite(t, func(t *testing.T) func() state.Store {
		address, _ := postgrestest.Schema(t)
		return func() state.Store { return openDatabase(t, address) }
	})
}

func openDatabase(t *testing.T, address string) state.Store {
	t.Helper()
	s, err := state.OpenPostgres(context.WithoutCancel(t.Context()), address)
	check(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// TestARevocationThatNobodyAnnouncesIsFound has the process die that revokes a sign-in, before it announces that.
func TestARevocationThatNobodyAnnouncesIsFound(t *testing.T) {
	address, _ := postgrestest.Schema(t)
	revoked := make(chan struct{}, 1)
	s := process(t, openDatabase(t, address), grant.Options{Revoked: func() { revoked <- struct{}{} }})
	g, _ := signIn(t, s, ada())
	now := time.Now()
	existing, err := openDatabase(t, address).Add(t.Context(), &state.Record{
		Kind: "oauth_revoked", Name: g.ID, Due: now, Expires: now.Add(time.Hour), NoNotify: true,
	})
	if existing != nil || err != nil {
		t.Fatal(existing, err)
	}
	select {
	case <-revoked:
	case <-time.After(time.Minute):
		t.Fatal("it is not found")
	}
	if took := time.Since(now); !s.Revoked(g.ID) || took > 10*time.Second {
		t.Errorf("revoked %t, after %s", s.Revoked(g.ID), took)
	}
}
