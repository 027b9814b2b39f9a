package state

import (
	"context"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"hatchel/internal/ctxtime"
	"hatchel/internal/operator"
	"hatchel/internal/queue"
	"hatchel/runtime/durable/postgres"
)

const (
	listenPing = 15 * time.Second // how often the connection is checked, and the processes are counted
	trustAgain = 3 * time.Second  // after a connection was lost

	notifyTimeout = 5 * time.Second // of a notification of this process to itself
)

// keepAlive makes the database notice within 15 seconds that the machine of a listener is gone, so that its lock does
// not outlive it.
var keepAlive = map[string]string{
	"tcp_keepalives_idle": "5", "tcp_keepalives_interval": "3", "tcp_keepalives_count": "3",
}

// maxQueued is how many calls of its functions wait for a subscriber that is slow.
const maxQueued = 1000

// listener is the connection on which Watch and Receive listen. There is one while one of them runs. It calls no
// function of a subscriber: each subscriber calls its own, so that a slow one delays neither the others nor
// acknowledgements.
type listener struct {
	mu          sync.Mutex
	subscribers []*subscriber      // guarded by mu
	reconnect   context.CancelFunc // ends the connection; nil while there is no subscriber; guarded by mu
	attempt     error              // the result of the last attempt; guarded by mu

	processes atomic.Int64              // that receive
	trusted   atomic.Pointer[time.Time] // after which processes without a lock are gone; nil before it has listened

	received recentMessages // belongs to the goroutine of Receive
	reader   envelopeReader // belongs to the goroutine that listens, as all that follows
	forged   bool           // ErrForged was reported
}

// subscriber is what Watch or Receive was called with, and the calls that wait for it.
type subscriber struct {
	ctx       context.Context
	changed   func(kind, name string)           // nil for Receive
	receive   func(from string, message []byte) // nil for Watch
	attempted func(error)

	calls *queue.Queue[func()]
}

// Watch implements Store.
func (p *Postgres) Watch(ctx context.Context, changed func(kind, name string), attempted func(error)) {
	p.subscribe(&subscriber{ctx: ctx, changed: changed, attempted: attempted})
}

// Receive implements Courier.
func (p *Postgres) Receive(ctx context.Context, receive func(from string, message []byte), attempted func(error)) {
	p.subscribe(&subscriber{ctx: ctx, receive: receive, attempted: attempted})
}

// subscribe calls the functions of s until its context ends. It begins with a new connection, as after an interruption.
func (p *Postgres) subscribe(s *subscriber) {
	l := &p.listener
	s.calls = queue.New[func()](maxQueued)
	l.mu.Lock()
	l.subscribers = append(l.subscribers, s)
	if l.reconnect != nil {
		l.reconnect()
	} else {
		l.reconnect = func() {}
		p.running.Go(p.keepListening)
	}
	l.mu.Unlock()
	for calls, missed := range s.calls.Batches(s.ctx, 1) {
		for _, call := range calls {
			call()
		}
		if missed {
			p.lookAtAll(s)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.subscribers = slices.DeleteFunc(l.subscribers, func(other *subscriber) bool { return other == s })
	if l.reconnect != nil {
		l.reconnect()
	}
}

// lookAtAll tells a subscriber the result of the last attempt, and that it may have missed something. It has the
// subscriber receive its stored messages.
func (p *Postgres) lookAtAll(s *subscriber) {
	p.listener.mu.Lock()
	attempt := p.listener.attempt
	p.listener.mu.Unlock()
	s.attempted(attempt)
	if s.receive == nil {
		s.changed("", "")
		return
	}
	s.receive("", nil)
	p.orReconnect(p.receiveStoredMessages(s))
}

// orReconnect ends the connection after an error, so that the subscribers look at everything once more.
func (p *Postgres) orReconnect(err error) {
	l := &p.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil && l.reconnect != nil {
		l.reconnect()
	}
}

// each queues a call for every subscriber; none if callOf returns nil. Receiving reports whether one of
// them receives messages.
func (l *listener) each(callOf func(*subscriber) func()) (receiving bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.subscribers {
		receiving = receiving || s.receive != nil
		if call := callOf(s); call != nil {
			s.calls.Add(call)
		}
	}
	return receiving
}

// report queues the result of an attempt for every subscriber.
func (l *listener) report(err error) {
	l.mu.Lock()
	l.attempt = err
	l.mu.Unlock()
	l.each(func(s *subscriber) func() { return func() { s.attempted(err) } })
}

// keepListening listens while there are subscribers.
func (p *Postgres) keepListening(running context.Context) {
	failures := 0 // in a row, to make a connection and to keep it
	for l := &p.listener; ; {
		ctx, cancel := context.WithCancel(running)
		l.mu.Lock()
		l.reconnect = cancel
		if len(l.subscribers) == 0 || ctx.Err() != nil {
			l.reconnect = nil
			l.mu.Unlock()
			cancel()
			return
		}
		l.mu.Unlock()
		if listened, err := p.listen(ctx); ctx.Err() == nil {
			l.report(postgres.DescribeError(ctx, err))
			if failures++; listened {
				failures = 1
			}
			ctxtime.Sleep(ctx, databaseBackoff.Pause(failures))
		}
		cancel()
	}
}

// listen listens on one connection, and returns why the connection was lost, and whether it was made.
func (p *Postgres) listen(ctx context.Context) (listened bool, err error) {
	l := &p.listener
	conn, err := postgres.ConnectConfig(ctx, p.addresses.Load().direct)
	if err != nil {
		return false, err
	}
	defer postgres.Disconnect(ctx, conn)
	if l.reader.secret == nil {
		if l.reader.secret, err = Secret(ctx, p); err != nil {
			return false, err
		}
	}
	receiving := l.each(func(*subscriber) func() { return nil })
	if err := p.startListening(ctx, conn, receiving); err != nil {
		return false, err
	}
	l.report(nil)
	l.each(func(s *subscriber) func() { return func() { p.lookAtAll(s) } })
	for ping := time.Now().Add(listenPing); ; {
		waiting, cancel := context.WithDeadline(ctx, ping)
		notification, err := conn.WaitForNotification(waiting)
		cancel()
		switch {
		case err == nil:
			p.receive(notification.Channel, notification.Payload)
		case ctx.Err() == nil && !conn.IsClosed():
			ping = time.Now().Add(listenPing)
			err = p.countProcesses(ctx, conn)
		}
		if err != nil {
			return true, err
		}
	}
}

// startListening listens on the channel of this process and on that for all. If the process receives, a lock of the
// connection tells the others so.
func (p *Postgres) startListening(ctx context.Context, conn *pgx.Conn, receiving bool) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := checkNotifications(ctx, conn, p.pool, p.channelOf(p.name)); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{p.channel}.Sanitize()); err != nil {
		return err
	}
	if receiving {
		key := int64(uint64(p.tables)<<32 | uint64(lockOf(p.name)))
		if _, err := conn.Exec(ctx, "SELECT pg_try_advisory_lock_shared($1)", key); err != nil {
			return err
		}
	}
	if err := p.countProcesses(ctx, conn); err != nil {
		return err
	}
	trusted := time.Now()
	if p.listener.trusted.Load() != nil { // other processes may have been interrupted as well
		trusted = trusted.Add(trustAgain)
	}
	p.listener.trusted.Store(&trusted)
	return nil
}

