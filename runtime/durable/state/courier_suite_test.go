package state_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"hatchel/runtime/durable/postgres/postgrestest"
	"hatchel/runtime/durable/state"
)

// process is one of several processes that share a database, with what it has received.
type process struct {
	*state.Postgres
	received chan string // the messages, after the name of their sender; empty when messages may have been missed
	forged   chan struct{}
	stop     func()
	respond  func(from string, message []byte) // runs before the messages are acknowledged
}

// processes returns n processes that receive each other.
func processes(t testing.TB, n int) ([]*process, *pgx.Conn) {
	t.Helper()
	address, db := postgrestest.Schema(t)
	var all []*process
	for range n {
		all = append(all, startProcess(t, openDatabase(t, address)))
	}
	return all, db
}

func startProcess(t testing.TB, store *state.Postgres) *process {
	t.Helper()
	p := &process{Postgres: store}
	t.Cleanup(func() { p.stop(); p.Close() })
	p.receive(t)
	return p
}

func (p *process) receive(t testing.TB) {
	t.Helper()
	p.received, p.forged = make(chan string, 10_000), make(chan struct{}, 10)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var receiving sync.WaitGroup
	receiving.Go(func() {
		p.Receive(ctx, func(from string, message []byte) {
			if p.respond != nil {
				p.respond(from, message)
			}
			p.received <- strings.TrimSpace(from + " " + string(message))
		}, func(err error) {
			if err == state.ErrForged {
				p.forged <- struct{}{}
			}
		})
	})
	p.stop = func() { cancel(); receiving.Wait() }
	p.expect(t, "")
}

