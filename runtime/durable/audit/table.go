package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"hatchel/internal/backoff"
	"hatchel/internal/operator"
	"hatchel/runtime/durable/postgres"
)

// Table is a log in the table hatchel_audit of a PostgreSQL database. Any number of processes write
// one chain. Its methods may be called concurrently.
//
// Concurrent records of one process are written in one transaction, and the transactions of all
// processes follow one another. A record is committed when Append returns.
type Table struct {
	group
	pool   *pgxpool.Pool
	ctx    context.Context // of all transactions, until Close
	cancel context.CancelFunc

	// The fields of this block are guarded by writing.
	ready     bool      // the table was checked
	opened    bool      // the record that this process writes is in the table
	last      chainHead // that this process has written
	oid       uint32    // of the table with last
	slowError error     // of a transaction that took long; nil otherwise
	slowUntil time.Time // until when slowError is returned to callers who wait

	probing atomic.Bool // Check is trying whether records can be written again

	keeper
}

const (
	tableName    = "hatchel_audit"
	writeTimeout = 10 * time.Second // of the transaction of a batch
	slowWrite    = time.Second      // longer than a healthy transaction takes
)

// reconnectBackoff is how often a batch is written again after lost connections. The first one may have been lost long
// before.
var reconnectBackoff = backoff.Policy{Steps: []time.Duration{0, 100 * time.Millisecond}}

// OpenTable opens the log in a database and continues its chain. It creates a missing table in the
// first schema of the search_path. While the database is unavailable no record can be written; the
// connection comes back by itself. An error is a sentence for the operator and holds nothing of the
// address.
func OpenTable(ctx context.Context, address string) (*Table, error) {
	config, err := postgres.Config(address, 2)
	if err != nil {
		return nil, err
	}
	t := &Table{last: chainHead{hash: genesis}}
	t.ctx, t.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if t.pool, err = pgxpool.NewWithConfig(t.ctx, config); err != nil {
		return nil, postgres.ErrMalformedAddress
	}
	b := &batch{done: make(chan struct{})} // only the record that this process writes
	t.writeBatch(b, t.put)
	t.setLastError(b.err)
	if b.err != nil && !errors.Is(b.err, postgres.ErrUnavailable) {
		t.cancel()
		t.pool.Close()
		return nil, b.err
	}
	return t, nil
}

// Append adds a record; all records are durable. It ignores Sequence, Prev and Hash of r, which the
// log sets. After an error the record is not in the log, unless the connection was lost and did not
// come back: then it may be, once.
func (t *Table) Append(r *Record, _ bool) error {
	_, err := t.add(r, t.put)
	t.setLastError(err)
	if err == nil {
		t.schedule(t)
	}
	return err
}

// Place names the database and the schema of the table. It is the same for every user and password with which they are
// reached.
func (t *Table) Place(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	const query = "SELECT relnamespace::regnamespace::text FROM pg_class WHERE oid = 'hatchel_audit'::regclass"
	var schema string
	err := t.pool.QueryRow(ctx, query).Scan(&schema)
	c := t.pool.Config().ConnConfig
	return fmt.Sprintf("postgres %s:%d/%s %s", c.Host, c.Port, c.Database, schema), postgres.DescribeError(t.ctx, err)
}

// Check returns why records cannot be written. If the last one could not, and the database answers
// before ctx ends, it tries to write another.
func (t *Table) Check(ctx context.Context) error {
	before := t.LastError()
	if before == nil && t.isStuck(slowWrite) {
		return errSlow
	}
	if before == nil {
		exists, err := checkTable(ctx, t.pool)
		if err == nil && !exists {
			err = errGone
		}
		return postgres.DescribeError(t.ctx, err)
	}
	if _, err := t.pool.Exec(ctx, "SELECT"); err != nil { // the table may be what is missing
		return postgres.DescribeError(t.ctx, err)
	}
	if !t.probing.CompareAndSwap(false, true) {
		return before
	}
	probed := make(chan error, 1)
	go func() { // ends with the timeout of the transaction
		defer t.probing.Store(false)
		probed <- t.Append(recoveredRecord(before), true)
	}()
	select {
	case err := <-probed:
		return err
	case <-ctx.Done():
		return before
	}
}

// Close records that this process writes no more. An error is about what could not be written.
func (t *Table) Close() error {
	closed := NewRecord(EventClosed, Common{})
	closed.Process, closed.Host = os.Getpid(), hostName()
	err := t.Append(closed, true)
	t.closeMemory(t)
	if !t.stop() {
		return nil
	}
	t.writing.Lock() // accepted records are written
	defer t.writing.Unlock()
	t.cancel()
	t.pool.Close()
	return err
}

func hostName() string {
	name, _ := os.Hostname()
	return name
}

// put writes a batch. The caller holds writing.
func (t *Table) put(b *batch) {
	began := time.Now()
	if t.slowError != nil && b.created.Before(t.slowUntil) {
		b.err = t.slowError // these callers have waited long enough
		return
	}
	t.slowError = nil
	ctx, cancel := context.WithTimeout(t.ctx, writeTimeout)
	defer cancel()
	rows, err := t.write(ctx, b)
	if err != nil {
		b.err = postgres.DescribeError(t.ctx, err)
		if now := time.Now(); now.Sub(began) > slowWrite {
			t.slowError, t.slowUntil = b.err, now.Add(slowWrite)
		}
		return
	}
	own := len(rows.sequences) - len(b.ends)
	b.first, b.added = rows.sequences[0]+int64(own), len(b.ends)
	t.opened, t.last = true, rows.head
}

