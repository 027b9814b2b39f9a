package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"hatchel/runtime/postgres"
)

// Table is a log in the table hatchel_audit of a PostgreSQL database, for any number of processes at once: their records are one chain. It is safe for concurrent use.
//
// Records that are added at the same time by one process are one transaction, and the transactions of all processes follow one another. A record is committed when Append returns.
type Table struct {
	group
	pool *pgxpool.Pool
	life context.Context
	end  context.CancelFunc

	ready  bool      // the table was found to be as it must; guarded by writing, as are those below
	opened bool      // it is written down that this process writes
	last   place     // that this process has written
	oid    uint32    // of the table that it was written to
	slow   error     // why the last records could not be written, when it took long to find out; nil otherwise
	until  time.Time // for so long slow is the answer to whoever asks

	trying atomic.Bool // Check tries whether records can be written again
}

const (
	table     = "hatchel_audit"
	writeTime = 10 * time.Second       // that the records of one transaction may take
	lookAgain = 100 * time.Millisecond // after the connection was lost
	longWrite = time.Second            // is longer than a transaction takes where all is well
)

// OpenTable opens the log in a database, and goes on where it ends. A table that is missing is made, in the first schema of the search_path. A database that is away comes back by itself, and no
// record can be written until then. An error is a sentence for the operator, which holds nothing of the address.
func OpenTable(ctx context.Context, address string) (*Table, error) {
	config, err := postgres.Config(address, 2)
	if err != nil {
		return nil, err
	}
	t := &Table{last: place{hash: genesis}}
	t.life, t.end = context.WithCancel(context.WithoutCancel(ctx))
	if t.pool, err = pgxpool.NewWithConfig(t.life, config); err != nil {
		return nil, postgres.Unreadable
	}
	b := &batch{done: make(chan struct{})}
	t.lead(b, t.put)
	t.noted(b.err)
	if b.err != nil && !errors.Is(b.err, postgres.ErrAway) {
		t.end()
		t.pool.Close()
		return nil, b.err
	}
	return t, nil
}

// Append adds a record, of which Sequence, Prev and Hash are given. All are durable. With an error the record is not in the log, unless the connection was lost and could not be had again: then
// it may be, once.
func (t *Table) Append(r *Record, _ bool) error {
	_, err := t.add(r, t.put)
	t.noted(err)
	return err
}

// Check is why records cannot be written; after one that could not be it tries another, if the database answers before ctx ends.
func (t *Table) Check(ctx context.Context) error {
	before := t.Failing()
	if before == nil && t.stuck(longWrite) {
		return errSlow
	}
	if before == nil {
		there, err := checkTable(ctx, t.pool)
		if err == nil && !there {
			err = errGone
		}
		return postgres.Fault(t.life, err)
	}
	if _, err := t.pool.Exec(ctx, "SELECT"); err != nil { // the table may be what is missing
		return postgres.Fault(t.life, err)
	}
	if !t.trying.CompareAndSwap(false, true) {
		return before
	}
	tried := make(chan error, 1)
	go func() { // which ends with the time that a transaction may take
		defer t.trying.Store(false)
		tried <- t.Append(&Record{Time: time.Now(), Event: EventRecovered, Message: before.Error()}, true)
	}()
	select {
	case err := <-tried:
		return err
	case <-ctx.Done():
		return before
	}
}

// Close writes down that nothing more comes from this process. An error is of what could not be written.
func (t *Table) Close() error {
	err := t.Append(&Record{Time: time.Now(), Event: EventClosed, Process: os.Getpid(), Host: hostName()}, true)
	if !t.closes() {
		return nil
	}
	t.writing.Lock() // what was added before is written
	defer t.writing.Unlock()
	t.end()
	t.pool.Close()
	return err
}

// hostName is the machine that a process runs on, where several may.
func hostName() string {
	name, _ := os.Hostname()
	return name
}

// put writes a batch. The caller holds writing.
func (t *Table) put(b *batch) {
	began := time.Now()
	if t.slow != nil && b.since.Before(t.until) {
		b.err = t.slow // who has waited for that need not wait for the same again
		return
	}
	t.slow = nil
	ctx, cancel := context.WithTimeout(t.life, writeTime)
	defer cancel()
	n, err := t.write(ctx, b)
	if err != nil {
		b.err = postgres.Fault(t.life, err)
		if now := time.Now(); now.Sub(began) > longWrite {
			t.slow, t.until = b.err, now.Add(longWrite)
		}
		return
	}
	own := n.count() - len(b.ends)
	b.first, b.whole = n.first()+int64(own), len(b.ends)
	t.opened, t.last = true, n.at
}

// write adds a batch in one transaction. When the connection is lost before the database has said what became of it, the next one is asked whether the records are there.
func (t *Table) write(ctx context.Context, b *batch) (*notes, error) {
	sent, err := t.attempt(ctx, b, nil)
	for again := 0; err != nil; again++ {
		told := new(pgconn.PgError)
		if known := postgres.Refused(""); errors.As(err, &known) {
			t.ready = false
			return nil, err
		}
		t.ready = false
		if postgres.ReadOnly(err) || !errors.As(err, &told) {
			t.pool.Reset() // the other connections are as old
		}
		if sent == nil && again > 0 || ctx.Err() != nil {
			return nil, err
		}
		pause := time.NewTimer(time.Duration(min(again, 1)) * lookAgain)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return nil, err
		}
		sent, err = t.attempt(ctx, b, sent)
	}
	return sent, nil
}