// expect waits for messages.
func (p *process) expect(t testing.TB, want ...string) {
	t.Helper()
	for _, want := range want {
		select {
		case got := <-p.received:
			if got != want {
				t.Fatalf("%.100q is received, want %.100q", got, want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%.100q is not received", want)
		}
	}
}

func (p *process) send(t testing.TB, to *process, message string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
	defer cancel()
	name := ""
	if to != nil {
		name = to.Name()
	}
	check(t, p.Send(ctx, name, []byte(message)))
}

func TestMessagesReachTheirReceiverOnce(t *testing.T) {
	all, _ := processes(t, 3)
	a, b, c := all[0], all[1], all[2]
	large := strings.Repeat("large", 10_000)
	for _, message := range []string{"", "to b", strings.Repeat("x", 5545), strings.Repeat("x", 5546), strings.Repeat("x", 5600), large} {
		a.send(t, b, message)
		b.expect(t, strings.TrimSpace(a.Name()+" "+message))
	}
	a.send(t, nil, "to all")
	b.send(t, b, "to itself")
	b.expect(t, a.Name()+" to all", b.Name()+" to itself")
	c.send(t, a, "to a")
	a.expect(t, c.Name()+" to a")
	c.expect(t, a.Name()+" to all")
	for _, p := range all {
		if len(p.received) > 0 {
			t.Errorf("%q is received, too", <-p.received)
		}
	}
}

func TestMessagesToAllAreBounded(t *testing.T) {
	all, _ := processes(t, 2)
	largest := strings.Repeat("x", state.MaxBroadcast)
	all[0].send(t, nil, largest)
	all[1].expect(t, all[0].Name()+" "+largest)
	if err := all[0].Send(t.Context(), "", []byte(largest+"x")); err == nil {
		t.Error("larger messages are sent")
	}
}

func TestMessagesAreReceivedBeforeSendReturns(t *testing.T) {
	all, _ := processes(t, 2)
	began, finish := make(chan struct{}), make(chan struct{})
	all[1].respond = func(string, []byte) { close(began); <-finish }
	sent := make(chan error)
	go func() { sent <- all[0].Send(t.Context(), all[1].Name(), []byte("message")) }()
	<-began
	select {
	case err := <-sent:
		t.Errorf("Send returned %v", err)
	default:
	}
	close(finish)
	check(t, <-sent)
}

func TestManySendersShareTransactions(t *testing.T) {
	all, _ := processes(t, 3)
	const senders, each = 16, 20
	var sending sync.WaitGroup
	for i := range senders {
		sending.Go(func() {
			for j := range each {
				from, to := all[i%3], all[(i+1)%3]
				from.send(t, to, fmt.Sprintf("%d %d", i, j))
			}
		})
	}
	sending.Wait()
	received := map[string]bool{}
	for _, p := range all {
		for range len(p.received) {
			received[<-p.received] = true
		}
	}
	if len(received) != senders*each {
		t.Errorf("%d messages are received, want %d", len(received), senders*each)
	}
}

func TestProcessesAreCounted(t *testing.T) {
	all, _ := processes(t, 3)
	if n := all[2].Processes(); n != 3 {
		t.Errorf("the third process counts %d", n)
	}
	all[0].stop()
	all[2].stop()
	all[2].receive(t)
	if n := all[2].Processes(); n != 2 {
		t.Errorf("after one has stopped %d are counted", n)
	}
}

func TestProcessWithoutListenerIsGone(t *testing.T) {
	all, _ := processes(t, 2)
	all[1].stop()
	if err := all[0].Send(t.Context(), all[1].Name(), []byte("message")); err != state.ErrNoReceiver {
		t.Errorf("got %v", err)
	}
	for _, name := range []string{"nobody", strings.Repeat("A", 25), strings.Repeat("a", 26), strings.Repeat("A", 1000), `"; SELECT 1; --           `} {
		if err := all[0].Send(t.Context(), name, nil); err != state.ErrNoReceiver {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestLostListenerHearsAgain(t *testing.T) {
	all, db := processes(t, 2)
	for round := range 3 {
		killListeners(t, db)
		for _, p := range all {
			p.expect(t, "")
		}
		message := fmt.Sprint(round)
		all[0].send(t, all[1], message)
		all[1].expect(t, all[0].Name()+" "+message)
	}
}

func TestMessagesDuringAnInterruptionBecomeAStoredMessage(t *testing.T) {
	all, db := processes(t, 2)
	a, b := all[0], all[1]
	hold := make(chan struct{})
	b.respond = func(from string, _ []byte) {
		if from == "" {
			<-hold
		}
	}
	killListeners(t, db)
	a.expect(t, "")
	a.send(t, b, "meanwhile") // returns when the stored message is written
	if n := countStoredMessages(t, a); n != 1 {
		t.Errorf("there are %d stored messages", n)
	}
	close(hold)
	b.expect(t, "", a.Name()+" meanwhile")
	a.send(t, b, "afterwards")
	b.expect(t, a.Name()+" afterwards")
	left(t, db, map[string]int{ownRecords: 0})
}

// connectOutsider connects as a role that may only connect to the database.
func connectOutsider(t *testing.T) *pgx.Conn {
	t.Helper()
	address := os.Getenv("HATCHEL_TEST_POSTGRES_SUPERUSER")
	if address == "" {
		t.Skip("HATCHEL_TEST_POSTGRES_SUPERUSER is not set")
	}
	ctx := context.WithoutCancel(t.Context())
	super, err := pgx.Connect(ctx, address)
	check(t, err)
	role := "outsider_" + strings.ToLower(rand.Text())
	execute(t, super, "CREATE ROLE "+role+" LOGIN")
	config := super.Config()
	config.User, config.OnNotification = role, nil
	outsider, err := pgx.ConnectConfig(ctx, config)
	check(t, err)
	t.Cleanup(func() {
		outsider.Close(ctx)
		execute(t, super, "DROP ROLE "+role)
		super.Close(ctx)
	})
	return outsider
}

func schemaOf(t *testing.T, db *pgx.Conn) (schema string) {
	t.Helper()
	check(t, db.QueryRow(t.Context(), "SELECT current_schema()").Scan(&schema))
	return schema
}

func TestMessagesOfARoleThatMayOnlyConnectAreIgnored(t *testing.T) {
	all, db := processes(t, 2)
	a, b := all[0], all[1]
	foreign, _ := processes(t, 1)
	outsider := connectOutsider(t)
	var tables string
	check(t, db.QueryRow(t.Context(), "SELECT 'hatchel_records'::regclass::oid::text").Scan(&tables))
	channels := []string{"hatchel_" + tables, "hatchel_" + tables + "_" + b.Name()}
	for _, channel := range channels {
		execute(t, outsider, "LISTEN "+pgx.Identifier{channel}.Sanitize())
	}
	a.send(t, nil, "to all")
	a.send(t, b, "to b")
	b.expect(t, a.Name()+" to all", a.Name()+" to b")
	if _, err := outsider.Exec(t.Context(), "SELECT FROM "+pgx.Identifier{schemaOf(t, db), "hatchel_records"}.Sanitize()); err == nil {
		t.Error("records can be read")
	}
	forged := []string{"", "x", strings.Repeat("A", 26), strings.Repeat("A", 100), foreign[0].Name() + strings.Repeat("A", 100)}
	for range channels {
		seen, err := outsider.WaitForNotification(t.Context())
		check(t, err)
		if strings.Contains(seen.Payload, "to all") || strings.Contains(seen.Payload, "to b") {
			t.Error("the message can be read")
		}
		changed := []byte(seen.Payload)
		changed[len(changed)/2]++
		forged = append(forged, seen.Payload, string(changed), seen.Payload[:len(seen.Payload)-1], seen.Payload+"A")
	}
	for _, payload := range forged {
		for _, channel := range channels {
			_, err := outsider.Exec(t.Context(), "SELECT pg_notify($1, $2)", channel, payload)
			check(t, err)
		}
	}
	a.send(t, b, "afterwards")
	b.expect(t, a.Name()+" afterwards")
	if len(b.forged) != 1 {
		t.Errorf("forged messages were reported %d times", len(b.forged))
	}
}

func TestMessagesAndTheirStoredMessageAreReceivedOnce(t *testing.T) {
	all, db := processes(t, 2)
	a, b := all[0], all[1]
	b.respond = func(_ string, message []byte) {
		if string(message) == "slow" {
			eventually(t, func() bool { return countStoredMessages(t, a) == 1 })
		}
	}
	a.send(t, b, "slow")
	a.send(t, b, "afterwards")
	b.expect(t, a.Name()+" slow", a.Name()+" afterwards")
	left(t, db, map[string]int{ownRecords: 0})
}

func countStoredMessages(t *testing.T, s state.Store) int {
	t.Helper()
	return len(must[[]*state.Record](t)(s.List(t.Context(), state.Query{Kind: "letter", Limit: 10})))
}

func TestCloseSendsWhatIsLeft(t *testing.T) {
	all, _ := processes(t, 2)
	announced, stop := watch(t, all[1])
	defer stop()
	all[1].expect(t, "") // Watch connects again
	for i := range 100 {
		add(t, all[0], recordOf(fmt.Sprint(i), time.Now().Add(time.Hour)))
	}
	all[0].stop()
	check(t, all[0].Close())
	for i := range 100 {
		expectAnnounced(t, announced, fmt.Sprint("k ", i))
	}
}

// BenchmarkLostListener measures how long a process does not receive after its listener was killed, and how long it
// takes until a process that was stopped is gone.
func BenchmarkLostListener(b *testing.B) {
	all, db := processes(b, 2)
	b.Run("receives again", func(b *testing.B) {
		for b.Loop() {
			killListeners(b, db)
			all[0].expect(b, "")
			all[1].expect(b, "")
		}
	})
	b.Run("is gone", func(b *testing.B) {
		all[1].stop()
		eventually(b, func() bool { return all[0].Send(b.Context(), all[1].Name(), nil) == state.ErrNoReceiver })
		for b.Loop() {
			if err := all[0].Send(b.Context(), all[1].Name(), nil); err != state.ErrNoReceiver {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkMessages(b *testing.B) {
	all, _ := processes(b, 2)
	message := make([]byte, 600)
	for _, senders := range []int{1, 16, 64, 256} {
		b.Run(fmt.Sprint(senders), func(b *testing.B) {
			var sending sync.WaitGroup
			turns := make(chan struct{})
			for range senders {
				sending.Go(func() {
					for range turns {
						if err := all[0].Send(b.Context(), all[1].Name(), message); err != nil {
							b.Error(err)
						}
						<-all[1].received
					}
				})
			}
			for b.Loop() {
				turns <- struct{}{}
			}
			close(turns)
			sending.Wait()
		})
	}
}