// checkNotifications has a connection listen on a channel, and returns an error unless a notification arrives there.
// Messages that arrive before it are not acknowledged, and so are sent again.
func checkNotifications(ctx context.Context, conn *pgx.Conn, sender executor, channel string) error {
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
		return err
	}
	if _, err := sender.Exec(ctx, "SELECT pg_notify($1, '')", channel); err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, notifyTimeout)
	defer cancel()
	for {
		notification, err := conn.WaitForNotification(waiting)
		switch {
		case waiting.Err() != nil && ctx.Err() == nil:
			return errNotNotified
		case err != nil || notification.Payload == "":
			return err
		}
	}
}

// executor is a connection or a pool.
type executor interface {
	Exec(ctx context.Context, statement string, arguments ...any) (pgconn.CommandTag, error)
}

const errNotNotified = operator.Error("its notifications do not arrive: the address, or that of listen if there is " +
	"one, must name the same database, and not a pooler that assigns connections per transaction")

// channelOf returns the channel of a process; that of all for the empty name.
func (p *Postgres) channelOf(name string) string {
	return strings.TrimSuffix(p.channel+"_"+name, "_")
}

// lockOf returns the lower half of the key of the lock of a process. The upper half is the same for all.
func lockOf(name string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(name))
	return h.Sum32()
}

// receivingProcesses selects how many processes receive, and whether the process with the lock $2 does.
const receivingProcesses = "SELECT count(DISTINCT objid), count(*) FILTER (WHERE objid = $2) > 0 FROM pg_locks " +
	"WHERE locktype = 'advisory' AND objsubid = 1 AND classid = $1 AND granted " +
	"AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"

// countProcesses counts the processes that receive, which also checks the connection.
func (p *Postgres) countProcesses(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var n int64
	var receiving bool
	if err := conn.QueryRow(ctx, receivingProcesses, p.tables, lockOf(p.name)).Scan(&n, &receiving); err != nil {
		return err
	}
	p.listener.processes.Store(n)
	return nil
}

// receive handles an envelope.
func (p *Postgres) receive(channel, payload string) {
	l := &p.listener
	if channel == p.channel && strings.HasPrefix(payload, p.name) {
		return
	}
	from, items, ok := l.reader.read(channel, payload)
	if !ok && !l.forged {
		l.forged = true
		l.each(func(s *subscriber) func() { return func() { s.attempted(ErrForged) } })
	}
	for _, i := range items {
		switch i.kind {
		case changeItem:
			kind, name, _ := strings.Cut(string(i.body), " ")
			l.each(func(s *subscriber) func() {
				if s.changed == nil {
					return nil
				}
				return func() { s.changed(kind, name) }
			})
		case messageItem:
			l.eachReceiver(func(s *subscriber) { p.deliver(s, from, i.body, channel != p.channel) })
		case storedMessageItem:
			l.eachReceiver(func(s *subscriber) { p.orReconnect(p.receiveStoredMessage(s, string(i.body))) })
		case ackItem:
			p.acknowledge(i.body)
		}
	}
}

// eachReceiver queues a call for every subscriber that receives messages.
func (l *listener) eachReceiver(call func(*subscriber)) {
	l.each(func(s *subscriber) func() {
		if s.receive == nil {
			return nil
		}
		return func() { call(s) }
	})
}
