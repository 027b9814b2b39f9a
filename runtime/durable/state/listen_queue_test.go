package state_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"hatchel/runtime/durable/postgres/postgrestest"
	"hatchel/runtime/durable/state"
)

// watchBlocked watches the store with a function that blocks at the first change until it is released. It returns
// what is watched afterwards.
func watchBlocked(t *testing.T, store state.Store) (blocked chan struct{}, release func(), changes chan string) {
	t.Helper()
	changes, blocked = make(chan string, 10_000), make(chan struct{})
	released, begun := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var watching sync.WaitGroup
	var begin sync.Once
	first := true
	watching.Go(func() {
		store.Watch(ctx, func(kind, name string) {
			switch {
			case kind == "":
				begin.Do(func() { close(begun) })
			case first:
				close(blocked)
				<-released
			}
			first = first && kind == ""
			changes <- kind + name
		}, func(error) {})
	})
	var once sync.Once
	release = func() { once.Do(func() { close(released) }) }
	t.Cleanup(func() { release(); cancel(); watching.Wait() })
	<-begun
	return blocked, release, changes
}

func addRecord(t *testing.T, store state.Store, name string) {
	t.Helper()
	r := &state.Record{Kind: "k", Name: name, Expires: time.Now().Add(time.Hour), Body: []byte("x")}
	must[*state.Record](t)(store.Add(t.Context(), r))
}

// A subscriber that is slow, such as one that loads from the database, holds up neither messages nor an acknowledgement, and
// looks at everything when it has missed changes.
func TestASlowWatcherHoldsNobodyUp(t *testing.T) {
	address, _ := postgrestest.Schema(t)
	a, b := startProcess(t, openDatabase(t, address)), openDatabase(t, address)
	blocked, release, changes := watchBlocked(t, b)
	receiver := startProcess(t, b)
	addRecord(t, a, "first")
	<-blocked
	a.send(t, receiver, "message")
	receiver.expect(t, a.Name()+" message")
	stored := must[[]*state.Record](t)(a.List(t.Context(), state.Query{Kind: "letter", Limit: 10}))
	if len(stored) > 0 {
		t.Error("the messages were not acknowledged while a watcher was slow")
	}
	const more = 1300
	for i := range more {
		addRecord(t, a, fmt.Sprint("more", i))
	}
	a.send(t, receiver, "after the changes") // they have arrived before it
	receiver.expect(t, a.Name()+" after the changes")
	release()
	for n := 0; ; n++ {
		select {
		case change := <-changes:
			if change == "" && n > 900 {
				if n > 1100 {
					t.Errorf("%d changes waited for a slow watcher", n)
				}
				return
			}
		case <-time.After(time.Minute):
			t.Fatalf("a watcher that has missed changes after %d is not told to look at everything", n)
		}
	}
}

// Messages for which there is no room are neither lost nor received twice.
func TestASlowProcessReceivesAllMessagesOnce(t *testing.T) {
	all, _ := processes(t, 2)
	a, b := all[0], all[1]
	released := make(chan struct{})
	b.respond = func(string, []byte) { <-released }
	const count = 1200
	var sending sync.WaitGroup
	for i := range count {
		sending.Go(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
			defer cancel()
			if err := a.Send(ctx, b.Name(), fmt.Append(nil, i)); err != nil {
				t.Error(err)
			}
		})
	}
	sending.Wait() // as stored messages
	close(released)
	received := map[string]int{}
	for len(received) < count {
		select {
		case message := <-b.received:
			if message != "" {
				received[message]++
			}
		case <-time.After(time.Minute):
			t.Fatalf("%d of %d messages are received", len(received), count)
		}
	}
	b.stop()
	for len(b.received) > 0 {
		if message := <-b.received; message != "" {
			received[message]++
		}
	}
	for message, n := range received {
		if n != 1 {
			t.Errorf("%q is received %d times", message, n)
		}
	}
}