// write adds a batch in one transaction. When the connection is lost before the outcome is known,
// the next transaction looks whether the rows were committed.
func (t *Table) write(ctx context.Context, b *batch) (sent *rowBatch, err error) {
	for attempt := range reconnectBackoff.Attempts(ctx) {
		if sent, err = t.tryWrite(ctx, b, sent); err == nil {
			return sent, nil
		}
		t.ready = false
		if known := operator.Error(""); errors.As(err, &known) {
			break
		}
		if postgres.IsReadOnly(err) || !errors.As(err, new(*pgconn.PgError)) {
			t.pool.Reset() // the other connections lead to the same server
		}
		if sent == nil && attempt > 1 {
			break
		}
	}
	return nil, err
}

// tryWrite is one attempt of write. The rows sent are those of an earlier attempt whose outcome is
// not known, or nil; it returns the rows that are committed, or may be.
func (t *Table) tryWrite(ctx context.Context, b *batch, sent *rowBatch) (*rowBatch, error) {
	if !t.ready {
		if err := postgres.CreateTables(ctx, t.pool, createLock, tableSchema, checkTable); err != nil {
			return sent, err
		}
		t.ready = true
	}
	conn, err := t.pool.Acquire(ctx)
	if err != nil {
		return sent, err
	}
	defer conn.Release() // ends a transaction that was not committed
	current, err := t.beginExclusive(ctx, conn, sent)
	switch {
	case err != nil, current.hasSent:
		return sent, err
	case current.head.sequence < t.last.sequence:
		return nil, goneError(current.head.sequence, t.last.sequence)
	case t.last.sequence > 0 && !current.hasLast:
		return nil, errOther
	}
	t.oid = current.oid
	rows := t.encodeRows(current.head, b)
	var commit pgx.Batch
	commit.Queue(insertRows, rows.sequences, rows.times, rows.hashes, rows.lines)
	commit.Queue("COMMIT")
	if err := conn.SendBatch(ctx, &commit).Close(); err != nil {
		e := new(pgconn.PgError)
		switch {
		case !errors.As(err, &e), e.Code[:2] == connectionException, e.Code[:2] == operatorIntervention:
			return rows, err
		case e.Code == divisionByZero, e.Code == notSupported:
			err = errNotAccepted
		}
		return nil, err
	}
	return rows, nil
}

// insertRows fails when something in the database keeps rows out: a trigger leads to the division
// by zero, and a rewrite rule does not support RETURNING.
const insertRows = `WITH added AS (
		INSERT INTO hatchel_audit (seq, time, hash, line)
		SELECT seq, at::timestamptz, hash, line
		FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) AS n (seq, at, hash, line) RETURNING 1)
	SELECT 1 / (count(*) = cardinality($1::bigint[]))::integer FROM added`

// Error codes, and classes of them.
const (
	divisionByZero       = "22012"
	notSupported         = "0A000"
	connectionException  = "08"
	operatorIntervention = "57"
)

// tableState is what a transaction finds in the table.
type tableState struct {
	head    chainHead
	oid     uint32 // of the table
	hasSent bool   // the rows of an earlier attempt were committed
	hasLast bool   // the last record of this process is there; or all records of the same table are newer
}

// beginExclusive begins a transaction when those of other processes have ended. It rejects a table
// whose records can be changed, or whose last record was.
func (t *Table) beginExclusive(ctx context.Context, conn *pgxpool.Conn, sent *rowBatch) (s tableState, err error) {
	var begin pgx.Batch
	// Each statement sees what was committed before it started.
	begin.Queue("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
	// A process that loses its connection blocks the others for this long.
	begin.Queue("SET LOCAL idle_in_transaction_session_timeout = '5s'")
	begin.Queue("SELECT pg_advisory_xact_lock($1, 'hatchel_audit'::regclass::oid::integer)", writeLock)
	begin.Queue(selectLast).QueryRow(func(row pgx.Row) (err error) {
		s.head, err = t.decodeHead(row)
		return err
	})
	begin.Queue(selectState, t.last.sequence, string(t.last.hash[:]), t.oid).QueryRow(func(row pgx.Row) error {
		var guarded bool
		if err := row.Scan(&guarded, &s.oid, &s.hasLast); err != nil || guarded {
			return err
		}
		return errUnguarded
	})
	if sent != nil {
		const query = "SELECT EXISTS (SELECT FROM hatchel_audit WHERE seq = $1 AND hash = $2)"
		begin.Queue(query, sent.head.sequence, string(sent.head.hash[:])).QueryRow(func(row pgx.Row) error {
			return row.Scan(&s.hasSent)
		})
	}
	err = conn.SendBatch(ctx, &begin).Close()
	return s, err
}

// decodeHead returns the head of the chain from the last row, or genesis when there is none. It
// verifies the hash of a row that another process has written.
func (t *Table) decodeHead(last pgx.Row) (head chainHead, err error) {
	r, err := scanRow(last)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return chainHead{hash: genesis}, nil
	case err != nil:
		return head, err
	case len(r.hash) != len(head.hash), r.sequence > maxSequence:
		return head, errChangedEnd
	}
	head.sequence = r.sequence
	if copy(head.hash[:], r.hash); head != t.last && !r.isConsistent() {
		return head, errChangedEnd
	}
	return head, nil
}
