package files

import (
	"bytes"
	"context"
	"crypto/rand"
	"net/url"
	"testing"

	"hatchel/runtime/durable/postgres/postgrestest"
	"hatchel/runtime/durable/state"
)

// replicas returns the files of two processes that share a database.
func replicas(t *testing.T) (a, b *Store) {
	t.Helper()
	address, _ := postgrestest.Schema(t)
	ctx := context.WithoutCancel(t.Context())
	open := func() *Store {
		store, err := state.OpenPostgres(ctx, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		return newShelf(t, store)
	}
	return open(), open()
}

func TestReplicasServeTheSameFiles(t *testing.T) {
	a, b := replicas(t)
	content := make([]byte, 2*chunkSize+7)
	rand.Read(content)
	f, err := a.Upload(t.Context(), Upload{Owner: "anna", Name: "a.bin", Length: int64(len(content)), Rules: loose}, bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	there, err := b.FindOwned(t.Context(), "anna", f.ID)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(contentOf(t, b, there), content) {
		t.Error("the other replica reads other bytes")
	}
	link, err := a.SignedURL(t.Context(), "", f)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := findAt(t, b, link); err != nil {
		t.Errorf("an address that one has signed is not good at the other: %v", err)
	}
	id, address, _, err := a.Ticket(t.Context(), Upload{Owner: "anna", Rules: loose})
	if err != nil {
		t.Fatal(err)
	}
	u, _ := url.Parse(address)
	up, err := b.ConsumeTicket(t.Context(), id, u.Query())
	if err != nil {
		t.Fatal(err)
	}
	upload(t, b, up, "through the other")
	if _, err := a.ConsumeTicket(t.Context(), id, u.Query()); err != ErrNotFound {
		t.Errorf("the ticket is good at both: %v", err)
	}
	if removed, err := b.Remove(t.Context(), there); !removed || err != nil {
		t.Fatal(err)
	}
	if _, err := a.FindOwned(t.Context(), "anna", f.ID); err != ErrNotFound {
		t.Errorf("after the other has removed it: %v", err)
	}
}

func TestUploadOfKilledReplicaIsRemoved(t *testing.T) {
	a, b := replicas(t)
	store, err := a.process.Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cleanupSuite(t, a, b, store)
}
