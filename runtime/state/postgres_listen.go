package state

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"hatchel/internal/ctxtime"
	"hatchel/internal/operator"
	"hatchel/runtime/postgres"
)

const (
	listenPing  = 15 * time.Second       // how often the connection is checked, and the processes are counted
	trustAgain  = 3 * time.Second        // after a connection was lost
	listenAgain = 100 * time.Millisecond // the longest pause after a connection was lost

	notifyTimeout = 5 * time.Second // of a notification of this process to itself
)

// keepAlive makes the database notice within 15 seconds that the machine of a listener is gone, so that its lock does
// not outlive it.
var keepAlive = map[string]string{
	"tcp_keepalives_idle": "5", "tcp_keepalives_interval": "3", "tcp_keepalives_count": "3",
}

// listener is the connection on which Watch and Hear listen. There is one while one of them runs.
type listener struct {
	mu          sync.Mutex // held while functions of subscribers are called
	subscribers []*subscriber
	reconnect   context.CancelFunc // ends the connection; nil while there is no subscriber
	running     sync.WaitGroup     // the goroutine that listens

	processes atomic.Int64              // that hear
	trusted   atomic.Pointer[time.Time] // after which processes without a lock are gone; nil before it has listened

	reader envelopeReader // belongs to the goroutine, as all that follows
	heard  recentNews
	forged bool // ErrForged was reported
}

// subscriber is what Watch or Hear was called with.
type subscriber struct {
	changed   func(kind, name string)        // nil for Hear
	heard     func(from string, news []byte) // nil for Watch
	attempted func(error)
}

// Watch implements Store.
func (p *Postgres) Watch(ctx context.Context, changed func(kind, name string), attempted func(error)) {
	p.subscribe(ctx, &subscriber{changed: changed, attempted: attempted})
}

// Hear implements Courier.
func (p *Postgres) Hear(ctx context.Context, heard func(from string, news []byte), attempted func(error)) {
	p.subscribe(ctx, &subscriber{heard: heard, attempted: attempted})
}

// subscribe has the functions of s called until ctx ends. It begins with a new connection, as after an interruption.
func (p *Postgres) subscribe(ctx context.Context, s *subscriber) {
	l := &p.listener
	l.mu.Lock()
	l.subscribers = append(l.subscribers, s)
	if l.reconnect != nil {
		l.reconnect()
	} else {
		l.reconnect = func() {}
		l.running.Go(p.keepListening)
	}
	l.mu.Unlock()
	<-ctx.Done()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.subscribers = slices.DeleteFunc(l.subscribers, func(other *subscriber) bool { return other == s })
	if l.reconnect != nil {
		l.reconnect()
	}
}

// close ends what is left.
func (l *listener) close() {
	l.mu.Lock()
	if l.subscribers = nil; l.reconnect != nil {
		l.reconnect()
	}
	l.mu.Unlock()
	l.running.Wait()
}

// each calls do with every subscriber. Hearing reports whether one of them hears news.
func (l *listener) each(do func(*subscriber)) (hearing bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.subscribers {
		do(s)
		hearing = hearing || s.heard != nil
	}
	return hearing
}

// keepListening listens while there are subscribers.
func (p *Postgres) keepListening() {
	for l := &p.listener; ; {
		ctx, cancel := context.WithCancel(context.Background())
		l.mu.Lock()
		l.reconnect = cancel
		if len(l.subscribers) == 0 {
			l.reconnect = nil
			l.mu.Unlock()
			cancel()
			return
		}
		l.mu.Unlock()
		if listened, err := p.listen(ctx); ctx.Err() == nil {
			l.each(func(s *subscriber) { s.attempted(postgres.DescribeError(ctx, err)) })
			pause := jitter()
			if listened {
				pause = rand.N(listenAgain)
			}
			ctxtime.Sleep(ctx, pause)
		}
		cancel()
	}
}

// listen listens on one connection, and returns why the connection was lost, and whether it was made.
func (p *Postgres) listen(ctx context.Context) (listened bool, err error) {
	l := &p.listener
	conn, err := postgres.ConnectConfig(ctx, p.direct)
	if err != nil {
		return false, err
	}
	defer postgres.Disconnect(ctx, conn)
	if l.reader.secret == nil {
		if l.reader.secret, err = Secret(ctx, p); err != nil {
			return false, err
		}
	}
	hearing := l.each(func(*subscriber) {})
	if err := p.startListening(ctx, conn, hearing); err != nil {
		return false, err
	}
	l.each(func(s *subscriber) {
		s.attempted(nil)
		if s.heard != nil {
			s.heard("", nil)
		} else {
			s.changed("", "")
		}
	})
	if hearing {
		if err := p.hearLetters(ctx); err != nil {
			return true, err
		}
	}
	for ping := time.Now().Add(listenPing); ; {
		waiting, cancel := context.WithDeadline(ctx, ping)
		notification, err := conn.WaitForNotification(waiting)
		cancel()
		switch {
		case err == nil:
			err = p.receive(ctx, notification.Channel, notification.Payload)
		case ctx.Err() == nil && !conn.IsClosed():
			ping = time.Now().Add(listenPing)
			err = p.countProcesses(ctx, conn)
		}
		if err != nil {
			return true, err
		}
	}
}

// startListening listens on the channel of this process and on that for all. If the process hears, a lock of the
// connection tells the others so.
func (p *Postgres) startListening(ctx context.Context, conn *pgx.Conn, hearing bool) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := checkNotifications(ctx, conn, p.pool, p.channelOf(p.name)); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{p.channel}.Sanitize()); err != nil {
		return err
	}
	if hearing {
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
// News that arrive before it are not acknowledged, and so are sent again.
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

// hearingProcesses selects how many processes hear, and whether the process with the lock $2 does.
const hearingProcesses = "SELECT count(DISTINCT objid), count(*) FILTER (WHERE objid = $2) > 0 FROM pg_locks " +
	"WHERE locktype = 'advisory' AND objsubid = 1 AND classid = $1 AND granted " +
	"AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"

// countProcesses counts the processes that hear, which also checks the connection.
func (p *Postgres) countProcesses(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var n int64
	var hearing bool
	if err := conn.QueryRow(ctx, hearingProcesses, p.tables, lockOf(p.name)).Scan(&n, &hearing); err != nil {
		return err
	}
	p.listener.processes.Store(n)
	return nil
}

// receive handles an envelope.
func (p *Postgres) receive(ctx context.Context, channel, payload string) error {
	l := &p.listener
	if channel == p.channel && strings.HasPrefix(payload, p.name) {
		return nil
	}
	from, items, ok := l.reader.read(channel, payload)
	if !ok && !l.forged {
		l.each(func(s *subscriber) {
			if !l.forged {
				l.forged = true
				s.attempted(ErrForged)
			}
		})
	}
	for _, i := range items {
		switch i.kind {
		case changeItem:
			kind, name, _ := strings.Cut(string(i.body), " ")
			l.each(func(s *subscriber) {
				if s.changed != nil {
					s.changed(kind, name)
				}
			})
		case newsItem:
			p.hear(from, i.body, channel != p.channel)
		case letterItem:
			if err := p.hearLetter(ctx, string(i.body)); err != nil {
				return err
			}
		case ackItem:
			p.acknowledge(i.body)
		}
	}
	return nil
}
