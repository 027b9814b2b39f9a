package audit

import (
	"bytes"
	"context"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"hatchel/internal/operator"
	"hatchel/runtime/durable/postgres"
)

// row is a row of the table.
type row struct {
	sequence int64
	time     time.Time
	hash     string
	line     []byte
}

func scanRow(from pgx.Row) (r row, err error) {
	err = from.Scan(&r.sequence, &r.time, &r.hash, &r.line)
	return r, err
}

// isConsistent reports whether the line matches its hash and the other columns.
func (r *row) isConsistent() bool {
	_, head, ok := parseLine(r.line)
	_, members, _ := bytes.Cut(r.line, []byte{','})
	return ok && head.sequence == r.sequence && string(head.hash[:]) == r.hash &&
		timeOf(members) == r.time.UTC().Format(timeFormat)
}

func (r *row) asLine() Line {
	return Line{
		File: tableName, Number: int(r.sequence), Text: r.line, Terminated: true, mismatch: !r.isConsistent(),
	}
}

// rowBatch is the rows of one transaction.
type rowBatch struct {
	head      chainHead // of the last row
	sequences []int64
	times     []string
	hashes    []string
	lines     []string
}

// encodeRows returns the rows of a batch. In the first batch of a process the record that it writes
// comes first.
func (t *Table) encodeRows(head chainHead, b *batch) *rowBatch {
	rows := &rowBatch{head: head}
	if !t.opened {
		opened := openedRecord(tableName)
		opened.Host = hostName()
		rows.add(opened.append(nil))
	}
	from := 0
	for _, to := range b.ends {
		rows.add(b.members[from:to])
		from = to
	}
	return rows
}

func (b *rowBatch) add(members []byte) {
	if !utf8.Valid(members) { // the database accepts nothing else
		members = bytes.ToValidUTF8(members, []byte("\uFFFD"))
	}
	line, head := b.head.link(nil, members)
	b.head = head
	b.sequences = append(b.sequences, head.sequence)
	b.times = append(b.times, timeOf(members))
	b.hashes = append(b.hashes, string(head.hash[:]))
	b.lines = append(b.lines, string(line[:len(line)-1]))
}

// timeOf returns the time of a record, which is its first member.
func timeOf(members []byte) string {
	rest, _ := bytes.CutPrefix(members, []byte(`"time":"`))
	text, _, _ := bytes.Cut(rest, []byte{'"'})
	return string(text)
}

// pageSize is how many rows are read at once.
const pageSize = 1000

// Database is the address of a PostgreSQL database with a log.
type Database string

// String does not reveal the address.
func (Database) String() string { return "the database" }

// Read implements Source. The File of a line is the table, and its Number is the sequence.
func (d Database) Read(ctx context.Context, each func(*Line) bool) error {
	conn, err := postgres.Connect(ctx, string(d))
	if err != nil {
		return err
	}
	defer postgres.Disconnect(ctx, conn)
	_, _, err = readRows(ctx, conn, 0, each)
	return err
}

// readRows reads the rows after a sequence. It returns the last sequence that it has read, and
// whether each has accepted all rows.
func readRows(ctx context.Context, conn *pgx.Conn, after int64, each func(*Line) bool) (int64, bool, error) {
	for {
		const query = "SELECT seq, time, hash, line FROM hatchel_audit WHERE seq > $1 ORDER BY seq LIMIT $2"
		rows, _ := conn.Query(ctx, query, after, pageSize) // CollectRows returns the error, too
		page, err := pgx.CollectRows(rows, func(from pgx.CollectableRow) (row, error) { return scanRow(from) })
		if err != nil {
			return after, false, readError(ctx, err)
		}
		for i := range page {
			r := &page[i]
			after = r.sequence
			if l := r.asLine(); !each(&l) {
				return after, false, nil
			}
		}
		if len(page) < pageSize {
			return after, true, nil
		}
	}
}

// readError returns the error of a failed query for the operator.
func readError(ctx context.Context, err error) error {
	const undefinedTable = "42P01"
	if e := new(pgconn.PgError); errors.As(err, &e) && e.Code == undefinedTable {
		return operator.Error("it has no table hatchel_audit: no server has written to it yet")
	}
	return postgres.DescribeError(ctx, err)
}

// Follow implements Source. It waits while the database is unavailable.
func (d Database) Follow(ctx context.Context, each func(*Line) bool) error {
	conn, err := postgres.Connect(ctx, string(d))
	if err != nil {
		return err
	}
	defer func() { postgres.Disconnect(ctx, conn) }()
	last, goOn := int64(0), false
	for attempt := range followBackoff.Attempts(ctx) {
		if conn.IsClosed() {
			if next, err := postgres.Connect(ctx, string(d)); err == nil {
				conn = next
			}
		}
		last, goOn, err = readRows(ctx, conn, last, each)
		switch {
		case ctx.Err() != nil || err == nil && !goOn:
			return nil
		case err != nil && (attempt == 1 || !errors.Is(err, postgres.ErrUnavailable)):
			return err
		}
	}
	return nil
}