// attempt does what write does over one connection. Sent are the records that an earlier one may have brought there, nil when there are none; it returns those that this one may have.
func (t *Table) attempt(ctx context.Context, b *batch, sent *notes) (*notes, error) {
	if !t.ready {
		if err := prepareTable(ctx, t.pool); err != nil {
			return sent, err
		}
		t.ready = true
	}
	conn, err := t.pool.Acquire(ctx)
	if err != nil {
		return sent, err
	}
	defer conn.Release() // which ends a transaction that was not committed
	found, err := t.turn(ctx, conn, sent)
	switch {
	case err != nil, found.sent:
		return sent, err
	case found.at.sequence < t.last.sequence:
		return nil, postgres.Refused(fmt.Sprintf("records that were written to its table hatchel_audit are gone: the last there is %d, and %d was written. Restart the server to go on from the one that is there", found.at.sequence, t.last.sequence))
	case t.last.sequence > 0 && !found.known:
		return nil, errOther
	}
	t.oid = found.oid
	n := t.note(found.at, b)
	var last pgx.Batch
	last.Queue(insertRows, n.sequences, n.times, n.hashes, n.lines)
	last.Queue("COMMIT")
	if err := conn.SendBatch(ctx, &last).Close(); err != nil {
		told := new(pgconn.PgError)
		switch {
		case !errors.As(err, &told), told.Code[:2] == "08", told.Code[:2] == "57":
			return n, err
		case told.Code == divisionByZero, told.Code == notSupported:
			err = errUntaken
		}
		return nil, err // it was refused
	}
	return n, nil
}

// insertRows fails when something keeps a row out: a division by zero where a trigger does, and by a rule nothing can be returned.
const insertRows = `WITH added AS (
		INSERT INTO hatchel_audit (seq, time, hash, line)
		SELECT seq, at::timestamptz, hash, line FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) AS n (seq, at, hash, line) RETURNING 1)
	SELECT 1 / (count(*) = cardinality($1::bigint[]))::integer FROM added`

const (
	divisionByZero = "22012"
	notSupported   = "0A000"
)

// found is what a transaction finds in the table.
type found struct {
	at    place  // where the chain is
	oid   uint32 // of the table
	sent  bool   // what was sent before is there
	known bool   // the last record of this process is there; or it is the same table, and has only later ones
}

// turn begins a transaction when those of others are over. A table in which records can be changed, or whose last record was, is refused.
func (t *Table) turn(ctx context.Context, conn *pgxpool.Conn, sent *notes) (in found, err error) {
	var first pgx.Batch
	first.Queue("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")      // so that each statement sees what was committed before it began
	first.Queue("SET LOCAL idle_in_transaction_session_timeout = '5s'") // for so long a process that is cut off holds up the others
	first.Queue("SELECT pg_advisory_xact_lock($1, 'hatchel_audit'::regclass::oid::integer)", tableLock)
	first.Queue("SELECT seq, time, hash, line FROM hatchel_audit ORDER BY seq DESC LIMIT 1").QueryRow(func(row pgx.Row) (err error) {
		in.at, err = t.place(row)
		return err
	})
	first.Queue(stillGuarded, t.last.sequence, string(t.last.hash[:]), t.oid).QueryRow(func(row pgx.Row) error {
		var guarded bool
		if err := row.Scan(&guarded, &in.oid, &in.known); err != nil || guarded {
			return err
		}
		return errUnguarded
	})
	if sent != nil {
		first.Queue("SELECT EXISTS (SELECT FROM hatchel_audit WHERE seq = $1 AND hash = $2)", sent.at.sequence, string(sent.at.hash[:])).QueryRow(func(row pgx.Row) error { return row.Scan(&in.sent) })
	}
	err = conn.SendBatch(ctx, &first).Close()
	return in, err
}

// place is where the chain is by the last row; at its beginning there is none. A row that another has written is believed only when its hash is right.
func (t *Table) place(from pgx.Row) (at place, err error) {
	r, err := scanRow(from)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return place{hash: genesis}, nil
	case err != nil:
		return at, err
	case len(r.hash) != len(at.hash), r.sequence > lastSequence:
		return at, errEnd
	}
	at.sequence = r.sequence
	if copy(at.hash[:], r.hash); at != t.last && !r.agrees() {
		return at, errEnd
	}
	return at, nil
}

// notes are the rows of one transaction.
type notes struct {
	at        place // of the last of them
	sequences []int64
	times     []string
	hashes    []string
	lines     []string
}

func (n *notes) count() int   { return len(n.sequences) }
func (n *notes) first() int64 { return n.sequences[0] }

// note makes the rows of a batch, and before them the one that says who writes.
func (t *Table) note(at place, b *batch) *notes {
	n := &notes{at: at}
	if !t.opened {
		n.add((&Record{Time: time.Now(), Event: EventOpened, File: table, Process: os.Getpid(), Host: hostName()}).append(nil))
	}
	from := 0
	for _, to := range b.ends {
		n.add(b.members[from:to])
		from = to
	}
	return n
}

func (n *notes) add(members []byte) {
	if !utf8.Valid(members) { // a database takes nothing else
		members = bytes.ToValidUTF8(members, []byte("\uFFFD"))
	}
	line, at := n.at.link(nil, members)
	n.at = at
	n.sequences = append(n.sequences, at.sequence)
	n.times = append(n.times, writtenAt(members))
	n.hashes = append(n.hashes, string(at.hash[:]))
	n.lines = append(n.lines, string(line[:len(line)-1]))
}

// writtenAt is the time of a record, which its members begin with.
func writtenAt(members []byte) string {
	rest, _ := bytes.CutPrefix(members, []byte(`"time":"`))
	text, _, _ := bytes.Cut(rest, []byte{'"'})
	return string(text)
}
